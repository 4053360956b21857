/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of the responder of RC and XRC (IBTA 9.7.4, A14.4): checks and executes
 * requests. tx.c sends the acknowledgements and responses. */
#include <stdlib.h>

#include "nic/engine/inject.h"
#include "nic/responder/message.h"
#include "nic/memory/mw.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"
#include "nic/responder/refusal.h"
#include "nic/responder/responder.h"
#include "nic/requester/selective.h"
#include "nic/queue/xrc.h"

/* Access flags of annex A19, which Debian's verbs.h does not define. */
#define ACCESS_FLUSH_GLOBAL	(1 << 8)
#define ACCESS_FLUSH_PERSISTENT (1 << 9)
#define FLUSH_GLOBAL		(1 << 0)
#define FLUSH_PERSISTENT	(1 << 1)
#define FLUSH_WHOLE_REGION	1

void adv_responder_start(struct adv_qp *qp)
{
	struct adv_responder *resp = &qp->resp;

	resp->epsn = qp->attr.rq_psn;
	if (!qp->reliable)
		return;
	resp->res_limit = qp->attr.max_dest_rd_atomic;
	resp->res_room = 1;
	while (resp->res_room < resp->res_limit)
		resp->res_room *= 2;
}

/* Allocates the ring of requests at its first use, so that an idle QP needs no memory for it.
 * Returns false if there is no memory. */
static bool make_resources(struct adv_responder *resp)
{
	if (!resp->res)
		resp->res = calloc(resp->res_room, sizeof(*resp->res));
	return resp->res != NULL;
}

/* ---- refused requests ---- */

/* Ends the connection: sends a NAK, fails the receive request in use, flushes the rest. */
static void refuse_with(struct adv_qp *qp, enum adv_vendor_err why, struct adv_refusal r,
			uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_recv_wqe *recv = resp->recv;
	struct ibv_wc wc = {.status = r.status, .vendor_err = why, .opcode = IBV_WC_RECV};

	if (r.nak == ADV_NAK_REMOTE_ACCESS_ERROR)
		adv_qp_count(qp, &qp->engine->counters.resp_remote_access_errors);
	if (r.status == IBV_WC_LOC_LEN_ERR)
		adv_qp_count(qp, &qp->engine->counters.resp_local_length_error);
	adv_responder_ack_queue(qp, (uint8_t)(ADV_AETH_NAK | r.nak), resp->epsn);
	resp->dead = true;
	resp->recv = NULL;
	if (recv)
		adv_qp_complete_recv(qp, recv, &wc, false, now);
	if (recv)
		adv_qp_enter_error(qp, now);
	else
		adv_qp_fatal(qp, r.event, why, now);
}

/* Keeps the memory that the refused request names, for tools. */
static void note_memory(struct adv_qp *qp, const struct adv_incoming *in)
{
	const struct adv_headers *h = in->h;

	if (in->info->headers & ADV_HAS_RETH)
		adv_qp_note_memory(qp, h->reth.rkey, h->reth.va, h->reth.length);
	else if (in->info->headers & ADV_HAS_ATOMICETH)
		adv_qp_note_memory(qp, h->atomiceth.rkey, h->atomiceth.va, sizeof(uint64_t));
	else if (in->info->headers & ADV_HAS_IETH)
		adv_qp_note_memory(qp, h->ieth.rkey, 0, 0);
	else
		adv_qp_note_memory(qp, qp->resp.write_rkey, qp->resp.write_va,
				   qp->resp.write_length);
}

static void refuse_request(struct adv_qp *qp, const struct adv_incoming *in,
			   enum adv_vendor_err why, uint64_t now)
{
	const struct adv_refusal r = adv_refusal_of(why);

	refuse_with(qp, why, r, now);
	if (r.nak == ADV_NAK_REMOTE_ACCESS_ERROR)
		note_memory(qp, in);
}

/* If a fault is injected, refuses the message as with the injected status. Returns false if there
 * is no fault. */
static bool refuse_on_purpose(struct adv_qp *qp, const struct adv_incoming *in, uint64_t now)
{
	struct adv_refusal r = {ADV_NAK_REMOTE_OPERATIONAL_ERROR, IBV_EVENT_QP_FATAL,
				IBV_WC_SUCCESS};

	if (qp->engine->injector)
		r.status =
			adv_inject_recv(qp->engine, qp, ADV_INJECT_COMPLETION, in->h->bth.opcode);
	if (r.status == IBV_WC_SUCCESS)
		return false;
	if (r.status == IBV_WC_LOC_LEN_ERR || r.status == IBV_WC_REM_INV_REQ_ERR)
		r.nak = ADV_NAK_INVALID_REQUEST;
	else if (r.status == IBV_WC_LOC_ACCESS_ERR)
		r.nak = ADV_NAK_REMOTE_ACCESS_ERROR;
	refuse_with(qp, ADV_ERR_INJECTED, r, now);
	return true;
}

/* Returns the newest PSN that may be acknowledged. */
static uint32_t newest_done(const struct adv_qp *qp)
{
	return adv_psn_add(qp->engine->recovery->unfinished_psn(qp), ADV_PSN_MASK);
}

/* ---- RNR NAKs ---- */

/* Sends an RNR NAK when there is no receive request. The requester sends the message again later
 * (IBTA 9.7.5.2.8). */
static void send_rnr_nak(struct adv_qp *qp)
{
	struct adv_engine_counters *c = &qp->engine->counters;

	adv_qp_count(qp, &c->out_of_buffer);
	adv_qp_count(qp, &c->rnr_nak_sent);
	qp->engine->recovery->drop_unfinished(qp);
	adv_responder_ack_queue(qp, ADV_AETH_RNR_NAK | qp->attr.min_rnr_timer, qp->resp.epsn);
	qp->resp.nak_sent = ADV_RNR_NAK_SENT;
}

/* ---- lost packets ---- */

/* Handles a gap before the packet's PSN: sends one NAK, so that the requester goes back (IBTA
 * 9.7.5.2.3). */
static void rx_ahead(struct adv_qp *qp)
{
	struct adv_responder *resp = &qp->resp;

	if (resp->nak_sent != ADV_RNR_NAK_SENT)
		adv_qp_count(qp, &qp->engine->counters.out_of_sequence);
	qp->engine->recovery->drop_unfinished(qp);
	if (resp->nak_sent)
		return;
	adv_responder_ack_queue(qp, ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR, resp->epsn);
	resp->nak_sent = ADV_NAK_SENT;
}

/* Handles a packet whose payload could not be read: the packet is lost. The gap is known at once.
 */
static void rx_lost(struct adv_qp *qp, const struct adv_incoming *in)
{
	if (in->info->flags & ADV_PKT_START)
		qp->resp.message = ADV_MSG_NONE;
	rx_ahead(qp);
}

/* ---- messages ---- */

/* Ends a SEND after all of its data was placed. */
static void end_send(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	if (refuse_on_purpose(qp, in, now))
		return;
	if ((in->info->headers & ADV_HAS_IETH) && !adv_mw_invalidate(qp, in->h->ieth.rkey)) {
		refuse_request(qp, in, ADV_ERR_INVALIDATE, now);
		return;
	}
	adv_message_accept(qp, in, now);
	adv_message_complete(qp, in, IBV_WC_RECV, (uint32_t)qp->resp.offset, now);
}

static void rx_send(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	enum adv_vendor_err why;

	if (!adv_message_continues(qp, in, ADV_MSG_SEND)) {
		refuse_request(qp, in, ADV_ERR_REQUEST_SEQUENCE, now);
		return;
	}
	if (!adv_message_fits(qp, in)) {
		refuse_request(qp, in, ADV_ERR_REQUEST_LENGTH, now);
		return;
	}
	if (in->info->flags & ADV_PKT_START) {
		/* If the message begins again, recv is still set, see adv_recovery_go_back_0. */
		if (!resp->recv)
			resp->recv = adv_qp_take_recv(qp);
		if (!resp->recv) {
			send_rnr_nak(qp);
			return;
		}
		resp->offset = 0;
		resp->message = ADV_MSG_SEND;
	}
	why = adv_message_place_send(qp, in);
	if (why == ADV_ERR_LOST)
		rx_lost(qp, in);
	else if (why)
		refuse_request(qp, in, why, now);
	else if (in->info->flags & ADV_PKT_END)
		end_send(qp, now, in);
	else
		adv_message_accept(qp, in, now);
}

static void rx_write(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	bool imm = in->info->headers & ADV_HAS_IMMDT;
	enum adv_vendor_err why = ADV_ERR_NONE;

	if (!adv_message_continues(qp, in, ADV_MSG_WRITE))
		why = ADV_ERR_REQUEST_SEQUENCE;
	else if (!adv_message_fits(qp, in))
		why = ADV_ERR_REQUEST_LENGTH;
	else if (in->info->flags & ADV_PKT_START)
		why = adv_message_begin_write(qp, in);
	if (!why && imm && !resp->recv) {
		/* Takes the receive request before any byte is written, so that a retransmitted
		 * packet finds everything unchanged. */
		resp->recv = adv_qp_take_recv(qp);
		if (!resp->recv) {
			if (in->info->flags & ADV_PKT_START)
				resp->message = ADV_MSG_NONE;
			send_rnr_nak(qp);
			return;
		}
	}
	if (!why)
		why = adv_message_place_write(qp, in);
	if (why == ADV_ERR_LOST) {
		rx_lost(qp, in);
		return;
	}
	if (why) {
		refuse_request(qp, in, why, now);
		return;
	}
	if (imm && refuse_on_purpose(qp, in, now))
		return;
	adv_message_accept(qp, in, now);
	if (imm)
		adv_message_complete(qp, in, IBV_WC_RECV_RDMA_WITH_IMM, resp->write_length, now);
}

/* ---- READ, atomics, FLUSH: requests with a response other than an ACK ---- */

/*
 * Drops the oldest pending answer if it repeats an earlier answer. Returns false if it is a first
 * answer. Reason: requests are answered in order, and the peer has at most as many requests
 * outstanding as the responder remembers. If all of these are pending and one more request arrives,
 * the peer has received the answer to the oldest, and its duplicate request was late.
 */
static bool drop_repeated_answer(struct adv_responder *resp)
{
	for (uint32_t i = resp->res_next; i != resp->res_head; i++) {
		struct adv_responder_resource *res = &resp->res[i & (resp->res_room - 1)];

		if (!res->pending)
			continue;
		if (!res->answered)
			return false;
		res->pending = false;
		resp->res_pending--;
		return true;
	}
	return false;
}

/* Returns an entry for one more request. NULL: the peer has more requests outstanding than
 * max_dest_rd_atomic. */
static struct adv_responder_resource *new_resource(struct adv_qp *qp, const struct adv_incoming *in,
						   uint32_t psns)
{
	struct adv_responder *resp = &qp->resp;
	struct adv_responder_resource *res;

	res = &resp->res[resp->res_head & (resp->res_room - 1)];
	while (resp->res_pending >= resp->res_limit || res->pending)
		if (!drop_repeated_answer(resp))
			return NULL;
	memset(res, 0, sizeof(*res));
	res->first_psn = in->h->bth.psn;
	res->psn_count = psns;
	res->msn = (resp->msn + 1) & ADV_PSN_MASK;
	res->pd = qp->pd;
	res->pending = true;
	resp->res_pending++;
	resp->res_head++;
	if (resp->res_head - resp->res_next > resp->res_room)
		resp->res_next = resp->res_head - resp->res_room;
	return res;
}

static enum adv_vendor_err do_read(struct adv_qp *qp, const struct adv_incoming *in, uint32_t *psns)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_responder_resource *res;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ))
		return ADV_ERR_QP_ACCESS;
	if (in->h->reth.length > ADV_MAX_MSG)
		return ADV_ERR_REQUEST_TOO_LONG;
	if (!adv_mw_remote(qp, qp->pd, in->h->reth.rkey, in->h->reth.va, in->h->reth.length,
			   IBV_ACCESS_REMOTE_READ, &why))
		return adv_mr_remote_cause(why);
	*psns = adv_message_packets(in->h->reth.length, qp->mtu);
	res = new_resource(qp, in, *psns);
	if (!res)
		return ADV_ERR_TOO_MANY_RD_ATOMIC;
	res->va = in->h->reth.va;
	res->rkey = in->h->reth.rkey;
	res->length = in->h->reth.length;
	res->end = res->length;
	adv_qp_count(qp, &qp->engine->counters.rx_read_requests);
	return ADV_ERR_NONE;
}

static uint64_t execute_atomic(uint64_t *p, const struct adv_incoming *in)
{
	uint64_t old;

	if ((in->h->bth.opcode & ADV_OP_MASK) == ADV_OP_FETCH_ADD)
		return __atomic_fetch_add(p, in->h->atomiceth.swap_add, __ATOMIC_SEQ_CST);
	old = in->h->atomiceth.compare;
	__atomic_compare_exchange_n(p, &old, in->h->atomiceth.swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return old;
}

static enum adv_vendor_err do_atomic(struct adv_qp *qp, const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint64_t va = in->h->atomiceth.va;
	struct adv_responder_resource *res;
	uint8_t *p;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC))
		return ADV_ERR_QP_ACCESS;
	if (va & 7)
		return ADV_ERR_MISALIGNED;
	p = adv_mw_remote(qp, qp->pd, in->h->atomiceth.rkey, va, sizeof(uint64_t),
			  IBV_ACCESS_REMOTE_ATOMIC, &why);
	if (!p)
		return adv_mr_remote_cause(why);
	/* If the region has an odd iova, va is aligned but the address in this process is not. */
	if ((uintptr_t)p & 7)
		return ADV_ERR_MISALIGNED;
	res = new_resource(qp, in, 1);
	if (!res)
		return ADV_ERR_TOO_MANY_RD_ATOMIC;
	res->atomic = true;
	res->original = execute_atomic((uint64_t *)(void *)p, in);
	adv_qp_count(qp, &qp->engine->counters.rx_atomic_requests);
	return ADV_ERR_NONE;
}

static enum adv_vendor_err do_atomic_write(struct adv_qp *qp, const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint64_t value;
	uint8_t *p;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		return ADV_ERR_QP_ACCESS;
	if (in->payload_len != sizeof(value) || in->h->reth.length != sizeof(value))
		return ADV_ERR_REQUEST_LENGTH;
	if (in->h->reth.va & 7)
		return ADV_ERR_MISALIGNED;
	p = adv_mw_remote(qp, qp->pd, in->h->reth.rkey, in->h->reth.va, sizeof(value),
			  IBV_ACCESS_REMOTE_WRITE, &why);
	if (!p)
		return adv_mr_remote_cause(why);
	if ((uintptr_t)p & 7)
		return ADV_ERR_MISALIGNED;
	if (!new_resource(qp, in, 1))
		return ADV_ERR_TOO_MANY_RD_ATOMIC;
	memcpy(&value, in->payload, sizeof(value));
	__atomic_store_n((uint64_t *)(void *)p, value, __ATOMIC_SEQ_CST);
	return ADV_ERR_NONE;
}

/* Executes a FLUSH. Memory is coherent, so a fence makes the data globally visible. It makes the
 * data persistent only if both the caches and the memory survive a power failure. */
static enum adv_vendor_err do_flush(struct adv_qp *qp, const struct adv_incoming *in)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint32_t length = in->h->reth.length;
	int need = 0;

	if (in->h->feth.placement & FLUSH_GLOBAL)
		need |= ACCESS_FLUSH_GLOBAL;
	if (in->h->feth.placement & FLUSH_PERSISTENT)
		need |= ACCESS_FLUSH_PERSISTENT;
	if (need == 0 || in->h->feth.selectivity > FLUSH_WHOLE_REGION)
		return ADV_ERR_FLUSH_TYPE;
	if (in->h->feth.selectivity == FLUSH_WHOLE_REGION || length == 0)
		length = 1;
	if (!adv_mw_remote(qp, qp->pd, in->h->reth.rkey, in->h->reth.va, length, need, &why))
		return adv_mr_remote_cause(why);
	if (!new_resource(qp, in, 1))
		return ADV_ERR_TOO_MANY_RD_ATOMIC;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return ADV_ERR_NONE;
}

static void rx_answered(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	enum adv_vendor_err why;
	uint32_t psns = 1;

	if (qp->resp.message != ADV_MSG_NONE) {
		refuse_request(qp, in, ADV_ERR_REQUEST_SEQUENCE, now);
		return;
	}
	/* The packet counts as lost: the peer retransmits it. */
	if (!make_resources(&qp->resp)) {
		adv_qp_count(qp, &qp->engine->counters.out_of_memory);
		return;
	}
	switch (in->h->bth.opcode & ADV_OP_MASK) {
	case ADV_OP_READ_REQUEST:
		why = do_read(qp, in, &psns);
		break;
	case ADV_OP_COMPARE_SWAP:
	case ADV_OP_FETCH_ADD:
		why = do_atomic(qp, in);
		break;
	case ADV_OP_ATOMIC_WRITE:
		why = do_atomic_write(qp, in);
		break;
	case ADV_OP_FLUSH:
		why = do_flush(qp, in);
		break;
	default:
		why = ADV_ERR_REQUEST_SEQUENCE;
	}
	if (why) {
		refuse_request(qp, in, why, now);
		return;
	}
	qp->resp.msn = (qp->resp.msn + 1) & ADV_PSN_MASK;
	qp->resp.epsn = adv_psn_add(qp->resp.epsn, psns);
	adv_qp_schedule(qp);
}

/* ---- duplicates ---- */

/* True if a duplicate READ requests a part of the original READ: whole packets, or up to its end.
 * Any other duplicate is a forgery. */
static bool is_part_of_read(const struct adv_qp *qp, const struct adv_responder_resource *res,
			    uint64_t offset, const struct adv_headers *h)
{
	uint64_t rest = res->length - offset;

	return !res->atomic && h->reth.rkey == res->rkey && h->reth.va == res->va + offset &&
	       (h->reth.length == rest ||
		(h->reth.length && h->reth.length < rest && h->reth.length % qp->mtu == 0));
}

/* Repeats the response to a duplicate request, from the PSN of that request on (IBTA 9.7.5.1.4). */
static void repeat_answer(struct adv_qp *qp, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	uint32_t known = resp->res ? resp->res_room : 0;

	for (uint32_t i = resp->res_head; i != resp->res_head - known; i--) {
		struct adv_responder_resource *res = &resp->res[(i - 1) & (resp->res_room - 1)];
		uint32_t skip = (in->h->bth.psn - res->first_psn) & ADV_PSN_MASK;
		uint64_t offset = (uint64_t)skip * qp->mtu;

		if (skip >= res->psn_count)
			continue;
		if ((in->h->bth.opcode & ADV_OP_MASK) == ADV_OP_READ_REQUEST) {
			if (!is_part_of_read(qp, res, offset, in->h))
				return;
			/* A shorter duplicate request does not cut short the response that is being
			 * sent. */
			if (res->pending && offset + in->h->reth.length < res->end)
				return;
			res->end = (uint32_t)offset + in->h->reth.length;
		}
		res->start = res->offset = (uint32_t)offset;
		res->again = qp->engine->window;
		if (!res->pending)
			resp->res_pending++;
		res->pending = true;
		if ((int32_t)(i - 1 - resp->res_next) < 0)
			resp->res_next = i - 1;
		adv_qp_schedule(qp);
		return;
	}
}

static void rx_duplicate(struct adv_qp *qp, const struct adv_incoming *in)
{
	adv_qp_count(qp, &qp->engine->counters.duplicate_request);
	if (in->info->flags & (ADV_PKT_SEND | ADV_PKT_WRITE)) {
		if (in->h->bth.ackreq)
			adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS,
						newest_done(qp));
		return;
	}
	repeat_answer(qp, in);
}

/* Executes the request with the expected PSN. */
static void execute_request(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	uint16_t flags = in->info->flags;
	enum adv_vendor_err why = ADV_ERR_NONE;

	qp->resp.nak_sent = ADV_NO_NAK_SENT;
	if (in->info->headers & ADV_HAS_XRCETH)
		why = adv_xrc_select(qp, in->h->xrceth.xrcsrq);
	if (why)
		refuse_request(qp, in, why, now);
	else if (flags & ADV_PKT_SEND)
		rx_send(qp, now, in);
	else if (flags & ADV_PKT_WRITE)
		rx_write(qp, now, in);
	else
		rx_answered(qp, now, in);
}

/* Executes the kept requests whose turn has come, and acknowledges them. */
static void execute_kept(struct adv_qp *qp, uint64_t now)
{
	struct adv_kept_packet *k;
	bool any = false;

	while ((k = adv_selective_take(qp)) != NULL) {
		struct adv_incoming in = {.h = &k->h,
					  .info = &adv_opcode_table[k->h.bth.opcode],
					  .payload = k->payload,
					  .payload_len = k->payload_len};

		execute_request(qp, now, &in);
		free(k);
		any = true;
	}
	if (any && !qp->resp.dead && !qp->resp.res_pending)
		adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, newest_done(qp));
}

void adv_responder_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct adv_responder *resp = &qp->resp;
	int32_t ahead = adv_psn_diff(in->h->bth.psn, resp->epsn);
	uint32_t before;

	if (ahead < 0 && !qp->engine->recovery->begins_again(qp, in->h->bth.psn)) {
		/* A long packet whose first part was received: the requester goes back to the rest.
		 */
		if (ahead + (int32_t)in->more >= 0)
			rx_ahead(qp);
		else
			rx_duplicate(qp, in);
		return;
	}
	if (ahead > 0) {
		if (!qp->selective || !adv_selective_keep(qp, in))
			rx_ahead(qp);
		return;
	}
	before = resp->epsn;
	execute_request(qp, now, in);
	if (!qp->selective)
		return;
	if (resp->epsn != before)
		adv_selective_executed(qp, in);
	execute_kept(qp, now);
}
