/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state machine of queue pairs (IBTA 10.3.1, 11.2.5.2). */
#include <stdlib.h>

#include "base/array.h"
#include "nic/engine/address.h"
#include "nic/queue/connected.h"
#include "nic/requester/flight.h"
#include "nic/congestion/flow.h"
#include "nic/engine/names.h"
#include "nic/engine/protocol.h"
#include "nic/queue/qp.h"
#include "nic/queue/qp_modify.h"
#include "nic/queue/qp_transition.h"
#include "nic/requester/requester.h"
#include "nic/responder/responder.h"
#include "nic/requester/selective.h"
#include "nic/queue/sqd.h"
#include "nic/fast/unusual.h"

#define ACCESS_ALL   0x3ff /* all flags that are not optional, also of newer headers */
#define TIMER_VALUES 32	   /* five bits */
#define RETRY_VALUES 8	   /* three bits */

/* Checks that the mask has all required attributes, and no other than these and optional ones. 0 or
 * EINVAL. */
static int check_mask(int mask, int required, int optional)
{
	char names[ADV_ATTR_NAMES_LENGTH];
	int missing = required & ~mask, extra = mask & ~(required | optional);

	if (missing)
		return adv_reason(EINVAL, "attr_mask lacks %s: this transition needs them",
				  adv_qp_attr_names(missing, names, sizeof(names)));
	if (extra)
		return adv_reason(EINVAL, "attr_mask has %s: this transition does not allow them",
				  adv_qp_attr_names(extra, names, sizeof(names)));
	return 0;
}

/* Checks that the transition exists, and its mask. 0 or EINVAL. */
static int check_transition(const struct adv_qp *qp, enum ibv_qp_state next, int mask)
{
	int required, optional;

	if (adv_qp_transition(qp->type, qp->state, next, &required, &optional))
		return check_mask(mask & ~IBV_QP_STATE, required, optional);
	return adv_reason(EINVAL, "there is no such transition: the order is RESET, INIT, RTR, "
				  "RTS, and from any state to RESET or ERR");
}

/* Checks the value of each attribute in the mask. compute_path() checks the path. 0 or EINVAL. */
static int check_values(const struct adv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	const struct {
		int bit;
		bool good;
		unsigned value;
		const char *allowed;
	} checks[] = {
		{IBV_QP_CUR_STATE, a->cur_qp_state == qp->state, a->cur_qp_state,
		 "the current state"},
		{IBV_QP_PKEY_INDEX, a->pkey_index < qp->engine->pkeys.count, a->pkey_index,
		 "an index of the P_Key table (ibv_query_pkey)"},
		{IBV_QP_PORT, a->port_num == 1, a->port_num, "1"},
		{IBV_QP_ACCESS_FLAGS,
		 !(a->qp_access_flags & ~(unsigned)(ACCESS_ALL | IBV_ACCESS_OPTIONAL_RANGE)),
		 a->qp_access_flags, "bits of enum ibv_access_flags"},
		{IBV_QP_PATH_MTU, adv_mtu_bytes(a->path_mtu) != 0, a->path_mtu,
		 "IBV_MTU_256 (1) to IBV_MTU_4096 (5)"},
		{IBV_QP_DEST_QPN, a->dest_qp_num <= ADV_QPN_MASK, a->dest_qp_num, "24 bits"},
		{IBV_QP_MAX_QP_RD_ATOMIC, a->max_rd_atomic <= ADV_MAX_RD_ATOMIC, a->max_rd_atomic,
		 "0 to 128 (max_qp_init_rd_atom)"},
		{IBV_QP_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic <= ADV_MAX_RD_ATOMIC,
		 a->max_dest_rd_atomic, "0 to 128 (max_qp_rd_atom)"},
		{IBV_QP_MIN_RNR_TIMER, a->min_rnr_timer < TIMER_VALUES, a->min_rnr_timer,
		 "0 to 31"},
		{IBV_QP_TIMEOUT, a->timeout < TIMER_VALUES, a->timeout, "0 to 31"},
		{IBV_QP_RETRY_CNT, a->retry_cnt < RETRY_VALUES, a->retry_cnt, "0 to 7"},
		{IBV_QP_RNR_RETRY, a->rnr_retry < RETRY_VALUES, a->rnr_retry, "0 to 7"},
		{IBV_QP_PATH_MIG_STATE, a->path_mig_state == IBV_MIG_MIGRATED, a->path_mig_state,
		 "IBV_MIG_MIGRATED (0): there are no alternate paths"},
	};

	char name[ADV_ATTR_NAMES_LENGTH];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(checks); i++)
		if ((mask & checks[i].bit) && !checks[i].good)
			return adv_reason(EINVAL,
					  "the value %u of %s is not allowed: allowed is %s",
					  checks[i].value,
					  adv_qp_attr_names(checks[i].bit, name, sizeof(name)),
					  checks[i].allowed);
	return 0;
}

/*
 * Returns the largest MTU of a path, bytes. A path within this machine crosses no wire and has no
 * limit of an interface. For any other path, only the MTU of the source address's interface is
 * known here.
 */
static uint32_t path_limit(const struct adv_engine *e, const struct adv_path *path)
{
	return adv_address_is_here(e, &path->dgid) ? adv_mtu_bytes(IBV_MTU_4096)
						   : e->gids[path->sgid_index].mtu;
}

/* Checks a path MTU, bytes. 0 or EINVAL. */
static int check_mtu(const struct adv_engine *e, const struct adv_path *path, uint32_t mtu)
{
	uint32_t limit = path_limit(e, path);
	char own[ADV_GID_TEXT_LENGTH];

	if (mtu <= limit)
		return 0;
	return adv_reason(EINVAL,
			  "path_mtu %u is above %u, the active MTU of GID %u (%s): use %u, or "
			  "raise the interface's MTU",
			  mtu, limit, path->sgid_index, adv_gid_text(&path->sgid, own), limit);
}

/* Computes the path and the MTU after the change, and checks them. 0 or EINVAL. */
static int compute_path(const struct adv_qp *qp, const struct ibv_qp_attr *a, int mask,
			struct adv_path *path, uint32_t *mtu)
{
	uint32_t rqpn = mask & IBV_QP_DEST_QPN ? a->dest_qp_num : qp->attr.dest_qp_num;

	int err;

	*path = qp->path;
	*mtu = mask & IBV_QP_PATH_MTU ? adv_mtu_bytes(a->path_mtu) : qp->mtu;
	if (!(mask & IBV_QP_AV))
		return 0;
	err = adv_qp_path_from_attr(qp->engine, &a->ah_attr, qp->qpn, rqpn, path);
	if (err)
		return err;
	if (adv_gid_is_multicast(&path->dgid))
		return adv_reason(EINVAL, "ah_attr.grh.dgid is a multicast GID: only a UD queue "
					  "pair sends to groups");
	return check_mtu(qp->engine, path, *mtu);
}

static void copy_values(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define COPY(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = from->field;                                                   \
	} while (0)
	COPY(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	COPY(IBV_QP_PKEY_INDEX, pkey_index);
	COPY(IBV_QP_PORT, port_num);
	COPY(IBV_QP_QKEY, qkey);
	COPY(IBV_QP_AV, ah_attr);
	COPY(IBV_QP_PATH_MTU, path_mtu);
	COPY(IBV_QP_TIMEOUT, timeout);
	COPY(IBV_QP_RETRY_CNT, retry_cnt);
	COPY(IBV_QP_RNR_RETRY, rnr_retry);
	COPY(IBV_QP_RQ_PSN, rq_psn);
	COPY(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(IBV_QP_SQ_PSN, sq_psn);
	COPY(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(IBV_QP_DEST_QPN, dest_qp_num);
#undef COPY
	/* Programs pass 32 random bits; drivers use 24 of them. */
	to->rq_psn &= ADV_PSN_MASK;
	to->sq_psn &= ADV_PSN_MASK;
}

static uint32_t ring_room(uint32_t limit)
{
	uint32_t room = 1;

	while (room < limit)
		room *= 2;
	return room;
}

/* Moves the newest entries to the new ring, because the responder continues in SQD. */
static void move_resources(struct adv_responder *resp, struct adv_responder_resource *ring,
			   uint32_t room)
{
	uint32_t kept = room < resp->res_room ? room : resp->res_room;

	resp->res_pending = 0;
	for (uint32_t i = resp->res_head - kept; i != resp->res_head; i++) {
		ring[i & (room - 1)] = resp->res[i & (resp->res_room - 1)];
		resp->res_pending += ring[i & (room - 1)].pending;
	}
	free(resp->res);
	resp->res = ring;
	if (resp->res_head - resp->res_next > room)
		resp->res_next = resp->res_head - room;
}

/* Allocates a new ring if the old ring exists (`made`): a READ may have been posted in SQD. Else
 * sets *ring to NULL. */
static int allocate_ring(const void *made, uint32_t room, size_t size, void **ring)
{
	*ring = made ? calloc(room, size) : NULL;
	return made && !*ring ? ENOMEM : 0;
}

/* Resizes the rings of READs and atomics of both directions to the limits in qp->attr (SQD to
 * SQD). */
static int resize_read_rings(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;
	struct adv_responder *resp = &qp->resp;
	uint32_t ends_room = ring_room(qp->attr.max_rd_atomic);
	uint32_t res_room = ring_room(qp->attr.max_dest_rd_atomic);
	void *ends, *ring;

	if (allocate_ring(req->rd_end, ends_room, sizeof(*req->rd_end), &ends))
		return ENOMEM;
	if (allocate_ring(resp->res, res_room, sizeof(*resp->res), &ring)) {
		free(ends);
		return ENOMEM;
	}
	/* The send queue has drained: no READ is outstanding. */
	assert(req->rd_head == req->rd_tail);
	free(req->rd_end);
	req->rd_end = ends;
	req->rd_room = ends_room;
	req->rd_limit = qp->attr.max_rd_atomic;
	req->rd_head = req->rd_tail = 0;
	if (ring)
		move_resources(resp, ring, res_room);
	resp->res_room = res_room;
	resp->res_limit = qp->attr.max_dest_rd_atomic;
	return 0;
}

/* Returns the largest MTU of the port, for UD, which has no path MTU. */
static uint32_t port_mtu(const struct adv_engine *e)
{
	uint32_t mtu = 0;

	for (unsigned i = 0; i < e->gid_count; i++)
		if (e->gids[i].mtu > mtu)
			mtu = e->gids[i].mtu;
	return mtu;
}

/* Performs the actions of a transition. qp->attr has the new attributes already, qp->state is still
 * the old state. */
static int perform_transition(struct adv_qp *qp, enum ibv_qp_state next, int mask)
{
	switch (next) {
	case IBV_QPS_RTR:
		adv_responder_start(qp);
		return adv_selective_start(qp);
	case IBV_QPS_RTS:
		if (qp->state != IBV_QPS_RTR)
			return 0;
		adv_requester_start(qp);
		return adv_flow_start(qp);
	case IBV_QPS_SQD:
		if (mask & (IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC))
			return resize_read_rings(qp);
		return 0;
	default:
		return 0;
	}
}

/* Lets the queues continue after the QP has entered its new state. */
static void continue_queues(struct adv_qp *qp, enum ibv_qp_state before)
{
	if (qp->state == IBV_QPS_RTS && (before == IBV_QPS_SQD || before == IBV_QPS_SQE))
		adv_sqd_leave(qp);
	else if (qp->state == IBV_QPS_SQD && before == IBV_QPS_RTS)
		adv_sqd_enter(qp);
}

static int change_attributes(struct adv_qp *qp, enum ibv_qp_state next,
			     const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_qp_attr old_attr = qp->attr;
	const struct adv_path old_path = qp->path;
	const uint32_t old_mtu = qp->mtu;
	const uint16_t old_pkey = qp->pkey;
	enum ibv_qp_state before = qp->state;
	struct adv_path path;
	uint32_t mtu;
	int err;

	err = compute_path(qp, attr, mask, &path, &mtu);
	if (err)
		return err;
	copy_values(&qp->attr, attr, mask);
	qp->path = path;
	qp->peer_is_here = adv_address_is_here(qp->engine, &path.dgid);
	qp->mtu = qp->type == IBV_QPT_UD ? port_mtu(qp->engine) : mtu;
	if (mask & IBV_QP_PKEY_INDEX)
		qp->pkey = qp->engine->pkeys.pkey[attr->pkey_index];
	err = perform_transition(qp, next, mask);
	if (err) {
		qp->attr = old_attr;
		qp->path = old_path;
		qp->peer_is_here = adv_address_is_here(qp->engine, &old_path.dgid);
		qp->mtu = old_mtu;
		qp->pkey = old_pkey;
		return err;
	}
	qp->fast.bth = adv_bth_start(qp->pkey, qp->attr.dest_qp_num);
	if (before == IBV_QPS_RTS && next == IBV_QPS_SQD)
		qp->sqd_event_wanted =
			(mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify;
	adv_qp_set_state(qp, next);
	continue_queues(qp, before);
	adv_qp_review(qp);
	return 0;
}

int adv_qp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask)
{
	return qp->engine->protocol->modify(qp, now, attr, mask);
}

int adv_qp_modify_roce(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : qp->state;

	if (check_transition(qp, next, mask) || check_values(qp, attr, mask))
		return EINVAL;
	/* IBTA 10.3.1.5: attributes of packets in flight may change only after the queue has
	 * drained. */
	if (qp->state == IBV_QPS_SQD && next == IBV_QPS_SQD && qp->req.draining &&
	    (mask & ~IBV_QP_STATE))
		return adv_reason(
			EINVAL, "the send queue is still draining: wait for IBV_EVENT_SQ_DRAINED");
	if (adv_qp_modify_ended(qp, now, next, mask))
		return 0;
	return change_attributes(qp, next, attr, mask);
}

void adv_qp_query(struct adv_qp *qp, struct ibv_qp_attr *attr, struct ibv_qp_init_attr *init)
{
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->en_sqd_async_notify = qp->sqd_event_wanted;
	attr->sq_draining = qp->state == IBV_QPS_SQD && qp->req.draining;
	memset(init, 0, sizeof(*init));
	init->cap = qp->attr.cap;
	init->qp_type = qp->type;
	init->sq_sig_all = qp->sq_sig_all;
}
