/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of an RDMAP stream. Each segment is checked when its header is complete,
 * before any byte of its payload is placed. */
#include "nic/iwarp/stream_internal.h"
#include "nic/memory/mr.h"
#include "nic/memory/mw.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"

/* Error codes of Terminate (RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 5044 section 8). */
static const struct adv_rdmap_reason
	bad_crc = {ADV_TERMINATE_LLP, ADV_TERMINATE_LOCAL_CATASTROPHIC, 2},
	bad_framing = {ADV_TERMINATE_LLP, ADV_TERMINATE_LOCAL_CATASTROPHIC, 3},
	bad_tagged_stag = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_TAGGED, 0},
	bad_tagged_bounds = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_TAGGED, 1},
	bad_tagged_version = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_TAGGED, 4},
	bad_queue = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 1},
	no_buffer = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 2},
	bad_msn = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 3},
	bad_mo = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 4},
	too_long = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 5},
	bad_untagged_version = {ADV_TERMINATE_DDP, ADV_TERMINATE_DDP_UNTAGGED, 6},
	no_access = {ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_PROTECTION, 2},
	cannot_invalidate = {ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_PROTECTION, 9},
	bad_rdmap_version = {ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_OPERATION, 5},
	bad_opcode = {ADV_TERMINATE_RDMAP, ADV_TERMINATE_RDMAP_OPERATION, 6};

/* ---- the header of a segment ---- */

/* Checks the place of an untagged segment: its queue, message and offset. Returns false after it
 * has refused the segment. */
static bool in_order(struct adv_rdmap_stream *s, enum adv_ddp_queue queue, uint64_t now)
{
	const struct adv_rdmap_untagged *q = &s->queue[queue];

	if (s->header.queue != queue)
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_queue);
	else if (s->header.msn != q->msn)
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_msn);
	else if (s->header.mo != q->mo)
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_mo);
	else
		return true;
	return false;
}

static void begin_send(struct adv_rdmap_stream *s, uint32_t length, uint64_t now)
{
	struct adv_qp *qp = s->qp;

	if (!in_order(s, ADV_DDP_QUEUE_SEND, now))
		return;
	/* Segments without payload may precede: they are at offset 0, too. */
	if (!qp->resp.recv)
		qp->resp.recv = adv_qp_take_recv(qp);
	if (!qp->resp.recv) {
		adv_qp_count(qp, &qp->engine->counters.out_of_buffer);
		adv_rdmap_refuse(s, now, ADV_ERR_NO_RECEIVE, no_buffer);
	} else if ((uint64_t)s->header.mo + length > qp->resp.recv->length) {
		adv_rdmap_refuse(s, now, ADV_ERR_RECV_TOO_SMALL, too_long);
	}
}

static void begin_write(struct adv_rdmap_stream *s, uint32_t length, uint64_t now)
{
	enum adv_vendor_err why = ADV_ERR_NONE;

	if (!(s->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) && length)
		adv_rdmap_refuse(s, now, ADV_ERR_QP_ACCESS, no_access);
	else if (!adv_mw_remote(s->qp, s->qp->pd, s->header.stag, s->header.to, length,
				IBV_ACCESS_REMOTE_WRITE, &why))
		adv_rdmap_refuse_memory(s, now, why);
}

/* Checks that a response answers the oldest READ, whose request the connection has taken, from
 * where the last segment ended. If it answers no READ at all, no request fails. */
static void begin_response(struct adv_rdmap_stream *s, uint32_t length, uint64_t now)
{
	uint32_t index = s->read_index[s->reads_tail & (s->read_room - 1)];
	struct adv_rdmap_reason reason = bad_tagged_bounds;
	enum adv_vendor_err why = ADV_ERR_RESPONSE_LENGTH;
	uint64_t end = (uint64_t)s->read_received + length;

	if (s->reads_tail == s->reads_head || (int32_t)(s->sent_end - index) <= 0) {
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_tagged_stag);
		return;
	}
	if (s->header.stag != s->reads_tail) {
		reason = bad_tagged_stag;
		why = ADV_ERR_BAD_RESPONSE;
	} else if (s->header.to != s->read_received) {
		why = ADV_ERR_BAD_RESPONSE;
	} else if (end <= adv_rdmap_oldest_read(s)->length &&
		   (!s->header.last || end == adv_rdmap_oldest_read(s)->length)) {
		return;
	}
	adv_rdmap_prepare_terminate(s, reason);
	adv_qp_fail_send(s->qp, IBV_WC_BAD_RESP_ERR, why, now);
}

/* READ requests and Terminate are messages of one segment, which is collected. */
static void begin_collected(struct adv_rdmap_stream *s, enum adv_ddp_queue queue, uint32_t length,
			    uint64_t now)
{
	if (!in_order(s, queue, now))
		return;
	if (length > sizeof(s->collected) || !s->header.last ||
	    (queue == ADV_DDP_QUEUE_READ_REQUEST && length != ADV_RDMAP_READ_REQUEST_LEN))
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_LENGTH, too_long);
}

static bool is_tagged(uint8_t opcode)
{
	return opcode == ADV_RDMAP_WRITE || opcode == ADV_RDMAP_READ_RESPONSE;
}

static void begin_segment(struct adv_rdmap_stream *s, uint64_t now)
{
	uint32_t length = s->fpdu_rx.payload_left;
	size_t header_len =
		adv_ddp_decode(s->fpdu_rx.header, sizeof(s->fpdu_rx.header), &s->header);

	s->in_segment = true;
	s->segment_len = (uint32_t)header_len + length;
	s->placed = 0;
	if (s->header.ddp_version != ADV_DDP_VERSION)
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE,
				 s->header.tagged ? bad_tagged_version : bad_untagged_version);
	else if (s->header.rdmap_version != ADV_RDMAP_VERSION)
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_rdmap_version);
	else if (s->header.opcode > ADV_RDMAP_TERMINATE ||
		 s->header.tagged != is_tagged(s->header.opcode))
		adv_rdmap_refuse(s, now, ADV_ERR_REQUEST_SEQUENCE, bad_opcode);
	else if (s->header.opcode == ADV_RDMAP_WRITE)
		begin_write(s, length, now);
	else if (s->header.opcode == ADV_RDMAP_READ_RESPONSE)
		begin_response(s, length, now);
	else if (s->header.opcode == ADV_RDMAP_READ_REQUEST)
		begin_collected(s, ADV_DDP_QUEUE_READ_REQUEST, length, now);
	else if (s->header.opcode == ADV_RDMAP_TERMINATE)
		begin_collected(s, ADV_DDP_QUEUE_TERMINATE, length, now);
	else
		begin_send(s, length, now);
}

/* ---- payload ---- */

static bool is_collected(uint8_t opcode)
{
	return opcode == ADV_RDMAP_READ_REQUEST || opcode == ADV_RDMAP_TERMINATE;
}

/* The oldest READ's own memory is gone: the READ fails. */
static void fail_read(struct adv_rdmap_stream *s, enum adv_vendor_err why, uint64_t now)
{
	adv_qp_fail_send(s->qp, IBV_WC_LOC_PROT_ERR, why, now);
	adv_rdmap_fail(s);
}

static void place_payload(struct adv_rdmap_stream *s, const uint8_t *p, uint32_t len, uint64_t now)
{
	const struct adv_recv_wqe *recv = s->qp->resp.recv;
	enum adv_vendor_err why = ADV_ERR_NONE;
	uint8_t *to;

	if (is_collected(s->header.opcode)) {
		memcpy(s->collected + s->placed, p, len);
	} else if (s->header.opcode == ADV_RDMAP_WRITE) {
		to = adv_mw_remote(s->qp, s->qp->pd, s->header.stag, s->header.to + s->placed, len,
				   IBV_ACCESS_REMOTE_WRITE, &why);
		if (to)
			adv_payload_store(to, p, len);
		else
			adv_rdmap_refuse_memory(s, now, why);
	} else if (s->header.opcode == ADV_RDMAP_READ_RESPONSE) {
		const struct adv_send_wqe *wqe = adv_rdmap_oldest_read(s);

		if (!adv_payload_scatter(s->qp, wqe->sge, wqe->num_sge,
					 s->read_received + s->placed, p, len, &why))
			fail_read(s, why, now);
	} else if (!adv_payload_scatter(s->qp, recv->sge, recv->num_sge, s->header.mo + s->placed,
					p, len, &why)) {
		adv_rdmap_refuse(s, now, why, no_buffer);
	}
	s->placed += len;
}

unsigned adv_rdmap_rx_room(struct adv_rdmap_stream *s, struct iovec *iov)
{
	const struct adv_recv_wqe *recv = s->qp->resp.recv;
	uint32_t room = adv_fpdu_rx_room(&s->fpdu_rx);
	enum adv_vendor_err why;

	if (s->phase != ADV_RDMAP_OPEN || !adv_qp_can_receive(s->qp) || !s->in_segment ||
	    room == 0 || is_collected(s->header.opcode))
		return 0;
	if (s->header.opcode == ADV_RDMAP_WRITE) {
		/* The program may change this memory as soon as it sees the bytes, before their
		 * CRC is computed. */
		if (s->config.crc)
			return 0;
		iov->iov_len = room;
		iov->iov_base =
			adv_mw_remote(s->qp, s->qp->pd, s->header.stag, s->header.to + s->placed,
				      room, IBV_ACCESS_REMOTE_WRITE, &why);
		return iov->iov_base != NULL;
	}
	if (s->header.opcode == ADV_RDMAP_READ_RESPONSE) {
		const struct adv_send_wqe *wqe = adv_rdmap_oldest_read(s);

		return adv_payload_ranges(s->qp, wqe->sge, wqe->num_sge,
					  s->read_received + s->placed, room,
					  IBV_ACCESS_LOCAL_WRITE, iov, &why);
	}
	return adv_payload_ranges(s->qp, recv->sge, recv->num_sge, s->header.mo + s->placed, room,
				  IBV_ACCESS_LOCAL_WRITE, iov, &why);
}

void adv_rdmap_rx_placed(struct adv_rdmap_stream *s, const struct iovec *iov, size_t len)
{
	s->placed += (uint32_t)len;
	for (; len; iov++) {
		size_t n = len < iov->iov_len ? len : iov->iov_len;

		adv_fpdu_rx_placed(&s->fpdu_rx, iov->iov_base, (uint32_t)n);
		len -= n;
	}
}

/* ---- the end of a segment ---- */

static void end_send(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_rdmap_untagged *q = &s->queue[ADV_DDP_QUEUE_SEND];
	struct adv_qp *qp = s->qp;
	struct adv_recv_wqe *recv = qp->resp.recv;
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV};
	uint8_t opcode = s->header.opcode;

	q->mo += s->placed;
	if (!s->header.last)
		return;
	if (opcode == ADV_RDMAP_SEND_INVALIDATE || opcode == ADV_RDMAP_SEND_SE_INVALIDATE) {
		if (!adv_mw_invalidate(qp, s->header.invalidate_stag)) {
			adv_rdmap_refuse(s, now, ADV_ERR_INVALIDATE, cannot_invalidate);
			return;
		}
		wc.wc_flags = IBV_WC_WITH_INV;
		wc.invalidated_rkey = s->header.invalidate_stag;
	}
	wc.byte_len = q->mo;
	q->msn++;
	q->mo = 0;
	qp->resp.recv = NULL;
	adv_qp_complete_recv(qp, recv, &wc,
			     opcode == ADV_RDMAP_SEND_SE || opcode == ADV_RDMAP_SEND_SE_INVALIDATE,
			     now);
}

static void end_response(struct adv_rdmap_stream *s, uint64_t now)
{
	s->read_received += s->placed;
	if (!s->header.last)
		return;
	/* What was posted before the READ was sent before it, and has completed. */
	assert(s->qp->sq.tail == s->read_index[s->reads_tail & (s->read_room - 1)]);
	s->reads_tail++;
	s->read_received = 0;
	adv_qp_complete_send(s->qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	adv_rdmap_complete(s, now);
}

static void end_read_request(struct adv_rdmap_stream *s, uint64_t now)
{
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_rdmap_read_request r;
	struct adv_qp *qp = s->qp;

	adv_rdmap_decode_read_request(s->collected, s->placed, &r);
	s->queue[ADV_DDP_QUEUE_READ_REQUEST].msn++;
	adv_qp_count(qp, &qp->engine->counters.rx_read_requests);
	if (s->response_head - s->response_tail >= s->config.ird) {
		adv_rdmap_refuse(s, now, ADV_ERR_TOO_MANY_RD_ATOMIC, no_buffer);
	} else if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) && r.length) {
		adv_rdmap_refuse(s, now, ADV_ERR_QP_ACCESS, no_access);
	} else if (!adv_mw_remote(qp, qp->pd, r.source_stag, r.source_to, r.length,
				  IBV_ACCESS_REMOTE_READ, &why)) {
		adv_rdmap_refuse_memory(s, now, why);
	} else {
		s->response[s->response_head & (s->response_room - 1)] =
			(struct adv_rdmap_response){.read = r};
		s->response_head++;
	}
}

static void end_segment(struct adv_rdmap_stream *s, uint64_t now)
{
	struct adv_rdmap_terminate t;

	switch (s->header.opcode) {
	case ADV_RDMAP_WRITE:
		if (s->header.last)
			s->qp->engine->counters.rx_write_requests++;
		break;
	case ADV_RDMAP_READ_RESPONSE:
		end_response(s, now);
		break;
	case ADV_RDMAP_READ_REQUEST:
		end_read_request(s, now);
		break;
	case ADV_RDMAP_TERMINATE:
		if (!adv_rdmap_decode_terminate(s->collected, s->placed, &t))
			t = (struct adv_rdmap_terminate){.code = 0};
		adv_rdmap_terminated(s, now, &t);
		break;
	default:
		end_send(s, now);
	}
	s->in_segment = false;
}

void adv_rdmap_rx(struct adv_rdmap_stream *s, uint64_t now, const uint8_t *p, size_t len)
{
	while (s->phase == ADV_RDMAP_OPEN && adv_qp_can_receive(s->qp)) {
		size_t used;
		enum adv_fpdu_event event = adv_fpdu_rx_take(&s->fpdu_rx, p, len, &used);

		p += used;
		len -= used;
		switch (event) {
		case ADV_FPDU_MORE:
			return;
		case ADV_FPDU_HEADER:
			begin_segment(s, now);
			break;
		case ADV_FPDU_PAYLOAD:
			place_payload(s, s->fpdu_rx.payload, (uint32_t)s->fpdu_rx.payload_len, now);
			break;
		case ADV_FPDU_END:
			s->qp->engine->counters.rx_packets++;
			adv_rdmap_first_heard(s);
			if (s->in_segment) /* else it only said: ready to receive */
				end_segment(s, now);
			break;
		case ADV_FPDU_BAD_CRC:
		case ADV_FPDU_BAD_LENGTH:
		case ADV_FPDU_BAD_MARKER:
			s->qp->engine->counters.rx_malformed++;
			adv_rdmap_refuse(s, now, ADV_ERR_STREAM,
					 event == ADV_FPDU_BAD_CRC ? bad_crc : bad_framing);
			break;
		}
	}
}

uint32_t adv_rdmap_rx_begin(const struct adv_rdmap_stream *s)
{
	return adv_fpdu_rx_rest(&s->fpdu_rx);
}

void adv_rdmap_rx_damage(struct adv_rdmap_stream *s)
{
	adv_fpdu_rx_damage(&s->fpdu_rx);
}
