/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/log.h"
#include "base/probe.h"
#include "nic/queue/ah.h"
#include "nic/engine/completed.h"
#include "nic/queue/connected.h"
#include "nic/queue/cq.h"
#include "nic/requester/flight.h"
#include "nic/engine/inject.h"
#include "nic/engine/names.h"
#include "nic/queue/qp_complete.h"
#include "nic/engine/resources.h"
#include "nic/responder/ack.h"
#include "nic/queue/srq.h"
#include "nic/fast/unusual.h"

static enum ibv_wc_opcode wc_opcode(uint8_t wr_opcode)
{
	switch ((int)wr_opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case ADV_WR_FLUSH:
		return ADV_WC_FLUSH;
	case ADV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

/* Logs a completion with an error, and the command that explains it. Flushed requests are not
 * logged: they only follow the first error. */
static __attribute__((cold)) void log_failure(const struct adv_qp *qp, const struct ibv_wc *wc,
					      const char *queue)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	adv_warn("queue pair 0x%06x: the %s request with wr_id %llu failed: %s, cause %u: %s; see: "
		 "adverb explain %d/%u",
		 qp->qpn, queue, (unsigned long long)wc->wr_id, adv_wc_status_name(wc->status),
		 wc->vendor_err, adv_cause(wc->vendor_err)->text, (int)wc->status, wc->vendor_err);
}

/* Keeps a failed request as the newest error, for tools. */
static __attribute__((cold)) void note_failure(struct adv_qp *qp, enum adv_qp_error_kind kind,
					       const struct ibv_wc *wc, uint8_t opcode,
					       uint64_t now)
{
	if (wc->status != IBV_WC_WR_FLUSH_ERR)
		qp->error = (struct adv_qp_error){.at = now,
						  .wr_id = wc->wr_id,
						  .kind = (uint8_t)kind,
						  .status = (uint8_t)wc->status,
						  .cause = (uint8_t)wc->vendor_err,
						  .opcode = opcode};
}

void adv_qp_complete_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			  uint64_t now)
{
	const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);
	struct adv_cqe cqe = {.timestamp = now, .qp = qp, .release = qp->sq.tail + 1};

	assert(qp->sq.tail != qp->sq.head);
	if (status == IBV_WC_SUCCESS && qp->engine->injector) {
		status = adv_inject_send(qp, ADV_INJECT_COMPLETION, wqe->opcode);
		if (status != IBV_WC_SUCCESS) {
			adv_qp_fail_send(qp, status, ADV_ERR_INJECTED, now);
			return;
		}
	}
	if (qp->sq.next == qp->sq.tail)
		qp->sq.next++;
	qp->sq.tail++;
	if (wqe->ah)
		adv_ah_release(qp->engine, wqe->ah);
	if (status == IBV_WC_SUCCESS) {
		if (!qp->latency)
			adv_completed_first(qp);
		adv_completed_send(qp, wqe, now);
	}
	if (status == IBV_WC_SUCCESS && !qp->sq_sig_all && !(wqe->send_flags & IBV_SEND_SIGNALED))
		return;
	cqe.wc.wr_id = wqe->wr_id;
	cqe.wc.status = status;
	cqe.wc.vendor_err = why;
	cqe.wc.opcode = wc_opcode(wqe->opcode);
	cqe.wc.byte_len = wqe->length;
	cqe.wc.qp_num = qp->qpn;
	if (status != IBV_WC_SUCCESS) {
		adv_qp_count(qp, &qp->engine->counters.req_cqe_error);
		note_failure(qp, ADV_QP_ERROR_SEND, &cqe.wc, wqe->opcode, now);
		if (why == ADV_ERR_NAK_ACCESS)
			adv_qp_note_memory(qp, wqe->rkey, wqe->remote_addr, wqe->length);
		log_failure(qp, &cqe.wc, "send");
	}
	if (!adv_cq_push(qp->send_cq, &cqe, false, now) && qp->state != IBV_QPS_ERR)
		adv_qp_fatal(qp, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN, now);
}

/* ---- receive requests ---- */

struct adv_recv_wqe *adv_qp_take_recv(struct adv_qp *qp)
{
	if (qp->engine->injector &&
	    adv_inject_recv(qp->engine, qp, ADV_INJECT_NOT_READY, ADV_WORK_NO_OPCODE))
		return NULL;
	if (qp->srq)
		return adv_srq_take(qp->srq);
	if (qp->rq.next == qp->rq.head)
		return NULL;
	return adv_recv_wqe_at(qp, qp->rq.next++);
}

void adv_qp_complete_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, struct ibv_wc *wc,
			  bool solicited, uint64_t now)
{
	struct adv_cqe cqe = {.timestamp = now, .release = qp->rq.next, .is_recv = true};

	/* qp is NULL for XRC, so that a completion in the CQ of an XRC SRQ stays there if the QP is
	 * destroyed. */
	cqe.qp = qp->xrcd ? NULL : qp;
	wc->wr_id = wqe->wr_id;
	wc->qp_num = qp->qpn;
	cqe.wc = *wc;
	if (qp->srq)
		adv_srq_release(qp->srq, wqe);
	if (wc->status != IBV_WC_SUCCESS) {
		adv_qp_count(qp, &qp->engine->counters.resp_cqe_error);
		note_failure(qp, ADV_QP_ERROR_RECV, wc, 0, now);
		log_failure(qp, wc, "receive");
	} else {
		qp->engine->work.recv_completed++;
	}
	if (!adv_cq_push(qp->recv_cq, &cqe, solicited, now) && qp->state != IBV_QPS_ERR)
		adv_qp_fatal(qp, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN, now);
}

/* ---- errors ---- */

void adv_qp_flush_send(struct adv_qp *qp, uint64_t now)
{
	while (qp->sq.tail != qp->sq.head)
		adv_qp_complete_send(qp, IBV_WC_WR_FLUSH_ERR, ADV_ERR_FLUSHED, now);
}

static void flush_one_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, uint64_t now)
{
	struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR,
			    .vendor_err = ADV_ERR_FLUSHED,
			    .opcode = IBV_WC_RECV};

	adv_qp_complete_recv(qp, wqe, &wc, false, now);
}

void adv_qp_flush_recv(struct adv_qp *qp, uint64_t now)
{
	struct adv_recv_wqe *taken = qp->resp.recv;

	qp->resp.recv = NULL;
	if (taken)
		flush_one_recv(qp, taken, now);
	while (!qp->srq && qp->rq.next != qp->rq.head)
		flush_one_recv(qp, adv_recv_wqe_at(qp, qp->rq.next++), now);
	if ((qp->srq || qp->xrcd) && !qp->last_wqe_reported) {
		qp->last_wqe_reported = true;
		adv_affiliated_raise(qp->engine, &qp->events, IBV_EVENT_QP_LAST_WQE_REACHED,
				     ADV_ERR_NONE);
	}
}

/* Stops the requester: drops its packets in flight and its timer. */
static void stop_sending(struct adv_qp *qp)
{
	if (qp->reliable)
		adv_flight_abandon(qp);
	adv_list_del(&qp->stall_node);
	qp->req.offset = 0;
	adv_timer_cancel(&qp->req.timer);
}

void adv_qp_enter_error(struct adv_qp *qp, uint64_t now)
{
	adv_qp_set_state(qp, IBV_QPS_ERR);
	stop_sending(qp);
	if (!qp->resp.dead) {
		adv_list_del(&qp->tx_node);
		adv_responder_ack_forget(qp);
		qp->resp.res_pending = 0;
	}
	adv_qp_review(qp);
	adv_qp_flush_send(qp, now);
	adv_qp_flush_recv(qp, now);
	if (qp->connection)
		adv_qp_schedule(qp); /* the connection ends */
}

static void enter_sqe(struct adv_qp *qp, uint64_t now)
{
	adv_qp_set_state(qp, IBV_QPS_SQE);
	stop_sending(qp);
	adv_qp_flush_send(qp, now);
}

void adv_qp_fatal(struct adv_qp *qp, enum ibv_event_type type, enum adv_vendor_err why,
		  uint64_t now)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	qp->error = (struct adv_qp_error){.at = now,
					  .kind = ADV_QP_ERROR_EVENT,
					  .status = (uint8_t)type,
					  .cause = (uint8_t)why};
	adv_affiliated_raise(qp->engine, &qp->events, type, why);
	adv_qp_enter_error(qp, now);
}

void adv_qp_note_memory(struct adv_qp *qp, uint32_t rkey, uint64_t va, uint32_t length)
{
	qp->error.names_memory = true;
	qp->error.rkey = rkey;
	qp->error.va = va;
	qp->error.length = length;
}

bool adv_qp_refused_memory(const struct adv_qp *qp, enum adv_vendor_err why,
			   struct adv_named_memory *memory)
{
	*memory = (struct adv_named_memory){qp->error.va, qp->error.rkey, qp->error.length};
	return qp->error.names_memory && qp->error.cause == why;
}

void adv_qp_fail_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
		      uint64_t now)
{
	adv_qp_complete_send(qp, status, why, now);
	if (qp->reliable)
		adv_qp_enter_error(qp, now);
	else if (qp->state != IBV_QPS_ERR)
		enter_sqe(qp, now);
}
