/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QPs of ids: created with defaults for missing attributes, and modified through their states. */
#include "base/reason.h"
#include "abi/rdmacm/qp.h"

#include <errno.h>
#include <string.h>

#include "abi/rdmacm/cqs.h"
#include "abi/rdmacm/gid_index.h"
#include "base/export.h"

/* Fills in the attributes for `state` and their mask, as rdma_init_qp_attr(3). */
static int qp_attr_for(struct adv_rdma_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		       int *mask)
{
	struct adv_ucma_message m;
	int err;

	adv_rdma_request(&m, ADV_UCMA_CMD_QP_ATTR, id->handle);
	m.value = state;
	err = adv_rdma_ended(adv_rdma_id_ask(id, &m));
	if (err)
		return err;
	*attr = m.body.qp_attr.attr;
	attr->qp_state = state;
	if (m.body.qp_attr.mask & IBV_QP_AV && attr->ah_attr.is_global) {
		err = adv_rdma_own_gid_index(id->id.verbs, &m.body.qp_attr.route);
		if (err)
			return err;
		attr->ah_attr.grh.sgid_index = m.body.qp_attr.route.sgid_index;
	}
	*mask = m.body.qp_attr.mask;
	return 0;
}

ADV_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (!id || !attr || !mask)
		return adv_rdma_result(adv_reason(EINVAL, "an argument is NULL"), __func__, id);
	return adv_rdma_result(qp_attr_for(adv_rdma_id_of(id), attr->qp_state, attr, mask),
			       __func__, id);
}

/* Returns the attributes that a QP of this type does not have, although the id's type may have
 * them. */
static int not_of_type(enum ibv_qp_type type)
{
	const int requester = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	switch (type) {
	case IBV_QPT_UC:
		return requester | responder | IBV_QP_TIMEOUT;
	case IBV_QPT_XRC_SEND:
		return responder;
	case IBV_QPT_XRC_RECV:
		return requester;
	default:
		return 0;
	}
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return ibv_modify_qp(qp, attr, mask & ~not_of_type(qp->qp_type));
}

static int init_qp(struct adv_rdma_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	int mask;
	int err = qp_attr_for(id, IBV_QPS_INIT, &attr, &mask);

	return err ? err : modify_qp(qp, &attr, mask);
}

static int qp_to_init(struct adv_rdma_id *id)
{
	return id->id.qp ? init_qp(id, id->id.qp) : 0;
}

int adv_rdma_qp_to_rtr(struct adv_rdma_id *id, uint8_t responder_resources)
{
	struct ibv_qp_attr attr;
	int mask, err;

	if (!id->id.qp)
		return 0;
	/* The peer's request determines the access flags, so the QP is modified to INIT again. */
	err = qp_to_init(id);
	if (!err)
		err = qp_attr_for(id, IBV_QPS_RTR, &attr, &mask);
	if (err)
		return err;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	return modify_qp(id->id.qp, &attr, mask);
}

int adv_rdma_qp_to_rts(struct adv_rdma_id *id, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr;
	int mask, err;

	if (!id->id.qp)
		return 0;
	err = qp_attr_for(id, IBV_QPS_RTS, &attr, &mask);
	if (err)
		return err;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return modify_qp(id->id.qp, &attr, mask);
}

int adv_rdma_qp_to_error(struct adv_rdma_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return id->id.qp ? ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE) : 0;
}

/* Modifies a datagram QP to RTS: it needs no peer. */
static int ready_datagrams(struct adv_rdma_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int err = init_qp(id, qp);

	if (!err)
		err = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return err;
}

/* Sets the id's local ECE options from the QP, and the QP's from the peer's. */
static int exchange_ece(struct adv_rdma_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = {0};
	int err = ibv_query_ece(qp, &ece);

	if (err)
		return err == EOPNOTSUPP ? 0 : err;
	id->local_ece = ece;
	if (!id->remote_ece.vendor_id)
		return 0;
	ece.options = id->remote_ece.vendor_id == ece.vendor_id ? id->remote_ece.options : 0;
	err = ibv_set_ece(qp, &ece);
	if (err)
		return err == EOPNOTSUPP ? 0 : err;
	if (ibv_query_ece(qp, &ece) == 0)
		id->local_ece.options = ece.options;
	return 0;
}

/* Fills in the attributes that the caller has left to the id. EINVAL if the caller's attributes
 * contradict the id. */
static int complete_attr(struct adv_rdma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *cm_id = &id->id;

	if (cm_id->qp)
		return adv_reason(EINVAL,
				  "the id has a queue pair already (0x%06x): rdma_destroy_qp() "
				  "first, or create another id",
				  cm_id->qp->qp_num);
	if (!id->device)
		return adv_reason(EINVAL, "the id has no device yet: resolve or bind an address "
					  "first, and wait for RDMA_CM_EVENT_ADDR_RESOLVED");
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = cm_id->pd;
	}
	if (attr->pd->context != cm_id->verbs ||
	    (cm_id->recv_cq && attr->recv_cq && cm_id->recv_cq != attr->recv_cq) ||
	    (cm_id->send_cq && attr->send_cq && cm_id->send_cq != attr->send_cq))
		return adv_reason(EINVAL, "pd or a CQ is not the id's: use those of id->verbs");
	if (cm_id->qp_type != IBV_QPT_XRC_RECV ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd))
		return 0;
	attr->xrcd = adv_rdma_device_xrcd(id->device);
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	return attr->xrcd ? 0 : errno;
}

/* Makes the completion queues that the caller has left to the id. 0 or errno. */
static int make_missing_cqs(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int err = adv_rdma_create_cqs(id, attr->send_cq || id->send_cq ? 0 : attr->cap.max_send_wr,
				      attr->recv_cq || id->recv_cq ? 0 : attr->cap.max_recv_wr);

	if (err)
		return err;
	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	return 0;
}

static int make_qp(struct adv_rdma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *cm_id = &id->id;
	struct ibv_qp *qp;
	int err;

	if (!attr->srq)
		attr->srq = cm_id->srq;
	qp = ibv_create_qp_ex(cm_id->verbs, attr);
	err = qp ? exchange_ece(id, qp) : errno;
	if (!err)
		err = adv_rdma_is_ud(cm_id) ? ready_datagrams(id, qp) : init_qp(id, qp);
	if (!err) {
		cm_id->pd = qp->pd ? qp->pd : cm_id->pd;
		cm_id->qp = qp;
		return 0;
	}
	if (qp)
		ibv_destroy_qp(qp);
	return err;
}

/* Creates the queue pair of an id. function: the name of the call, for the log. */
static int create_qp(struct rdma_cm_id *cm_id, struct ibv_qp_init_attr_ex *attr,
		     const char *function)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_rdma_cqs unused = {0};
	int err;

	if (!cm_id || !attr)
		return adv_rdma_result(EINVAL, function, cm_id);
	adv_rdma_qp_lock(id);
	err = complete_attr(id, attr);
	if (!err)
		err = make_missing_cqs(cm_id, attr);
	if (!err) {
		err = make_qp(id, attr);
		if (err)
			unused = adv_rdma_take_cqs(cm_id);
	}
	adv_rdma_qp_unlock(id);
	adv_rdma_destroy_cqs(&unused);
	return adv_rdma_result(err, function, cm_id);
}

ADV_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	return create_qp(id, attr, __func__);
}

ADV_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {0};
	int ret;

	if (!id || !attr)
		return adv_rdma_result(adv_reason(EINVAL, "an argument is NULL"), __func__, id);
	/* The larger structure begins with the members of the smaller one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	ret = create_qp(id, &ex, __func__);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

ADV_EXPORT void rdma_destroy_qp(struct rdma_cm_id *cm_id)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_rdma_cqs cqs = {0};
	struct ibv_qp *qp;

	if (!cm_id)
		return;
	adv_rdma_qp_lock(id);
	qp = cm_id->qp;
	cm_id->qp = NULL;
	if (qp)
		cqs = adv_rdma_take_cqs(cm_id);
	adv_rdma_qp_unlock(id);
	/* Without the lock: the call waits until the program has acknowledged asynchronous events,
	 * and its thread may first get an event of the id. */
	if (qp)
		ibv_destroy_qp(qp);
	adv_rdma_destroy_cqs(&cqs);
}
