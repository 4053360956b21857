/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/resources.h"

#include <string.h>

#include "base/array.h"
#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/requester/flight.h"
#include "nic/memory/mr.h"
#include "nic/queue/srq.h"

#define MR_SLOTS_A_CALL 16384 /* most slots of the table of keys that one call reads */
#define PIECES_A_CALL	1024  /* most pieces of histograms that one call reads */

static uint32_t number_of_pd(const struct adv_pd *pd)
{
	return pd ? pd->number : 0;
}

static uint32_t number_of_cq(const struct adv_cq *cq)
{
	return cq ? cq->number : 0;
}

static void describe_requester(const struct adv_qp *qp, struct adv_object_qp *out)
{
	out->sq_psn = qp->req.next_psn;
	out->una_psn = qp->req.una_psn;
	if (qp->reliable) {
		out->window = qp->req.cwnd;
		out->in_flight = adv_flight_psns(qp);
	}
	out->send_room = qp->sq.size;
	out->send_posted = qp->sq.head;
	out->send_done = qp->sq.tail;
	out->send_held = qp->sq.head - qp->sq.freed;
	if (qp->sq.head != qp->sq.tail) {
		const struct adv_send_wqe *oldest = adv_send_wqe_at(qp, qp->sq.tail);

		out->request = oldest->opcode;
		out->request_length = oldest->length;
	}
	out->flags = (uint8_t)((qp->req.rnr_wait ? ADV_QP_RNR_WAIT : 0) |
			       (qp->req.unanswered ? ADV_QP_UNANSWERED : 0) |
			       (qp->peer_is_here ? ADV_QP_LOCAL_PEER : 0));
	out->timeout = qp->attr.timeout;
	out->retry_cnt = qp->attr.retry_cnt;
	out->retry_left = qp->req.retry_left;
	out->rnr_retry = qp->attr.rnr_retry;
	out->rnr_left = qp->req.rnr_left;
}

static void describe_path(const struct adv_qp *qp, struct adv_object_qp *out)
{
	out->remote = qp->attr.dest_qp_num;
	out->mtu = qp->mtu;
	out->sgid_index = qp->path.sgid_index;
	memcpy(out->sgid, qp->path.sgid.raw, sizeof(out->sgid));
	memcpy(out->dgid, qp->path.dgid.raw, sizeof(out->dgid));
}

static void describe_error(const struct adv_qp_error *e, struct adv_object_qp *out)
{
	out->error_at = e->at;
	out->error_wr_id = e->wr_id;
	out->error_kind = e->kind;
	out->error_status = e->status;
	out->error_cause = e->cause;
	out->error_opcode = e->opcode;
	if (!e->names_memory)
		return;
	out->flags |= ADV_QP_ERROR_MEMORY;
	out->error_rkey = e->rkey;
	out->error_va = e->va;
	out->error_length = e->length;
}

static const void *describe_qp(const struct adv_list *n, struct adv_object *out)
{
	const struct adv_qp *qp = adv_container_of(n, struct adv_qp, node);

	out->number = qp->qpn;
	out->pd = number_of_pd(qp->pd);
	out->type = (uint8_t)qp->type;
	out->state = (uint8_t)qp->state;
	out->path_mig_state = (uint8_t)qp->attr.path_mig_state;
	out->port = qp->attr.port_num;
	describe_path(qp, &out->qp);
	describe_requester(qp, &out->qp);
	out->qp.rq_psn = qp->resp.epsn;
	out->qp.msn = qp->resp.msn;
	out->qp.send_cq = number_of_cq(qp->send_cq);
	out->qp.recv_cq = number_of_cq(qp->recv_cq);
	out->qp.srq = qp->srq ? qp->srq->id : 0;
	out->qp.recv_room = qp->rq.size;
	out->qp.recv_posted = qp->rq.head;
	out->qp.recv_done = qp->rq.next;
	describe_error(&qp->error, &out->qp);
	memcpy(out->qp.share, qp->share, sizeof(out->qp.share));
	return qp->xrcd ? qp->xrcd->owner : qp->pd->owner;
}

static const void *describe_cq(const struct adv_list *n, struct adv_object *out)
{
	const struct adv_cq *cq = adv_container_of(n, struct adv_cq, node);

	out->number = cq->number;
	out->users = cq->users;
	out->cq.cqe = cq->room;
	out->cq.waiting = adv_cq_waiting(cq);
	out->cq.overrun = cq->overrun;
	return cq->owner;
}

static const void *describe_pd(const struct adv_list *n, struct adv_object *out)
{
	const struct adv_pd *pd = adv_container_of(n, struct adv_pd, node);

	out->number = pd->number;
	out->users = pd->users;
	return pd->owner;
}

static const void *describe_srq(const struct adv_list *n, struct adv_object *out)
{
	const struct adv_srq *srq = adv_container_of(n, struct adv_srq, node);

	out->number = srq->id;
	out->pd = number_of_pd(srq->pd);
	out->type = srq->xrcd ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	out->srq.cq = number_of_cq(srq->cq);
	out->srq.room = srq->max_wr;
	out->srq.posted = srq->fifo_head - srq->fifo_tail;
	return srq->pd->owner;
}

static void describe_mr(const struct adv_mr *mr, struct adv_object *out)
{
	out->number = mr->key >> 8; /* the upper bits name the region */
	out->pd = number_of_pd(mr->pd);
	out->mr.lkey = mr->key;
	out->mr.rkey = mr->key;
	out->mr.iova = mr->iova;
	out->mr.length = mr->length;
	out->mr.access = (uint32_t)mr->granted & ~(uint32_t)ADV_ACCESS_LOCAL_READ;
}

/* Describes objects of a list. *from: number of objects that earlier calls reported. */
static unsigned
describe_list(const struct adv_list *list,
	      const void *(*describe)(const struct adv_list *n, struct adv_object *out),
	      uint64_t *from, struct adv_object *out, const void **owners, unsigned room)
{
	const struct adv_list *n = list->next;
	unsigned count = 0;

	for (uint64_t i = 0; i < *from && n != list; i++)
		n = n->next;
	for (; n != list && count < room; n = n->next, count++)
		owners[count] = describe(n, &out[count]);
	*from = n == list ? ADV_RESOURCES_END : *from + count;
	return count;
}

/* Describes regions. *from: position in the table of keys. */
static unsigned describe_mrs(const struct adv_mr_table *t, uint64_t *from, struct adv_object *out,
			     const void **owners, unsigned room)
{
	uint64_t at = *from, end = at < t->room ? at + MR_SLOTS_A_CALL : at;
	unsigned count = 0;

	for (; at < t->room && at < end && count < room; at++) {
		if (!t->slot[at] || t->slot[at]->window)
			continue;
		owners[count] = t->slot[at]->pd->owner;
		describe_mr(t->slot[at], &out[count++]);
	}
	*from = at >= t->room ? ADV_RESOURCES_END : at;
	return count;
}

/* Describes a piece of a QP's histogram. False: it has no count. */
static bool describe_latency(const struct adv_qp *qp, unsigned piece, struct adv_object *out)
{
	const uint32_t first = piece * ADV_RESOURCE_BUCKETS;
	uint32_t any = 0;

	if (!qp->latency || qp->latency == qp->engine->unseen.of_qp)
		return false;
	for (unsigned i = 0; i < ADV_RESOURCE_BUCKETS; i++)
		any |= qp->latency[first + i];
	if (!any)
		return false;
	out->number = qp->qpn;
	out->latency.first = first;
	memcpy(out->latency.count, qp->latency + first, sizeof(out->latency.count));
	return true;
}

/* Describes histograms. *from: number of pieces that earlier calls have read. */
static unsigned describe_latencies(const struct adv_list *qps, uint64_t *from,
				   struct adv_object *out, const void **owners, unsigned room)
{
	const struct adv_list *n = qps->next;
	uint64_t end = *from + PIECES_A_CALL, at = *from;
	unsigned count = 0;

	for (uint64_t i = 0; i < at / ADV_RESOURCE_PIECES && n != qps; i++)
		n = n->next;
	for (; n != qps && at < end && count < room; at++) {
		const struct adv_qp *qp = adv_container_of(n, struct adv_qp, node);
		unsigned piece = at % ADV_RESOURCE_PIECES;

		if (describe_latency(qp, piece, &out[count]))
			owners[count++] = qp->xrcd ? qp->xrcd->owner : qp->pd->owner;
		if (piece == ADV_RESOURCE_PIECES - 1)
			n = n->next;
	}
	*from = n == qps ? ADV_RESOURCES_END : at;
	return count;
}

/* True if the engine lists the domains and regions: of the engines that share them, one does. */
static bool is_first(const struct adv_engine *e)
{
	return e->number == 0;
}

static unsigned count_objects(const struct adv_engine *e, struct adv_object *out)
{
	const struct {
		enum adv_resource_kind kind;
		uint32_t count;
	} sums[] = {{ADV_RESOURCE_QP, adv_list_length(&e->qps)},
		    {ADV_RESOURCE_CQ, e->cq_count},
		    {ADV_RESOURCE_MR, is_first(e) ? e->tpt->keys.count - e->tpt->mw_count : 0},
		    {ADV_RESOURCE_PD, is_first(e) ? e->tpt->pd_count : 0},
		    {ADV_RESOURCE_SRQ, e->srq_count}};
	unsigned n = ADV_ARRAY_SIZE(sums);

	for (unsigned i = 0; i < n; i++) {
		out[i].type = (uint8_t)sums[i].kind;
		out[i].users = sums[i].count;
	}
	return n;
}

unsigned adv_engine_resources(const struct adv_engine *e, enum adv_resource_kind kind,
			      uint64_t *from, struct adv_object *out, const void **owners,
			      unsigned room)
{
	struct adv_list none = {&none, &none};
	const struct adv_mr_table no_keys = {0};
	bool first = *from == 0;

	memset(out, 0, room * sizeof(*out));
	memset(owners, 0, room * sizeof(*owners));
	switch (kind) {
	case ADV_RESOURCE_QP:
		return describe_list(&e->qps, describe_qp, from, out, owners, room);
	case ADV_RESOURCE_CQ:
		return describe_list(&e->cqs, describe_cq, from, out, owners, room);
	case ADV_RESOURCE_PD:
		return describe_list(is_first(e) ? &e->tpt->pds : &none, describe_pd, from, out,
				     owners, room);
	case ADV_RESOURCE_SRQ:
		return describe_list(&e->srqs, describe_srq, from, out, owners, room);
	case ADV_RESOURCE_LATENCY:
		return describe_latencies(&e->qps, from, out, owners, room);
	case ADV_RESOURCE_MR:
		return describe_mrs(is_first(e) ? &e->tpt->keys : &no_keys, from, out, owners,
				    room);
	default:
		*from = ADV_RESOURCES_END;
		return first && kind == ADV_RESOURCE_SUMMARY && room >= ADV_RESOURCE_KINDS
			       ? count_objects(e, out)
			       : 0;
	}
}

uint32_t adv_qp_rnr_naks(const struct adv_qp *qp)
{
	return qp->share[offsetof(struct adv_engine_counters, rnr_nak_sent) / sizeof(uint64_t)];
}

uint32_t adv_qp_messages(const struct adv_qp *qp)
{
	return qp->resp.msn;
}

uint64_t adv_qp_acknowledged(const struct adv_qp *qp)
{
	const struct adv_send_wqe *wqe;
	int32_t packets;

	if (qp->sq.tail == qp->sq.head)
		return 0;
	wqe = adv_send_wqe_at(qp, qp->sq.tail);
	packets = wqe->started ? adv_psn_diff(qp->req.una_psn, wqe->first_psn) : 0;
	return packets > 0 ? (uint64_t)packets * qp->mtu : 0;
}
