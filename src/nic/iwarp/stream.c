/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMAP streams: beginning, completions of sent requests, and the ways to end. */
#include <stdlib.h>

#include "nic/iwarp/stream_internal.h"
#include "nic/memory/mr.h"
#include "nic/queue/qp_complete.h"
#include "nic/responder/refusal.h"

#define FIRST_MSN 1

static uint32_t ring_room(uint32_t least)
{
	uint32_t room = 1;

	while (room < least)
		room *= 2;
	return room;
}

/* Returns the longest payload of a segment: the ULPDU's length has 16 bits, an FPDU has room for a
 * few markers only, and payload under a CRC is copied. */
static uint32_t longest_segment(const struct adv_rdmap_config *c)
{
	uint32_t most = ADV_FPDU_ULPDU_MAX - ADV_DDP_HEADER_MAX;

	if (c->tx_markers)
		most = (ADV_RDMAP_TX_MARKERS - 1) *
			       (ADV_FPDU_MARKER_SPACING - ADV_FPDU_MARKER_LEN) -
		       ADV_FPDU_LENGTH_LEN - ADV_DDP_HEADER_MAX - ADV_FPDU_TRAILER_MAX;
	if (c->crc && most > ADV_RDMAP_COPIED)
		most = ADV_RDMAP_COPIED;
	return c->segment && c->segment < most ? c->segment : most;
}

static void free_memory(struct adv_rdmap_stream *s)
{
	free(s->read_index);
	free(s->response);
	free(s->copies);
	free(s);
}

struct adv_rdmap_stream *adv_rdmap_stream_create(struct adv_qp *qp,
						 const struct adv_rdmap_config *config)
{
	struct adv_rdmap_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->qp = qp;
	s->config = *config;
	s->config.segment = longest_segment(config);
	s->read_room = ring_room(config->ord);
	/* An answer keeps its place while its FPDUs are framed. */
	s->response_room = ring_room(config->ird + ADV_RDMAP_FRAMED);
	s->read_index = calloc(s->read_room, sizeof(*s->read_index));
	s->response = calloc(s->response_room, sizeof(*s->response));
	if (config->crc)
		s->copies = malloc((size_t)ADV_RDMAP_FRAMED * ADV_RDMAP_COPIED);
	if (!s->read_index || !s->response || (config->crc && !s->copies) ||
	    adv_rdmap_first_start(s)) {
		free_memory(s);
		return NULL;
	}
	adv_fpdu_rx_init(&s->fpdu_rx, config->crc, config->rx_markers);
	adv_fpdu_tx_init(&s->fpdu_tx, config->crc, config->tx_markers);
	for (unsigned i = 0; i < 3; i++) {
		s->msn[i] = FIRST_MSN;
		s->queue[i].msn = FIRST_MSN;
	}
	s->sent_end = qp->sq.tail;
	s->generation = qp->engine->mr_generation;
	return s;
}

void adv_rdmap_stream_destroy(struct adv_rdmap_stream *s)
{
	adv_rdmap_first_stop(s);
	free_memory(s);
}

enum adv_rdmap_phase adv_rdmap_phase(const struct adv_rdmap_stream *s)
{
	return s->phase;
}

void adv_rdmap_set_owner(struct adv_rdmap_stream *s, void *owner)
{
	s->owner = owner;
}

bool adv_rdmap_offered(const struct adv_rdmap_stream *s)
{
	return s->offered;
}

void *adv_rdmap_owner(const struct adv_rdmap_stream *s)
{
	return s->owner;
}

const struct adv_rdmap_config *adv_rdmap_agreement(const struct adv_rdmap_stream *s)
{
	return &s->config;
}

void adv_rdmap_complete(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_qp *qp = s->qp;

	while (qp->sq.tail != qp->sq.head && adv_qp_can_receive(qp)) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);

		if (wqe->failed && qp->sq.tail == qp->sq.next) {
			adv_qp_fail_send(qp, wqe->status, wqe->vendor_err, now);
			adv_rdmap_fail(s);
			return;
		}
		if ((int32_t)(s->sent_end - qp->sq.tail) <= 0 || wqe->opcode == IBV_WR_RDMA_READ)
			return;
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	}
}

/* ---- the end ---- */

/* Takes back the framed FPDUs: their requests are flushed, so their memory belongs to the program
 * again. Returns false if the connection has taken a part of one. */
static bool take_back(struct adv_rdmap_stream *s)
{
	if (s->framed_tail != s->framed_head)
		s->fpdu_tx = s->framed[s->framed_tail & (ADV_RDMAP_FRAMED - 1)].before;
	s->framed_tail = s->framed_head;
	if (s->taken == 0)
		return true;
	s->taken = 0;
	return false;
}

static void begin_end(struct adv_rdmap_stream *s, const struct adv_rdmap_terminate *t)
{
	bool whole = take_back(s);

	s->offered = false;
	s->phase = whole && t ? ADV_RDMAP_ENDING : ADV_RDMAP_ENDED;
	s->terminate_due = whole && t;
	if (t)
		s->terminate = *t;
}

void adv_rdmap_fail(struct adv_rdmap_stream *s)
{
	const struct adv_rdmap_terminate t = {.layer = ADV_TERMINATE_RDMAP,
					      .type = ADV_TERMINATE_LOCAL_CATASTROPHIC};

	begin_end(s, &t);
}

void adv_rdmap_finish(struct adv_rdmap_stream *s)
{
	begin_end(s, NULL);
}

/* Moves the queue pair to ERR, as the responder of RoCE does. */
static void end_qp(struct adv_rdmap_stream *s, enum adv_vendor_err why, uint64_t now)
{
	struct adv_refusal r = adv_refusal_of(why);
	struct adv_recv_wqe *recv = s->qp->resp.recv;
	struct ibv_wc wc = {.status = r.status, .vendor_err = why, .opcode = IBV_WC_RECV};
	struct adv_engine_counters *counters = &s->qp->engine->counters;

	if (r.nak == ADV_NAK_REMOTE_ACCESS_ERROR)
		adv_qp_count(s->qp, &counters->resp_remote_access_errors);
	if (r.status == IBV_WC_LOC_LEN_ERR)
		adv_qp_count(s->qp, &counters->resp_local_length_error);
	s->qp->resp.recv = NULL;
	if (recv) {
		adv_qp_complete_recv(s->qp, recv, &wc, false, now);
		adv_qp_enter_error(s->qp, now);
	} else {
		adv_qp_fatal(s->qp, r.event, why, now);
	}
}

void adv_rdmap_prepare_terminate(struct adv_rdmap_stream *s, struct adv_rdmap_reason reason)
{
	struct adv_rdmap_terminate t = {
		.layer = (uint8_t)reason.layer, .type = (uint8_t)reason.type, .code = reason.code};

	if (s->in_segment && reason.layer != ADV_TERMINATE_LLP) {
		t.has_ddp = t.has_ddp_length = true;
		t.ddp_length = (uint16_t)s->segment_len;
		t.ddp = s->header;
		t.has_rdmap = s->header.opcode == ADV_RDMAP_READ_REQUEST &&
			      adv_rdmap_decode_read_request(s->collected, s->placed, &t.read);
	}
	begin_end(s, &t);
}

void adv_rdmap_refuse(struct adv_rdmap_stream *s, uint64_t now, enum adv_vendor_err why,
		      struct adv_rdmap_reason reason)
{
	adv_rdmap_prepare_terminate(s, reason);
	end_qp(s, why, now);
}

/* Keeps the memory that the refused segment names, for tools. */
static void note_memory(struct adv_rdmap_stream *s)
{
	struct adv_rdmap_read_request r;

	if (s->in_segment && s->header.tagged)
		adv_qp_note_memory(s->qp, s->header.stag, s->header.to,
				   s->segment_len - ADV_DDP_TAGGED_LEN);
	else if (s->in_segment && s->header.opcode == ADV_RDMAP_READ_REQUEST &&
		 adv_rdmap_decode_read_request(s->collected, s->placed, &r))
		adv_qp_note_memory(s->qp, r.source_stag, r.source_to, r.length);
}

void adv_rdmap_refuse_memory(struct adv_rdmap_stream *s, uint64_t now, enum adv_vendor_err local)
{
	bool tagged = s->in_segment && s->header.tagged;
	enum adv_vendor_err why = adv_mr_remote_cause(local);
	struct adv_rdmap_reason r = {ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_PROTECTION, 0};

	if (why == ADV_ERR_REMOTE_ACCESS) {
		r.code = 2;
	} else if (tagged) {
		r.layer = ADV_TERMINATE_DDP;
		r.type = ADV_TERMINATE_DDP_TAGGED;
		r.code = why == ADV_ERR_RKEY ? 0 : why == ADV_ERR_RKEY_PD ? 2 : 1;
	} else {
		r.code = why == ADV_ERR_RKEY ? 0 : why == ADV_ERR_RKEY_PD ? 3 : 1;
	}
	adv_rdmap_refuse(s, now, why, r);
	note_memory(s);
}

void adv_rdmap_terminated(struct adv_rdmap_stream *s, uint64_t now,
			  const struct adv_rdmap_terminate *t)
{
	enum ibv_wc_status status = IBV_WC_REM_OP_ERR;
	enum adv_vendor_err why = ADV_ERR_NAK_OPERATION;

	if (t->layer != ADV_TERMINATE_LLP && t->type == 1) { /* protection, tagged buffer */
		status = IBV_WC_REM_ACCESS_ERR;
		why = ADV_ERR_NAK_ACCESS;
		adv_qp_count(s->qp, &s->qp->engine->counters.req_remote_access_errors);
	} else if (t->layer != ADV_TERMINATE_LLP && t->type == 2) { /* operation, untagged buffer */
		status = IBV_WC_REM_INV_REQ_ERR;
		why = ADV_ERR_NAK_INVALID_REQUEST;
		adv_qp_count(s->qp, &s->qp->engine->counters.req_remote_invalid_request);
	}
	begin_end(s, NULL);
	if (s->qp->sq.tail != s->qp->sq.next)
		adv_qp_fail_send(s->qp, status, why, now);
	else
		adv_qp_fatal(s->qp, IBV_EVENT_QP_FATAL, ADV_ERR_TERMINATED, now);
}

void adv_rdmap_ended(struct adv_rdmap_stream *s, uint64_t now)
{
	if (s->phase == ADV_RDMAP_OPEN && adv_qp_can_receive(s->qp))
		adv_qp_enter_error(s->qp, now);
	begin_end(s, NULL);
}
