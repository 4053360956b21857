/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: create, modify, query, destroy. post.c posts, qp_ex.c has ibv_wr_*(), mcast.c the
 * multicast groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "runtime/device/neighbour.h"
#include "nic/engine/names.h"
#include "nic/queue/next_hop.h"
#include "abi/verbs/cq_part.h"

/* Checks the objects that the QP's type needs: they must be present and belong to this context. 0
 * or errno. */
static int check_qp_attr(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_pd *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	const bool receives = attr->qp_type != IBV_QPT_XRC_SEND;
	const struct {
		const char *name;
		const struct ibv_context *context;
		bool needed;
	} objects[] = {
		{"pd", pd ? pd->context : NULL, true},
		{"send_cq", attr->send_cq ? attr->send_cq->context : NULL, true},
		{"recv_cq", attr->recv_cq && receives ? attr->recv_cq->context : NULL, receives},
		{"srq", attr->srq && receives ? attr->srq->context : NULL, false},
	};

	switch (attr->qp_type) {
	case IBV_QPT_XRC_RECV:
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd ||
		    attr->xrcd->context != context)
			return adv_reason(EINVAL, "xrcd is missing or of another context: set xrcd "
						  "and IBV_QP_INIT_ATTR_XRCD");
		return 0;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
		break;
	default:
		return adv_reason(EOPNOTSUPP,
				  "qp_type %d: RC, UC, UD, XRC_SEND and XRC_RECV exist here",
				  (int)attr->qp_type);
	}
	for (size_t i = 0; i < ADV_ARRAY_SIZE(objects); i++) {
		if (objects[i].needed && !objects[i].context)
			return adv_reason(EINVAL, "%s is missing: set it", objects[i].name);
		if (objects[i].context && objects[i].context != context)
			return adv_reason(EINVAL, "%s belongs to another context", objects[i].name);
	}
	return 0;
}

/* Returns the shard of a new QP: that of its XRC domain or SRQ, else that of its send CQ. */
static struct adv_device *device_of(const struct adv_ibv_qp *qp)
{
	if (qp->ibv.srq)
		return adv_ibv_srq_of(qp->ibv.srq)->device;
	return qp->ibv.send_cq ? adv_ibv_cq_of(qp->ibv.send_cq)->first.device
			       : adv_ibv_context_of(qp->ibv.context)->device;
}

static int create_engine_qp(struct adv_ibv_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->ibv;
	struct adv_qp_config config = {
		.type = attr->qp_type,
		.pd = ibv->pd ? adv_ibv_pd_of(ibv->pd)->pd : NULL,
		.srq = ibv->srq ? adv_ibv_srq_of(ibv->srq)->srq : NULL,
		.xrcd = qp->xrcd ? qp->xrcd->xrcd : NULL,
		.cap = attr->cap,
		.sq_sig_all = attr->sq_sig_all != 0,
		.block_self_multicast = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
					attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.user = qp,
	};
	struct adv_engine *e;
	int err = 0;

	if (ibv->send_cq)
		config.send_cq = adv_ibv_cq_part_in(adv_ibv_cq_of(ibv->send_cq), qp->device);
	if (ibv->recv_cq)
		config.recv_cq = adv_ibv_cq_part_in(adv_ibv_cq_of(ibv->recv_cq), qp->device);
	if ((ibv->send_cq && !config.send_cq) || (ibv->recv_cq && !config.recv_cq))
		return adv_device_is_foreign(qp->device) ? ADV_EFOREIGN : ENOMEM;
	e = adv_ibv_enter_device(qp->device);
	if (!e)
		return ADV_EFOREIGN;
	adv_device_reserve_qpn(qp->device);
	qp->qp = adv_qp_create(e, &config);
	if (qp->qp)
		ibv->qp_num = adv_qp_num(qp->qp);
	else
		err = errno;
	if (!err && qp->xrcd)
		qp->xrcd->users++;
	adv_device_unlock(qp->device);
	qp->cap = config.cap;
	return err;
}

struct adv_ibv_qp *adv_ibv_qp_new(struct ibv_context *context,
				  const struct ibv_qp_init_attr_ex *attr)
{
	static atomic_uint handles;
	struct adv_ibv_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->ibv.context = context;
	qp->ibv.qp_context = attr->qp_context;
	/* An XRC QP has only the objects that its direction uses. */
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		qp->xrcd = adv_ibv_xrcd_of(attr->xrcd);
	} else {
		qp->ibv.pd = attr->pd;
		qp->ibv.send_cq = attr->send_cq;
	}
	if (attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_XRC_SEND) {
		qp->ibv.recv_cq = attr->recv_cq;
		qp->ibv.srq = attr->srq;
	}
	qp->device = device_of(qp);
	qp->ibv.handle = ++handles;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp->sq_sig_all = attr->sq_sig_all != 0;
	adv_list_init(&qp->shared);
	adv_ibv_async_init_qp(qp);
	return qp;
}

void adv_ibv_qp_free(struct adv_ibv_qp *qp)
{
	adv_ibv_qp_ex_free(qp);
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	free(qp);
}

static void watch_created(struct adv_ibv_qp *qp, const struct ibv_qp_init_attr_ex *requested)
{
	const struct adv_check_qp_attr attr = {.requested = requested, .granted = qp->cap};

	adv_ibv_watch_created(ADV_CHECK_QP, &qp->ibv, qp->ibv.context, &attr);
}

/* Creates a QP, and sets attr->cap to its capabilities. NULL with errno. */
static struct ibv_qp *create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct adv_ibv_qp *qp;
	int err = check_qp_attr(context, attr);

	if (err)
		return adv_ibv_refuse_object(err, "ibv_create_qp(%s)",
					     adv_qp_type_name(attr->qp_type));
	qp = adv_ibv_qp_new(context, attr);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = adv_ibv_qp_ex_init(qp, attr->qp_type, attr->send_ops_flags);
	if (!err)
		err = create_engine_qp(qp, attr);
	if (err) {
		adv_ibv_qp_free(qp);
		return adv_ibv_refuse_object(err, "ibv_create_qp(%s)",
					     adv_qp_type_name(attr->qp_type));
	}
	if (qp->ibv.pd)
		adv_ibv_pd_hold(qp->ibv.pd);
	adv_debug("qp 0x%06x: created, %s, max_send_wr %u, max_recv_wr %u, max_inline_data %u",
		  qp->ibv.qp_num, adv_qp_type_name(attr->qp_type), qp->cap.max_send_wr,
		  qp->cap.max_recv_wr, qp->cap.max_inline_data);
	watch_created(qp, attr);
	attr->cap = qp->cap;
	return &qp->ibv;
}

ADV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = create_qp(pd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

struct ibv_qp *adv_ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t supported = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				   IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const uint32_t flags =
		attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;

	if (attr->comp_mask & ~supported || flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		return adv_ibv_refuse_object(
			adv_reason(EOPNOTSUPP,
				   "comp_mask 0x%x or create_flags 0x%x: possible are 0x%x and "
				   "IBV_QP_CREATE_BLOCK_SELF_MCAST_LB (0x%x)",
				   attr->comp_mask, flags, supported,
				   IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
			"ibv_create_qp_ex(%s)", adv_qp_type_name(attr->qp_type));
	return create_qp(context, attr);
}

ADV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return adv_ibv_qp_of(qp)->wr_list ? &adv_ibv_qp_of(qp)->ex.base : NULL;
}

/* Returns the error of ibv_modify_qp(), and logs it with the transition. */
static int refuse_modify(const struct ibv_qp *qp, enum ibv_qp_state from,
			 const struct ibv_qp_attr *attr, int mask, int err)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	return adv_ibv_refuse(err, "ibv_modify_qp(qp 0x%06x, %s -> %s)", qp->qp_num,
			      adv_qp_state_name(from), adv_qp_state_name(to));
}

/* Returns mask without the attributes that an XRC QP's direction does not use. Programs set up both
 * XRC types with all attributes of RC, and the kernel drops the unused ones before it checks the
 * mask. */
static int qp_mask_of_type(enum ibv_qp_type type, int mask)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPT_XRC_RECV:
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	default:
		return mask;
	}
}

/* Passes the peer's address to the device once the address is known: packets to a process of this
 * machine need no UDP. */
static void connect_device_to_peer(struct ibv_qp *ibqp, const struct ibv_qp_attr *attr, int mask)
{
	struct adv_gid dgid;

	if (!(mask & IBV_QP_AV) || !(mask & IBV_QP_DEST_QPN))
		return;
	memcpy(dgid.raw, attr->ah_attr.grh.dgid.raw, sizeof(dgid.raw));
	adv_device_meet(adv_ibv_qp_of(ibqp)->device, &dgid, attr->dest_qp_num);
}

/* Logs a transition, with the peer when it becomes known. */
static void log_modified(const struct ibv_qp *qp, enum ibv_qp_state from,
			 const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	char peer[ADV_GID_TEXT_LENGTH];
	struct adv_gid dgid;

	if (!(mask & IBV_QP_AV) || !(mask & IBV_QP_DEST_QPN)) {
		adv_debug("qp 0x%06x: %s -> %s", qp->qp_num, adv_qp_state_name(from),
			  adv_qp_state_name(to));
		return;
	}
	memcpy(dgid.raw, attr->ah_attr.grh.dgid.raw, sizeof(dgid.raw));
	adv_debug("qp 0x%06x: %s -> %s, the peer is queue pair 0x%06x at %s, GID index %u, "
		  "path_mtu %d",
		  qp->qp_num, adv_qp_state_name(from), adv_qp_state_name(to), attr->dest_qp_num,
		  adv_gid_text(&dgid, peer), attr->ah_attr.grh.sgid_index, 128 << attr->path_mtu);
}

/* Finds the neighbour to which the attributes lead, acquires the device's lock and prepares the
 * device for the change. 0, or errno without the lock. */
static int enter_with_neighbour(struct adv_device *d, const struct ibv_qp_attr *attr, int mask,
				struct adv_next_hop *n)
{
	while (true) {
		int err = mask & IBV_QP_AV ? adv_device_find_mac(d, &attr->ah_attr, n) : 0;

		if (err)
			return err;
		if (!adv_ibv_enter_device(d))
			return ADV_EFOREIGN;
		/* Both may read a change of the GID table, or release the lock for a moment. */
		if (mask & IBV_QP_STATE)
			adv_device_catch_up(d);
		adv_device_send_acks(d);
		if (!(mask & IBV_QP_AV) || adv_device_next_hop_holds(d, &attr->ah_attr, n))
			return 0;
		adv_device_unlock(d);
	}
}

static int modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct adv_ibv_qp *qp = adv_ibv_qp_of(ibqp);
	enum ibv_qp_state from = ibqp->state;
	struct adv_next_hop next;
	int err = enter_with_neighbour(qp->device, attr, mask, &next);

	if (err)
		return refuse_modify(ibqp, from, attr, mask, err);
	mask = qp_mask_of_type(ibqp->qp_type, mask);
	from = adv_qp_state(qp->qp);
	err = adv_qp_modify(qp->qp, adv_device_time(qp->device), attr, mask);
	if (!err && mask & IBV_QP_AV)
		adv_qp_set_next_hop(qp->qp, next.mac);
	if (!err)
		connect_device_to_peer(ibqp, attr, mask);
	if (!err && mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	adv_device_unlock(qp->device);
	if (err)
		return refuse_modify(ibqp, from, attr, mask, err);
	log_modified(ibqp, from, attr, mask);
	return 0;
}

ADV_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = qp->state;
	int err = modify_qp(qp, attr, mask);

	if (adv_ibv_observer)
		adv_ibv_observer->qp_modified(qp, from, attr, mask, err);
	return err;
}

ADV_EXPORT int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
			    struct ibv_qp_init_attr *init)
{
	struct adv_ibv_qp *qp = adv_ibv_qp_of(ibqp);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	if (!adv_ibv_enter_device(qp->device))
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_query_qp(qp 0x%06x)", ibqp->qp_num);
	adv_qp_query(qp->qp, attr, init);
	if (mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	adv_device_unlock(qp->device);
	attr->cap = qp->cap;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_all = qp->sq_sig_all;
	return 0;
}

/* With the lock held: removes a handle, and destroys the engine's QP with its last handle. 0 or
 * errno. */
static int drop_qp_handle(struct adv_ibv_qp *qp)
{
	int err = 0;

	if (adv_list_empty(&qp->shared)) {
		err = adv_qp_destroy(qp->qp);
	} else {
		struct adv_list *other = qp->shared.next;

		adv_list_del(&qp->shared);
		adv_qp_set_user(qp->qp, adv_container_of(other, struct adv_ibv_qp, shared));
	}
	if (!err && qp->xrcd)
		qp->xrcd->users--;
	return err;
}

/* With the lock held: if this is the QP's last handle, moves the QP to RESET, so that it causes no
 * more events. 0 or errno. */
static int reset_last_handle(struct adv_ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (!adv_list_empty(&qp->shared))
		return 0;
	if (adv_qp_in_use(qp->qp))
		return adv_reason(EBUSY, "it is in a multicast group: ibv_detach_mcast() first");
	return adv_qp_modify(qp->qp, adv_device_time(qp->device), &attr, IBV_QP_STATE);
}

/* Destroys the engine's QP, or this handle of it, after the application has acknowledged the
 * handle's events. Call it with the lock held; it releases the lock while it waits. 0 or errno. */
static int destroy_engine_qp(struct adv_ibv_qp *qp)
{
	struct ibv_context *context = qp->ibv.context;
	const struct adv_ibv_acks acks = {
		.queue = &adv_ibv_context_of(context)->async,
		.node = qp->node,
		.nodes = ADV_QP_NODES,
		.mutex = &qp->ibv.mutex,
		.cond = &qp->ibv.cond,
		.completed = &qp->ibv.events_completed,
	};

	while (!adv_ibv_acks_complete(&acks)) {
		int err = reset_last_handle(qp);

		if (err)
			return err;
		adv_device_unlock(qp->device);
		adv_ibv_acks_wait(context, &acks);
		adv_device_lock(qp->device);
	}
	return drop_qp_handle(qp);
}

static int destroy_qp(struct ibv_qp *ibqp)
{
	struct adv_ibv_qp *qp = adv_ibv_qp_of(ibqp);
	int err;

	if (adv_ibv_enter_device(qp->device)) {
		adv_device_send_acks(qp->device);
		err = destroy_engine_qp(qp);
		adv_device_unlock(qp->device);
		if (err)
			return adv_ibv_refuse(err, "ibv_destroy_qp(qp 0x%06x)", ibqp->qp_num);
	}
	adv_debug("qp 0x%06x: destroyed", ibqp->qp_num);
	if (ibqp->pd)
		adv_ibv_pd_release(ibqp->pd);
	adv_ibv_qp_free(qp);
	return 0;
}

ADV_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_QP, qp);
	int err = destroy_qp(qp);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

/* Returns 0: memcpy() may write a packet's bytes in any order. */
ADV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

#define NO_ECE "the device has no options of a vendor to negotiate"

/* Fails: enhanced connection establishment negotiates options among devices of one vendor, and this
 * device has none. */
ADV_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	memset(ece, 0, sizeof(*ece));
	/* No warning: librdmacm queries each QP, and an answer of this kind is no fault. */
	adv_debug("ibv_query_ece(qp 0x%06x): " NO_ECE, qp->qp_num);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

ADV_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return adv_ibv_refuse(adv_reason(EOPNOTSUPP, NO_ECE), "ibv_set_ece(qp 0x%06x)", qp->qp_num);
}
