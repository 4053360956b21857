/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures of iWARP connections: the bytes that a connection takes and delivers, as records of the
 * taps' rings. A record has at most one FPDU of the sender's; of the receiver's, it has what one
 * call has delivered. adverb capture makes TCP segments of them.
 */
#include "runtime/device/streams_internal.h"

#include "base/clock.h"
#include "nic/iwarp/fpdu.h"
#include "runtime/link/ring.h"

/* Copies the pieces of [from, from + len) to out[]. Returns their number; 0: there are too many. */
static unsigned slice_pieces(const struct iovec *iov, size_t from, size_t len, struct iovec *out)
{
	unsigned count = 0;

	for (; len; iov++) {
		size_t skip = from < iov->iov_len ? from : iov->iov_len;
		size_t n = iov->iov_len - skip < len ? iov->iov_len - skip : len;

		from -= skip;
		if (!n)
			continue;
		if (count == ADV_TAP_IOV)
			return 0;
		out[count++] = (struct iovec){(uint8_t *)iov->iov_base + skip, n};
		len -= n;
	}
	return count;
}

static uint32_t flags_of(const struct adv_rdmap_config *c)
{
	bool responder = c->first == ADV_RDMAP_FIRST_OF_PEER || c->first == ADV_RDMAP_FIRST_HOPED;

	return (responder ? 0 : ADV_TAP_INITIATOR) | (c->crc ? ADV_TAP_CRC : 0) |
	       (c->rx_markers ? ADV_TAP_MARKERS_TAKEN : 0) |
	       (c->tx_markers ? ADV_TAP_MARKERS_SENT : 0);
}

/* Records `len` bytes from `from` on. The caller sets at, other and both begins of *head. */
static void record_bytes(struct device_stream *s, bool out, struct adv_tap_stream *head,
			 const struct iovec *iov, size_t from, size_t len, uint64_t when)
{
	const struct adv_rdmap_config *agreed = adv_rdmap_agreement(s->rdmap);
	const struct device_stream_ends *ends = adv_device_stream_ends(s);
	struct iovec pieces[ADV_TAP_IOV];
	struct adv_tap_packet p = {
		.header = (const uint8_t *)head, .iov = pieces, .unsure = len >= ADV_RING_AWAY_MIN};

	p.iov_count = slice_pieces(iov, from, len, pieces);
	head->qpn = adv_qp_num(s->qp);
	head->number = s->number;
	head->sport = out ? ends->local_port : ends->peer_port;
	head->dport = out ? ends->peer_port : ends->local_port;
	head->ird = (uint16_t)agreed->ird;
	head->ord = (uint16_t)agreed->ord;
	head->flags = flags_of(agreed);
	p.record = (struct adv_tap_record){
		.payload_len = (uint32_t)len,
		.time = when,
		.sgid = out ? ends->local : ends->peer,
		.dgid = out ? ends->peer : ends->local,
		.header_len = sizeof(*head),
		.flags = (uint8_t)(ADV_TAP_STREAM | (out ? ADV_TAP_OUT : 0)),
	};
	if (!p.iov_count)
		p.record.flags |= ADV_TAP_UNREAD;
	for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++)
		adv_tap_record(&s->streams->device->tap[i], &p);
}

void adv_device_stream_record_tx(struct device_stream *s, const struct iovec *iov, size_t len,
				 uint64_t when)
{
	for (size_t from = 0, n; from < len; from += n) {
		size_t begin = adv_rdmap_tx_begin(s->rdmap, from);
		size_t end = begin > from ? begin : adv_rdmap_tx_begin(s->rdmap, from + 1);
		struct adv_tap_stream head = {.at = s->sent + from,
					      .other = s->received,
					      .begin = (uint32_t)(begin - from),
					      .other_begin = adv_rdmap_rx_begin(s->rdmap)};

		n = (end < len ? end : len) - from;
		if (n > ADV_TAP_SEGMENT_MAX)
			n = ADV_TAP_SEGMENT_MAX;
		record_bytes(s, true, &head, iov, from, n, when);
	}
}

void adv_device_stream_record_rx(struct device_stream *s, const struct iovec *iov, size_t len)
{
	uint32_t begin = adv_rdmap_rx_begin(s->rdmap);
	uint64_t when = adv_clock_day_ns();

	for (size_t from = 0, n; from < len; from += n) {
		struct adv_tap_stream head = {
			.at = s->received + from,
			.other = s->sent,
			.begin = begin != ADV_FPDU_REST_UNKNOWN && begin >= from
					 ? begin - (uint32_t)from
					 : ADV_TAP_BEGIN_UNKNOWN,
			.other_begin = (uint32_t)adv_rdmap_tx_begin(s->rdmap, 0)};

		n = len - from < ADV_TAP_SEGMENT_MAX ? len - from : ADV_TAP_SEGMENT_MAX;
		record_bytes(s, false, &head, iov, from, n, when);
	}
}
