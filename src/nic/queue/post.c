/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting work requests, the general path: checks them and copies them into the queues (IBTA
 * 11.4.1). */
#include <stdlib.h>

#include "base/probe.h"
#include "nic/queue/ah.h"
#include "nic/engine/inject.h"
#include "nic/memory/mw.h"
#include "nic/engine/names.h"
#include "nic/queue/post.h"
#include "nic/queue/qp_complete.h"
#include "nic/requester/requester.h"
#include "nic/queue/srq.h"

#define INLINE_OPCODES                                                                             \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV |             \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM)

/* True if a bind request is well-formed. The new key names the window. A type 1 window has its own
 * call, and may be bound to no region. */
static bool bind_good(const struct ibv_send_wr *wr)
{
	enum ibv_mw_type type = wr->opcode == IBV_WR_BIND_MW ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1;

	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != type)
		return false;
	return (wr->bind_mw.rkey ^ wr->bind_mw.mw->rkey) >> 8 == 0 &&
	       (wr->bind_mw.bind_info.mr || !wr->bind_mw.bind_info.length);
}

/* Begins the reason of a refused request, with its wr_id. */
#define WR "wr_id %llu: "

static int check_send_wr(const struct adv_qp *qp, const struct ibv_send_wr *wr)
{
	unsigned long long id = wr->wr_id;
	uint32_t op = (uint32_t)wr->opcode;

	if (op > 31 || !(qp->opcodes & (1u << op)))
		return adv_reason(EINVAL, WR "opcode %s (%u) is not possible on a %s queue pair",
				  id, adv_wr_opcode_name((int)op), op, adv_qp_type_name(qp->type));
	if (wr->num_sge < 0 || (wr->num_sge > 0 && !wr->sg_list))
		return adv_reason(EINVAL, WR "num_sge %d with sg_list %p", id, wr->num_sge,
				  (void *)wr->sg_list);
	if ((wr->send_flags & IBV_SEND_INLINE) && !(INLINE_OPCODES & (1u << op)))
		return adv_reason(EINVAL,
				  WR "IBV_SEND_INLINE is not possible with %s: only SEND and RDMA "
				     "WRITE carry data",
				  id, adv_wr_opcode_name((int)op));
	if ((uint32_t)wr->num_sge > qp->sq.max_sge && !(wr->send_flags & IBV_SEND_INLINE))
		return adv_reason(EINVAL,
				  WR "num_sge %d is above %u, the max_send_sge of the queue pair",
				  id, wr->num_sge, qp->sq.max_sge);
	if (qp->type == IBV_QPT_UD && !wr->wr.ud.ah)
		return adv_reason(EINVAL, WR "wr.ud.ah is NULL: UD needs an address handle", id);
	if ((op == IBV_WR_BIND_MW || op == (uint32_t)ADV_WR_BIND_TYPE_1) && !bind_good(wr))
		return adv_reason(EINVAL,
				  WR "mw is missing or of the wrong type, rkey is not the window's "
				     "with another last byte, or the region is missing",
				  id);
	return 0;
}

/* Copies inline data, because the caller may change it after the post. Does not check keys. */
static int copy_inline(const struct adv_qp *qp, struct adv_send_wqe *wqe,
		       const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)wqe->sge;
	uint64_t total = 0;

	for (int i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	if (total > qp->sq.max_inline)
		return adv_reason(
			EINVAL,
			WR "%llu inline bytes are above %u, the max_inline_data of the queue pair",
			(unsigned long long)wr->wr_id, (unsigned long long)total,
			qp->sq.max_inline);
	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
	wqe->num_sge = 0;
	wqe->length = (uint32_t)total;
	return 0;
}

/* Marks a request of invalid length: it completes with an error when it is the oldest. */
static void mark_bad_length(struct adv_send_wqe *wqe, enum adv_vendor_err why)
{
	wqe->failed = true;
	wqe->status = IBV_WC_LOC_LEN_ERR;
	wqe->vendor_err = (uint8_t)why;
}

static void copy_sges(struct adv_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint64_t total = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		total += wr->sg_list[i].length;
	}
	wqe->num_sge = (uint8_t)wr->num_sge;
	wqe->length = (uint32_t)total;
	if (total > ADV_MAX_MSG) {
		wqe->length = 0;
		mark_bad_length(wqe, ADV_ERR_MESSAGE_TOO_LONG);
	}
}

/* Fills in the members that depend on the opcode. */
static void fill_operation(const struct adv_qp *qp, struct adv_send_wqe *wqe,
			   const struct ibv_send_wr *wr)
{
	if (qp->type == IBV_QPT_UD) {
		wqe->ah = adv_container_of(wr->wr.ud.ah, struct adv_ah, ibv);
		wqe->remote_qpn = wr->wr.ud.remote_qpn & ADV_QPN_MASK;
		wqe->remote_qkey = wr->wr.ud.remote_qkey;
		return;
	}
	if (qp->type == IBV_QPT_XRC_SEND)
		wqe->remote_qpn = wr->qp_type.xrc.remote_srqn & ADV_QPN_MASK;
	switch ((int)wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (wqe->length < sizeof(uint64_t))
			mark_bad_length(wqe, ADV_ERR_ATOMIC_TOO_SMALL);
		wqe->length = sizeof(uint64_t);
		/* fall through */
	case ADV_WR_FLUSH:
	case ADV_WR_ATOMIC_WRITE:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		wqe->rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
		wqe->rkey = wr->bind_mw.rkey;
		wqe->remote_addr = wr->bind_mw.bind_info.addr;
		wqe->compare_add = wr->bind_mw.bind_info.length;
		wqe->swap = wr->bind_mw.bind_info.mw_access_flags;
		if (wr->bind_mw.bind_info.mr)
			wqe->remote_qkey = wr->bind_mw.bind_info.mr->lkey;
		break;
	default:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
}

static int fill_send(struct adv_qp *qp, struct adv_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	int err = check_send_wr(qp, wr);

	if (err)
		return err;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->send_flags = (uint8_t)wr->send_flags;
	wqe->imm = wr->imm_data;
	if (wr->send_flags & IBV_SEND_INLINE)
		err = copy_inline(qp, wqe, wr);
	else
		copy_sges(wqe, wr);
	if (err)
		return err;
	fill_operation(qp, wqe, wr);
	return 0;
}

/* Allocates a ring at its first use, so that an idle QP needs no memory for queues. */
static int make_ring(uint8_t **ring, uint32_t size, uint32_t stride)
{
	if (*ring)
		return 0;
	if (size == 0)
		return adv_reason(ENOMEM, "the queue pair was created with a queue of 0 requests");
	*ring = calloc(size, stride);
	return *ring ? 0 : ENOMEM;
}

static int post_one_send(struct adv_qp *qp, uint64_t now, const struct ibv_send_wr *wr)
{
	struct adv_send_wqe *wqe;
	int err;

	if (qp->sq.head - qp->sq.freed >= qp->sq.size)
		return adv_reason(
			ENOMEM,
			WR "the send queue is full: %u requests (max_send_wr); poll completions, "
			   "and signal at least one request of each queue length",
			(unsigned long long)wr->wr_id, qp->sq.size);
	wqe = adv_send_wqe_at(qp, qp->sq.head);
	err = fill_send(qp, wqe, wr);
	if (!err && qp->engine->injector)
		err = (int)adv_inject_send(qp, ADV_INJECT_POST, wqe->opcode);
	if (err)
		return err;
	if (qp->reliable && adv_send_wqe_wants_response(wqe) && adv_requester_reserve(qp))
		return ENOMEM;
	if (wqe->ah) {
		wqe->ah = adv_ah_of(qp->engine, wqe->ah);
		if (!wqe->ah)
			return ENOMEM;
		wqe->ah->outstanding++;
	}
	wqe->posted = adv_latency_time(now);
	qp->sq.head++;
	ADV_PROBE(post_send, qp->qpn, wqe->wr_id, wqe->opcode, wqe->length);
	return 0;
}

int adv_post_sends(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	int err = 0;

	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT || qp->state == IBV_QPS_RTR ||
	    qp->xrcd)
		err = adv_reason(EINVAL, "this %s queue pair is in %s: it can send from RTS on",
				 adv_qp_type_name(qp->type), adv_qp_state_name(qp->state));
	else
		err = make_ring(&qp->sq.ring, qp->sq.size, qp->sq.stride);
	if (!err && qp->sq.max_sge)
		qp->sq.fast_room = qp->sq.size;
	for (; wr && !err; wr = wr->next) {
		err = post_one_send(qp, now, wr);
		if (err)
			break;
	}
	if (err)
		*bad_wr = wr;
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		adv_qp_flush_send(qp, now);
	return err;
}

int adv_post_recvs(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	int err = 0;

	if (qp->srq || qp->service == ADV_SERVICE_XRC || qp->state == IBV_QPS_RESET)
		err = adv_reason(EINVAL,
				 qp->state == IBV_QPS_RESET
					 ? "the queue pair is in RESET: move it to INIT first"
					 : "the queue pair has no receive queue of its own: post "
					   "to its SRQ");
	else
		err = make_ring(&qp->rq.ring, qp->rq.size, qp->rq.stride);
	if (!err && qp->rq.max_sge)
		qp->rq.fast_room = qp->rq.size;
	for (; wr && !err; wr = wr->next) {
		if (qp->rq.head - qp->rq.freed >= qp->rq.size)
			err = adv_reason(ENOMEM,
					 WR "the receive queue is full: %u requests (max_recv_wr)",
					 (unsigned long long)wr->wr_id, qp->rq.size);
		else
			err = adv_recv_wqe_fill(adv_recv_wqe_at(qp, qp->rq.head), qp->rq.max_sge,
						wr);
		if (!err && qp->engine->injector)
			err = (int)adv_inject_recv(qp->engine, qp, ADV_INJECT_POST,
						   ADV_WORK_NO_OPCODE);
		if (err)
			break;
		qp->rq.head++;
	}
	if (err)
		*bad_wr = wr;
	if (qp->state == IBV_QPS_ERR)
		adv_qp_flush_recv(qp, now);
	return err;
}
