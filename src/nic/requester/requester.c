/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending half of the requester of RC, XRC and UC (IBTA 9.7.2, 9.7.3, 9.8, A14.4): makes
 * request packets from the send queue. A cursor (sq.next, offset, next_psn) moves over the
 * requests. For RC and XRC, acknowledgements move una_psn after the cursor, and a loss sets the
 * cursor back (retransmit.c).
 *
 * The requester requests a READ in chunks. The chunks begin at fixed offsets. So the responses in
 * flight never exceed the window, and a retransmitted request never contains parts of two requests
 * that the responder remembers.
 */
#include <stdlib.h>

#include "nic/requester/flight.h"
#include "nic/responder/message.h"
#include "nic/memory/mw.h"
#include "nic/engine/outgoing.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"
#include "nic/requester/requester.h"
#include "nic/requester/retransmit.h"
#include "nic/requester/selective.h"
#include "nic/queue/sqd.h"
#include "nic/queue/unreliable.h"
#include "nic/requester/window.h"

void adv_requester_start(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	req->next_psn = req->una_psn = req->max_psn = qp->attr.sq_psn;
	if (!qp->reliable)
		return;
	req->rd_limit = qp->attr.max_rd_atomic;
	req->rd_room = 1;
	while (req->rd_room < req->rd_limit)
		req->rd_room *= 2;
	req->rd_head = req->rd_tail = 0;
	/* Two chunks fill the window, so that requests and responses overlap. */
	req->read_chunk = qp->engine->window;
	if (req->rd_limit > 1 && req->read_chunk > 1)
		req->read_chunk /= 2;
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->backoff = 1;
	adv_window_start(qp);
	adv_selective_requester_start(qp);
}

int adv_requester_reserve(struct adv_qp *qp)
{
	struct adv_requester *req = &qp->req;

	/* The QP has never been in RTS. It is in ERR, so nothing will be in flight. */
	if (!req->rd_room)
		return 0;
	if (!req->rd_end)
		req->rd_end = calloc(req->rd_room, sizeof(*req->rd_end));
	return req->rd_end ? 0 : ENOMEM;
}

/* Fails the request at the cursor, which cannot be sent, as soon as all requests before it are
 * done. */
static void fail_at_cursor(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			   uint64_t now)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);

	wqe->failed = true;
	wqe->status = (uint8_t)status;
	wqe->vendor_err = (uint8_t)why;
	if (qp->sq.tail == qp->sq.next)
		adv_qp_fail_send(qp, status, why, now);
	else
		adv_retransmit_for_ack(qp);
}

/* ---- packets ---- */

static void advance_cursor(struct adv_qp *qp, uint32_t psns, bool request_done)
{
	struct adv_requester *req = &qp->req;
	uint32_t next = adv_psn_add(req->next_psn, psns);

	if (qp->reliable)
		adv_flight_set(qp, req->una_psn, next);
	else
		req->next_psn = req->una_psn = next;
	if (adv_psn_diff(next, req->max_psn) > 0)
		req->max_psn = next;
	if (request_done) {
		qp->sq.next++;
		req->offset = 0;
	}
}

static uint8_t data_opcode(const struct adv_send_wqe *wqe, bool first, bool last)
{
	bool imm = wqe->opcode == IBV_WR_SEND_WITH_IMM || wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool inv = wqe->opcode == IBV_WR_SEND_WITH_INV;
	bool send = wqe->opcode == IBV_WR_SEND || wqe->opcode == IBV_WR_SEND_WITH_IMM || inv;
	uint8_t op;

	if (first && last)
		op = send ? ADV_OP_SEND_ONLY : ADV_OP_WRITE_ONLY;
	else if (first)
		return send ? ADV_OP_SEND_FIRST : ADV_OP_WRITE_FIRST;
	else if (!last)
		return send ? ADV_OP_SEND_MIDDLE : ADV_OP_WRITE_MIDDLE;
	else
		op = send ? ADV_OP_SEND_LAST : ADV_OP_WRITE_LAST;
	if (inv)
		return first ? ADV_OP_SEND_ONLY_WITH_INV : ADV_OP_SEND_LAST_WITH_INV;
	return imm ? op + 1 : op;
}

/* Fills in the BTH, and for XRC the SRQ number, which each request carries. */
static void fill_headers(const struct adv_qp *qp, struct adv_headers *h,
			 const struct adv_send_wqe *wqe, uint8_t op)
{
	memset(&h->bth, 0, sizeof(h->bth));
	h->bth.opcode = (uint8_t)(qp->service | op);
	h->bth.pkey = qp->pkey;
	h->bth.dest_qpn = qp->attr.dest_qp_num;
	h->bth.psn = qp->req.next_psn;
	h->xrceth.xrcsrq = wqe->remote_qpn;
}

/* Adds one packet of a SEND or WRITE. Returns false if the region was deregistered. */
static bool emit_data(struct adv_qp *qp, struct adv_tx_batch *batch, const struct adv_send_wqe *wqe,
		      uint64_t now)
{
	uint32_t left = wqe->length - qp->req.offset;
	uint32_t n = adv_long_payload(qp, wqe, left);
	uint32_t packets = adv_message_packets(n, qp->mtu);
	bool last = n == left;
	unsigned iov_used = batch->iov_used;
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_tx_packet *pkt;
	struct adv_headers h;

	fill_headers(qp, &h, wqe, data_opcode(wqe, qp->req.offset == 0, last));
	h.bth.pad = -n & 3;
	h.bth.solicited = last && (wqe->send_flags & IBV_SEND_SOLICITED);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = wqe->length;
	h.immdt = wqe->imm;
	h.ieth.rkey = wqe->imm;
	h.bth.ackreq = adv_requester_wants_ack(qp, packets, last) || adv_selective_is_behind(qp);
	pkt = adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	if (!adv_payload_gather(qp, wqe, qp->req.offset, n, batch, pkt, &why)) {
		batch->count--;
		batch->iov_used = iov_used;
		fail_at_cursor(qp, IBV_WC_LOC_PROT_ERR, why, now);
		return false;
	}
	pkt->more = packets - 1;
	if (packets > 1) {
		qp->engine->counters.tx_packets += packets - 1;
		qp->req.long_sent = true;
		qp->req.long_end = adv_psn_add(qp->req.next_psn, packets);
	}
	if (qp->reliable)
		qp->req.since_ackreq = h.bth.ackreq ? 0 : qp->req.since_ackreq + packets;
	qp->req.offset += n;
	advance_cursor(qp, packets, last);
	return true;
}

static void note_response_awaited(struct adv_qp *qp, uint32_t psns)
{
	struct adv_requester *req = &qp->req;

	req->rd_end[req->rd_head++ & (req->rd_room - 1)] = adv_psn_add(req->next_psn, psns);
	req->since_ackreq = 0;
}

static void emit_read(struct adv_qp *qp, struct adv_tx_batch *batch, const struct adv_send_wqe *wqe,
		      uint32_t length)
{
	uint32_t psns = adv_message_packets(length, qp->mtu);
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_READ_REQUEST);
	h.reth.va = wqe->remote_addr + qp->req.offset;
	h.reth.rkey = wqe->rkey;
	h.reth.length = length;
	adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	note_response_awaited(qp, psns);
	qp->req.offset += length;
	advance_cursor(qp, psns, qp->req.offset == wqe->length);
}

static void emit_flush(struct adv_qp *qp, struct adv_tx_batch *batch,
		       const struct adv_send_wqe *wqe)
{
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_FLUSH);
	h.feth.placement = (uint8_t)wqe->swap;
	h.feth.selectivity = (uint8_t)(wqe->swap >> 32);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = (uint32_t)wqe->compare_add;
	adv_outgoing_add(qp->engine, &qp->path, batch, &h);
}

static void emit_atomic_write(struct adv_qp *qp, struct adv_tx_batch *batch,
			      struct adv_send_wqe *wqe)
{
	struct adv_tx_packet *pkt;
	struct adv_headers h;

	fill_headers(qp, &h, wqe, ADV_OP_ATOMIC_WRITE);
	h.reth.va = wqe->remote_addr;
	h.reth.rkey = wqe->rkey;
	h.reth.length = sizeof(uint64_t);
	pkt = adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	batch->iov[batch->iov_used].iov_base = &wqe->compare_add;
	batch->iov[batch->iov_used++].iov_len = sizeof(uint64_t);
	pkt->iov_count = 1;
	pkt->payload_len = sizeof(uint64_t);
}

static void emit_atomic(struct adv_qp *qp, struct adv_tx_batch *batch, struct adv_send_wqe *wqe)
{
	bool cas = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct adv_headers h;

	if (wqe->opcode == ADV_WR_FLUSH) {
		emit_flush(qp, batch, wqe);
	} else if (wqe->opcode == ADV_WR_ATOMIC_WRITE) {
		emit_atomic_write(qp, batch, wqe);
	} else {
		fill_headers(qp, &h, wqe, cas ? ADV_OP_COMPARE_SWAP : ADV_OP_FETCH_ADD);
		h.atomiceth.va = wqe->remote_addr;
		h.atomiceth.rkey = wqe->rkey;
		h.atomiceth.swap_add = cas ? wqe->swap : wqe->compare_add;
		h.atomiceth.compare = cas ? wqe->compare_add : 0;
		adv_outgoing_add(qp->engine, &qp->path, batch, &h);
	}
	note_response_awaited(qp, 1);
	advance_cursor(qp, 1, true);
}

/* ---- the loop ---- */

/* Returns the length of the next READ request, bytes: up to the end of the cursor's chunk. After a
 * timeout it is one packet, because a slow responder may still be sending the rest. */
static uint32_t read_length(const struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	uint64_t chunk = (uint64_t)qp->req.read_chunk * qp->mtu;
	uint64_t end = (qp->req.offset / chunk + 1) * chunk;
	uint32_t rest = (uint32_t)((end < wqe->length ? end : wqe->length) - qp->req.offset);

	return qp->req.unanswered && rest > qp->mtu ? qp->mtu : rest;
}

/* Executes a local request. The request completes after all requests before it. Returns false if it
 * failed. */
static bool start_local(struct adv_qp *qp, struct adv_send_wqe *wqe, uint64_t now)
{
	enum adv_vendor_err why = adv_mw_execute(qp, wqe);

	if (why) {
		fail_at_cursor(qp, IBV_WC_MW_BIND_ERR, why, now);
		return false;
	}
	wqe->psn_count = 0;
	wqe->first_psn = qp->req.next_psn;
	wqe->started = true;
	return true;
}

/* True for a request of one packet: adv_payload_gather() then checks all of its memory before it is
 * sent. */
static bool is_checked_when_sent(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				 bool response)
{
	return !response && wqe->length <= qp->mtu;
}

/* Checks a request once, before its first packet. Returns false if it cannot start now or has
 * failed. */
static bool start_request(struct adv_qp *qp, struct adv_send_wqe *wqe, uint64_t now)
{
	bool response = adv_send_wqe_wants_response(wqe);
	enum adv_vendor_err why = ADV_ERR_NONE;

	if (qp->state == IBV_QPS_SQD)
		return false;
	if (wqe->failed) {
		fail_at_cursor(qp, wqe->status, wqe->vendor_err, now);
		return false;
	}
	/* IBTA 10.8.3.3: a fenced request waits for the responses to READs and atomics before
	 * it. */
	if ((wqe->send_flags & IBV_SEND_FENCE) && qp->req.rd_head != qp->req.rd_tail)
		return false;
	if (adv_send_wqe_is_local(wqe))
		return start_local(qp, wqe, now);
	if (response && qp->req.rd_limit == 0) {
		fail_at_cursor(qp, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_NO_RD_ATOMIC, now);
		return false;
	}
	if (!is_checked_when_sent(qp, wqe, response) &&
	    !adv_payload_sges_good(qp, wqe->sge, wqe->num_sge,
				   response ? IBV_ACCESS_LOCAL_WRITE : ADV_ACCESS_LOCAL_READ,
				   &why)) {
		fail_at_cursor(qp, IBV_WC_LOC_PROT_ERR, why, now);
		return false;
	}
	wqe->psn_count = 1;
	if (!response || wqe->opcode == IBV_WR_RDMA_READ)
		wqe->psn_count = adv_message_packets(wqe->length, qp->mtu);
	wqe->first_psn = qp->req.next_psn;
	wqe->started = true;
	return true;
}

static bool emit_responded(struct adv_qp *qp, struct adv_tx_batch *batch, struct adv_send_wqe *wqe)
{
	uint32_t length;

	if (qp->req.rd_head - qp->req.rd_tail >= qp->req.rd_limit)
		return false;
	if (wqe->opcode != IBV_WR_RDMA_READ) {
		if (!adv_flight_has_room(qp, 1))
			return false;
		emit_atomic(qp, batch, wqe);
		return true;
	}
	length = read_length(qp, wqe);
	/* After a timeout the QP has requested one packet, and waits for the response here. Then
	 * one request asks for the rest of the chunk. */
	if ((qp->req.unanswered && adv_flight_psns(qp)) ||
	    !adv_flight_has_room(qp, adv_message_packets(length, qp->mtu)))
		return false;
	emit_read(qp, batch, wqe, length);
	return true;
}

/* Moves the cursor past a local request, for the first time or after a loss has set the cursor
 * back. */
static void pass_local(struct adv_qp *qp, uint64_t now)
{
	bool oldest = qp->sq.tail == qp->sq.next;

	advance_cursor(qp, 0, true);
	if (oldest) {
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
		adv_sqd_check(qp);
	}
}

/* Adds one packet of the request at the cursor. Returns false if nothing more can be sent now. */
static bool emit_next(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);

	if (!wqe->started && !start_request(qp, wqe, now))
		return false;
	if (wqe->failed) {
		fail_at_cursor(qp, wqe->status, wqe->vendor_err, now);
		return false;
	}
	if (wqe->psn_count == 0) {
		pass_local(qp, now);
		return true;
	}
	if (qp->type == IBV_QPT_UC) {
		uint32_t request = qp->sq.next;

		if (!adv_unreliable_may_send(qp, &qp->path, qp->attr.dest_qp_num, batch, now) ||
		    !emit_data(qp, batch, wqe, now))
			return false;
		adv_unreliable_sent(qp, &qp->path, qp->attr.dest_qp_num, batch, now);
		if (qp->sq.next != request) {
			adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
			adv_sqd_check(qp);
		}
		return true;
	}
	if (adv_send_wqe_wants_response(wqe))
		return emit_responded(qp, batch, wqe);
	return adv_flight_has_room(qp, 1) && emit_data(qp, batch, wqe, now);
}

/* Moves the cursor over packets that the responder keeps. Returns false if none is left to send. */
static bool skip_kept(struct adv_qp *qp)
{
	uint32_t psn = adv_selective_next(qp);

	if (psn != qp->req.next_psn)
		adv_retransmit_from(qp, psn);
	return qp->sq.next != qp->sq.head;
}

bool adv_qp_is_ahead(const struct adv_qp *qp, const struct adv_qp *to)
{
	bool unsent = qp->sq.next != qp->sq.head && qp->req.next_psn == qp->req.max_psn;

	return qp->state == IBV_QPS_RTS && (unsent || to->resp.epsn != qp->req.max_psn);
}

void adv_requester_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget)
{
	bool sent = false, behind;
	unsigned from;

	while (qp->sq.next != qp->sq.head && !qp->req.rnr_wait &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)) {
		if (budget == 0 || !adv_outgoing_has_room(batch)) {
			adv_qp_schedule(qp);
			break;
		}
		from = batch->count;
		if (adv_selective_is_behind(qp) && !skip_kept(qp))
			break;
		behind = adv_selective_is_behind(qp);
		if (!emit_next(qp, now, batch))
			break;
		if (behind)
			adv_selective_sent(qp);
		sent = true;
		budget--;
		if (batch->count > from)
			budget -= adv_long_charge(&batch->packet[from], budget);
	}
	if (sent && qp->reliable && qp->req.retransmit_timer.when == ADV_NEVER)
		adv_retransmit_arm(qp, now);
}
