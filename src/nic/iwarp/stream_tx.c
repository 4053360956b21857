/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending half of an RDMAP stream: requests, answers to READs, Terminate. */
#include "nic/iwarp/stream_internal.h"
#include "nic/memory/mr.h"
#include "nic/memory/mw.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"

/* ---- FPDUs ---- */

static struct adv_rdmap_framed *framed_at(struct adv_rdmap_stream *s, uint32_t index)
{
	return &s->framed[index & (ADV_RDMAP_FRAMED - 1)];
}

/* The room for the payload of an FPDU. */
static uint8_t *copies_of(struct adv_rdmap_stream *s, uint32_t index)
{
	return s->copies + (size_t)(index & (ADV_RDMAP_FRAMED - 1)) * ADV_RDMAP_COPIED;
}

static bool has_room(const struct adv_rdmap_stream *s)
{
	return s->framed_head - s->framed_tail < ADV_RDMAP_FRAMED;
}

/* Begins an FPDU with its header. Returns the length of the header. */
static size_t begin_fpdu(struct adv_rdmap_stream *s, enum adv_rdmap_origin origin,
			 struct adv_ddp_header *h, struct adv_rdmap_framed **framed)
{
	struct adv_rdmap_framed *f = framed_at(s, s->framed_head);

	h->ddp_version = ADV_DDP_VERSION;
	h->rdmap_version = ADV_RDMAP_VERSION;
	f->origin = origin;
	f->ends_request = false;
	f->damaged = false;
	f->length = 0;
	f->added.markers = f->markers;
	f->before = s->fpdu_tx;
	*framed = f;
	return adv_ddp_encode(h, f->built);
}

/* Copies payload, and returns the copy. The program, or a WRITE of another peer, may change the
 * memory at any time; a CRC must cover the bytes that are sent. */
static struct iovec copy_payload(uint8_t *to, const struct iovec *payload, unsigned count)
{
	struct iovec copy = {.iov_base = to};

	for (unsigned i = 0; i < count; i++) {
		memcpy(to + copy.iov_len, payload[i].iov_base, payload[i].iov_len);
		copy.iov_len += payload[i].iov_len;
	}
	return copy;
}

/* Ends an FPDU: built_len bytes of f->built[], then payload. */
static void end_fpdu(struct adv_rdmap_stream *s, struct adv_rdmap_framed *f, size_t built_len,
		     const struct iovec *payload, unsigned count)
{
	struct iovec segment[1 + ADV_MAX_SGE];

	segment[0] = (struct iovec){f->built, built_len};
	if (s->copies && count) {
		segment[1] = copy_payload(copies_of(s, s->framed_head), payload, count);
		count = 1;
	} else {
		for (unsigned i = 0; i < count; i++)
			segment[1 + i] = payload[i];
	}
	f->count = adv_fpdu_tx_frame(&s->fpdu_tx, segment, 1 + count, &f->added, f->pieces);
	assert(f->count <= ADV_RDMAP_PIECES);
	s->framed_head++;
}

/* ---- requests ---- */

/* The request at the cursor fails. It completes after those before it, with the status. */
static bool fail_at_cursor(struct adv_rdmap_stream *s, struct adv_send_wqe *wqe,
			   enum ibv_wc_status status, enum adv_vendor_err why, uint64_t now)
{
	wqe->failed = true;
	wqe->status = (uint8_t)status;
	wqe->vendor_err = (uint8_t)why;
	s->sending = ADV_RDMAP_SENDING_NOTHING;
	adv_rdmap_complete(s, now);
	return false;
}

static unsigned request_payload(struct adv_rdmap_stream *s, struct adv_send_wqe *wqe,
				uint32_t length, struct iovec *payload, enum adv_vendor_err *why)
{
	if (wqe->num_sge)
		return adv_payload_ranges(s->qp, wqe->sge, wqe->num_sge, s->offset, length,
					  ADV_ACCESS_LOCAL_READ, payload, why);
	payload[0] = (struct iovec){(uint8_t *)wqe->sge + s->offset, length};
	return 1;
}

static struct adv_ddp_header send_header(struct adv_rdmap_stream *s, const struct adv_send_wqe *wqe)
{
	bool solicited = wqe->send_flags & IBV_SEND_SOLICITED;
	bool invalidate = wqe->opcode == IBV_WR_SEND_WITH_INV;
	struct adv_ddp_header h = {.queue = ADV_DDP_QUEUE_SEND,
				   .msn = s->msn[ADV_DDP_QUEUE_SEND],
				   .mo = s->offset,
				   .invalidate_stag = invalidate ? wqe->imm : 0};

	if (invalidate)
		h.opcode = solicited ? ADV_RDMAP_SEND_SE_INVALIDATE : ADV_RDMAP_SEND_INVALIDATE;
	else
		h.opcode = solicited ? ADV_RDMAP_SEND_SE : ADV_RDMAP_SEND;
	return h;
}

/* Frames the next segment of a SEND or WRITE. */
static bool frame_data(struct adv_rdmap_stream *s, struct adv_send_wqe *wqe, uint64_t now)
{
	bool write = wqe->opcode == IBV_WR_RDMA_WRITE;
	struct adv_ddp_header h = {.tagged = true,
				   .opcode = ADV_RDMAP_WRITE,
				   .stag = wqe->rkey,
				   .to = wqe->remote_addr + s->offset};
	uint32_t rest = wqe->length - s->offset;
	uint32_t length = rest < s->config.segment ? rest : s->config.segment;
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct iovec payload[ADV_MAX_SGE];
	struct adv_rdmap_framed *f;
	unsigned count = 0;
	size_t built;

	if (length) {
		count = request_payload(s, wqe, length, payload, &why);
		if (!count)
			return fail_at_cursor(s, wqe, IBV_WC_LOC_PROT_ERR, why, now);
	}
	if (!write)
		h = send_header(s, wqe);
	h.last = length == rest;
	built = begin_fpdu(s, ADV_RDMAP_FROM_REQUEST, &h, &f);
	end_fpdu(s, f, built, payload, count);
	f->index = s->qp->sq.next;
	f->offset = s->offset;
	f->length = length;
	s->offset += length;
	s->sending = h.last ? ADV_RDMAP_SENDING_NOTHING : ADV_RDMAP_SENDING_REQUEST;
	if (h.last) {
		f->ends_request = true;
		s->msn[ADV_DDP_QUEUE_SEND] += !write;
		s->qp->sq.next++;
		s->offset = 0;
	}
	return true;
}

/* Frames a READ request. Its sink is not memory of the program: the STag is the number of the READ,
 * and the offset counts from 0. So the peer learns no key, and may answer only what was asked. */
static bool frame_read(struct adv_rdmap_stream *s, struct adv_send_wqe *wqe, uint64_t now)
{
	struct adv_rdmap_read_request read = {.sink_stag = s->reads_head,
					      .length = wqe->length,
					      .source_stag = wqe->rkey,
					      .source_to = wqe->remote_addr};
	struct adv_ddp_header h = {.last = true,
				   .opcode = ADV_RDMAP_READ_REQUEST,
				   .queue = ADV_DDP_QUEUE_READ_REQUEST,
				   .msn = s->msn[ADV_DDP_QUEUE_READ_REQUEST]};
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_rdmap_framed *f;
	size_t built;

	if (s->config.ord == 0)
		return fail_at_cursor(s, wqe, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_NO_RD_ATOMIC, now);
	if (s->reads_head - s->reads_tail >= s->config.ord)
		return false;
	if (!adv_payload_sges_good(s->qp, wqe->sge, wqe->num_sge, IBV_ACCESS_LOCAL_WRITE, &why))
		return fail_at_cursor(s, wqe, IBV_WC_LOC_PROT_ERR, why, now);
	built = begin_fpdu(s, ADV_RDMAP_FROM_READ, &h, &f);
	built += adv_rdmap_encode_read_request(&read, f->built + built);
	end_fpdu(s, f, built, NULL, 0);
	f->index = s->qp->sq.next;
	f->ends_request = true;
	s->read_index[s->reads_head & (s->read_room - 1)] = s->qp->sq.next;
	s->reads_head++;
	s->msn[ADV_DDP_QUEUE_READ_REQUEST]++;
	s->qp->sq.next++;
	return true;
}

/* Executes a local request after all requests before it. */
static bool execute_local(struct adv_rdmap_stream *s, struct adv_send_wqe *wqe, uint64_t now)
{
	enum adv_vendor_err why;

	if (s->qp->sq.tail != s->qp->sq.next)
		return false;
	why = adv_mw_execute(s->qp, wqe);
	if (why)
		return fail_at_cursor(s, wqe, IBV_WC_MW_BIND_ERR, why, now);
	s->sent_end = s->qp->sq.next + 1;
	adv_qp_complete_send(s->qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	return true;
}

/* Frames the next segment of the send queue. Returns false if there is none that may be sent. */
static bool frame_request(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_qp *qp = s->qp;
	struct adv_send_wqe *wqe;

	if (qp->sq.next == qp->sq.head || qp->state != IBV_QPS_RTS)
		return false;
	wqe = adv_send_wqe_at(qp, qp->sq.next);
	if (s->sending == ADV_RDMAP_SENDING_NOTHING) {
		if (wqe->failed) {
			adv_rdmap_complete(s, now);
			return false;
		}
		if ((wqe->send_flags & IBV_SEND_FENCE) && s->reads_head != s->reads_tail)
			return false;
		if (adv_send_wqe_is_local(wqe))
			return execute_local(s, wqe, now);
	}
	switch ((int)wqe->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
		return frame_data(s, wqe, now);
	case IBV_WR_RDMA_READ:
		return frame_read(s, wqe, now);
	default:
		return fail_at_cursor(s, wqe, IBV_WC_LOC_QP_OP_ERR, ADV_ERR_NOT_IWARP, now);
	}
}

/* ---- answers to READs ---- */

static bool frame_response(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_rdmap_response *r = &s->response[s->response_tail & (s->response_room - 1)];
	struct adv_ddp_header h = {.tagged = true, .opcode = ADV_RDMAP_READ_RESPONSE};
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_rdmap_framed *f;
	struct iovec payload;
	uint32_t rest;
	size_t built;

	/* A request that failed just now may have ended the stream. */
	if (s->response_head == s->response_tail || s->phase != ADV_RDMAP_OPEN)
		return false;
	rest = r->read.length - r->offset;
	payload.iov_len = rest < s->config.segment ? rest : s->config.segment;
	payload.iov_base =
		adv_mw_remote(s->qp, s->qp->pd, r->read.source_stag, r->read.source_to + r->offset,
			      payload.iov_len, IBV_ACCESS_REMOTE_READ, &why);
	if (!payload.iov_base) {
		adv_rdmap_refuse_memory(s, now, why);
		return false;
	}
	h.stag = r->read.sink_stag;
	h.to = r->read.sink_to + r->offset;
	h.last = payload.iov_len == rest;
	built = begin_fpdu(s, ADV_RDMAP_FROM_RESPONSE, &h, &f);
	end_fpdu(s, f, built, &payload, payload.iov_len != 0);
	f->index = s->response_tail;
	f->offset = r->offset;
	f->length = (uint32_t)payload.iov_len;
	r->offset += f->length;
	s->sending = h.last ? ADV_RDMAP_SENDING_NOTHING : ADV_RDMAP_SENDING_RESPONSE;
	s->response_tail += h.last;
	return true;
}

/* ---- the stream ---- */

static bool frame_terminate(struct adv_rdmap_stream *s)
{
	struct adv_ddp_header h = {.last = true,
				   .opcode = ADV_RDMAP_TERMINATE,
				   .queue = ADV_DDP_QUEUE_TERMINATE,
				   .msn = 1};
	struct adv_rdmap_framed *f;
	size_t built;

	s->terminate_due = false;
	built = begin_fpdu(s, ADV_RDMAP_FROM_ERROR, &h, &f);
	built += adv_rdmap_encode_terminate(&s->terminate, f->built + built);
	end_fpdu(s, f, built, NULL, 0);
	return true;
}

/* Frames the message that says only: ready to receive. */
static bool frame_first(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_ddp_header h = {.tagged = true, .last = true, .opcode = ADV_RDMAP_WRITE};
	struct adv_rdmap_framed *f;
	size_t built = begin_fpdu(s, ADV_RDMAP_FROM_START, &h, &f);

	end_fpdu(s, f, s->config.first == ADV_RDMAP_FIRST_WRITE ? built : 0, NULL, 0);
	adv_rdmap_first_framed(s, now);
	return true;
}

/* Frames one FPDU. Messages are not mixed; requests and answers to READs take turns. */
static bool frame_next(struct adv_rdmap_stream *s, uint64_t now)
{
	if (!has_room(s))
		return false;
	if (s->terminate_due)
		return frame_terminate(s);
	if (s->phase != ADV_RDMAP_OPEN)
		return false;
	if (s->first_awaited) {
		adv_rdmap_first_wait(s, now);
		return false;
	}
	if (s->sending == ADV_RDMAP_SENDING_REQUEST)
		return frame_request(s, now);
	if (s->sending == ADV_RDMAP_SENDING_RESPONSE)
		return frame_response(s, now);
	if (s->first_due)
		return frame_first(s, now);
	s->response_turn = !s->response_turn;
	if (s->response_turn)
		return frame_response(s, now) || frame_request(s, now);
	return frame_request(s, now) || frame_response(s, now);
}

/* True if the program still grants the memory of a framed FPDU. */
static bool memory_good(struct adv_rdmap_stream *s, const struct adv_rdmap_framed *f,
			enum adv_vendor_err *why)
{
	struct adv_send_wqe *wqe = adv_send_wqe_at(s->qp, f->index);
	const struct adv_rdmap_response *r = &s->response[f->index & (s->response_room - 1)];
	struct iovec payload[ADV_MAX_SGE];

	if (f->length == 0)
		return true;
	if (f->origin == ADV_RDMAP_FROM_RESPONSE)
		return adv_mw_remote(s->qp, s->qp->pd, r->read.source_stag,
				     r->read.source_to + f->offset, f->length,
				     IBV_ACCESS_REMOTE_READ, why);
	return !wqe->num_sge || adv_payload_ranges(s->qp, wqe->sge, wqe->num_sge, f->offset,
						   f->length, ADV_ACCESS_LOCAL_READ, payload, why);
}

/* Checks again the memory of FPDUs that wait, after a region has changed. If it is gone, the stream
 * ends: the FPDUs are framed, and may be sent in part. */
static void check_framed(struct adv_rdmap_stream *s, uint64_t now)
{
	enum adv_vendor_err why = ADV_ERR_NONE;

	if (s->generation == s->qp->engine->mr_generation)
		return;
	s->generation = s->qp->engine->mr_generation;
	for (uint32_t i = s->framed_tail; i != s->framed_head; i++) {
		if (memory_good(s, framed_at(s, i), &why))
			continue;
		adv_qp_fatal(s->qp, IBV_EVENT_QP_FATAL, why, now);
		adv_rdmap_fail(s);
		return;
	}
}

/* The program may have moved the queue pair out of the states in which it communicates. */
static bool still_open(struct adv_rdmap_stream *s)
{
	if (s->phase == ADV_RDMAP_OPEN && !adv_qp_can_receive(s->qp))
		adv_rdmap_finish(s);
	return s->phase == ADV_RDMAP_OPEN;
}

/* Returns what the connection has not taken of the framed FPDUs, as at most `most` pieces. */
static size_t gather_framed(struct adv_rdmap_stream *s, struct iovec *iov, size_t most)
{
	size_t skip = s->taken, count = 0;

	for (uint32_t i = s->framed_tail; i != s->framed_head; i++) {
		const struct adv_rdmap_framed *f = framed_at(s, i);

		for (size_t k = 0; k < f->count; k++) {
			struct iovec piece = f->pieces[k];
			size_t n = skip < piece.iov_len ? skip : piece.iov_len;

			skip -= n;
			if (n == piece.iov_len)
				continue;
			if (count == most)
				return count;
			iov[count++] =
				(struct iovec){(uint8_t *)piece.iov_base + n, piece.iov_len - n};
		}
	}
	return count;
}

size_t adv_rdmap_tx(struct adv_rdmap_stream *s, uint64_t now, struct iovec *iov, size_t most)
{
	size_t count;

	s->looked = false;
	if (still_open(s))
		check_framed(s, now);
	while (frame_next(s, now))
		;
	count = gather_framed(s, iov, most);
	s->offered = count > 0;
	return count;
}

static size_t length_of(const struct adv_rdmap_framed *f)
{
	size_t len = 0;

	for (size_t i = 0; i < f->count; i++)
		len += f->pieces[i].iov_len;
	return len;
}

void adv_rdmap_sent(struct adv_rdmap_stream *s, uint64_t now, size_t len)
{
	s->offered = false;
	s->taken += len;
	while (s->framed_tail != s->framed_head) {
		const struct adv_rdmap_framed *f = framed_at(s, s->framed_tail);
		size_t whole = length_of(f);

		if (s->taken < whole)
			break;
		s->taken -= whole;
		s->framed_tail++;
		s->qp->engine->counters.tx_packets++;
		if (f->ends_request)
			s->sent_end = f->index + 1;
	}
	if (s->phase == ADV_RDMAP_OPEN)
		adv_rdmap_complete(s, now);
	if (s->phase == ADV_RDMAP_ENDING && s->framed_tail == s->framed_head && !s->terminate_due)
		s->phase = ADV_RDMAP_ENDED;
}

size_t adv_rdmap_tx_begin(const struct adv_rdmap_stream *s, size_t from)
{
	size_t begin = 0;

	for (uint32_t i = s->framed_tail; i != s->framed_head && begin < from + s->taken; i++)
		begin += length_of(&s->framed[i & (ADV_RDMAP_FRAMED - 1)]);
	return begin - s->taken;
}

void adv_rdmap_tx_damage(struct adv_rdmap_stream *s)
{
	struct adv_rdmap_framed *f = framed_at(s, s->framed_tail);
	const struct iovec *last;

	if (s->framed_tail == s->framed_head || f->damaged)
		return;
	last = &f->pieces[f->count - 1];
	f->damaged = true;
	((uint8_t *)last->iov_base)[last->iov_len - 1] ^= 1; /* the CRC, in f->added */
}
