/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues of ids. */
#include <errno.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "base/reason.h"
#include "abi/rdmacm/cqs.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"

/* Fills in the attributes that only an XRC SRQ has. */
static int complete_xrc(struct adv_rdma_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int err;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = adv_rdma_device_xrcd(id->device);
		if (!attr->xrcd)
			return errno;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		err = id->id.recv_cq ? 0 : adv_rdma_create_cqs(&id->id, 0, attr->attr.max_wr);
		if (err)
			return err;
		attr->cq = id->id.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

/* Call it with the lock held. */
static int create_srq(struct adv_rdma_id *id, struct ibv_srq_init_attr_ex *attr,
		      struct adv_rdma_cqs *unused)
{
	struct rdma_cm_id *cm_id = &id->id;
	int err = 0;

	if (!id->device || cm_id->srq || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return adv_reason(
			EINVAL,
			"the id has no device yet, or has an SRQ already, or srq_type is missing");
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = cm_id->pd;
	}
	if (attr->pd->context != cm_id->verbs)
		return adv_reason(EINVAL, "pd belongs to another context than the id");
	if (attr->srq_type == IBV_SRQT_XRC)
		err = complete_xrc(id, attr);
	if (err)
		return err;
	cm_id->srq = ibv_create_srq_ex(cm_id->verbs, attr);
	if (cm_id->srq)
		return 0;
	err = errno;
	if (!cm_id->qp)
		*unused = adv_rdma_take_cqs(cm_id);
	return err;
}

ADV_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *cm_id, struct ibv_srq_init_attr_ex *attr)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_rdma_cqs unused = {0};
	int err;

	if (!cm_id || !attr)
		return adv_rdma_result(adv_reason(EINVAL, "an argument is NULL"), __func__, cm_id);
	adv_rdma_qp_lock(id);
	err = create_srq(id, attr, &unused);
	adv_rdma_qp_unlock(id);
	adv_rdma_destroy_cqs(&unused);
	return adv_rdma_result(err, __func__, cm_id);
}

ADV_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {0};
	int ret;

	if (!id || !attr)
		return adv_rdma_result(adv_reason(EINVAL, "an argument is NULL"), __func__, id);
	/* The larger structure begins with the members of the smaller one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	ret = rdma_create_srq_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

ADV_EXPORT void rdma_destroy_srq(struct rdma_cm_id *cm_id)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_rdma_cqs cqs = {0};
	struct ibv_srq *srq;

	if (!cm_id)
		return;
	adv_rdma_qp_lock(id);
	srq = cm_id->srq;
	cm_id->srq = NULL;
	if (srq && !cm_id->qp)
		cqs = adv_rdma_take_cqs(cm_id);
	adv_rdma_qp_unlock(id);
	if (srq)
		ibv_destroy_srq(srq);
	adv_rdma_destroy_cqs(&cqs);
}
