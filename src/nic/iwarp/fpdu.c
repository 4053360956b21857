/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "nic/iwarp/crc32c.h"
#include "nic/iwarp/fpdu.h"
#include "base/bytes.h"

enum part {
	PART_LENGTH,
	PART_HEADER,
	PART_PAYLOAD,
	PART_TRAILER,
};

/* Bytes of padding and CRC behind a segment of len bytes: length, segment and padding together are
 * a multiple of 4. */
static uint8_t trailer_len(size_t len)
{
	return (uint8_t)(-(ADV_FPDU_LENGTH_LEN + len) % 4 + ADV_FPDU_CRC_LEN);
}

/* ---- receiver ---- */

static void begin_fpdu(struct adv_fpdu_rx *rx)
{
	rx->part = PART_LENGTH;
	rx->have = 0;
	rx->need = ADV_FPDU_LENGTH_LEN;
	rx->since_start = 0;
	rx->sum = ADV_CRC32C_START;
	rx->payload_left = 0;
}

void adv_fpdu_rx_init(struct adv_fpdu_rx *rx, bool crc, bool markers)
{
	memset(rx, 0, sizeof(*rx));
	rx->crc = crc;
	rx->markers = markers;
	begin_fpdu(rx);
}

/* Counts bytes of the stream that are no marker. The CRC does not cover itself. */
static void count_bytes(struct adv_fpdu_rx *rx, const void *p, size_t len, size_t summed)
{
	if (rx->crc && summed)
		rx->sum = adv_crc32c(rx->sum, p, summed);
	rx->since_start += (uint32_t)len;
	if (rx->markers)
		rx->to_marker -= (uint16_t)len;
}

/* Receives a marker. Returns the number of bytes used; *bad tells that the marker is wrong. */
static size_t take_marker(struct adv_fpdu_rx *rx, const uint8_t *p, size_t len, bool *bad)
{
	size_t n = ADV_FPDU_MARKER_LEN - rx->marker_have;

	if (n > len)
		n = len;
	memcpy(rx->marker + rx->marker_have, p, n);
	rx->marker_have += (uint8_t)n;
	if (rx->marker_have == ADV_FPDU_MARKER_LEN) {
		*bad = adv_get_be16(rx->marker + 2) != rx->since_start;
		if (rx->crc)
			rx->sum = adv_crc32c(rx->sum, rx->marker, ADV_FPDU_MARKER_LEN);
		/* A marker in front of an FPDU does not move the beginning that others point to. */
		if (rx->since_start)
			rx->since_start += ADV_FPDU_MARKER_LEN;
		rx->marker_have = 0;
		rx->to_marker = ADV_FPDU_MARKER_SPACING - ADV_FPDU_MARKER_LEN;
	}
	return n;
}

/* Receives bytes of a part that is collected: length, header or trailer. */
static size_t take_part(struct adv_fpdu_rx *rx, uint8_t *to, const uint8_t *p, size_t len)
{
	size_t n = rx->need - rx->have, summed;

	if (n > len)
		n = len;
	if (rx->markers && n > rx->to_marker)
		n = rx->to_marker;
	summed = n;
	if (rx->part == PART_TRAILER) {
		size_t padding = rx->need - ADV_FPDU_CRC_LEN;

		summed = rx->have < padding ? padding - rx->have : 0;
		if (summed > n)
			summed = n;
	}
	memcpy(to + rx->have, p, n);
	rx->have += (uint8_t)n;
	count_bytes(rx, p, n, summed);
	return n;
}

static void next_part(struct adv_fpdu_rx *rx, enum part part, size_t need)
{
	rx->part = part;
	rx->have = 0;
	rx->need = (uint8_t)need;
}

/* The header's length is known after its first byte. */
static enum adv_fpdu_event header_taken(struct adv_fpdu_rx *rx)
{
	size_t len = adv_ddp_header_len(rx->header[0]);

	if (rx->ulpdu_len < len)
		return ADV_FPDU_BAD_LENGTH;
	if (rx->have < len) {
		rx->need = (uint8_t)len;
		return ADV_FPDU_MORE;
	}
	rx->payload_left = rx->ulpdu_len - (uint32_t)len;
	next_part(rx, PART_PAYLOAD, 0);
	return ADV_FPDU_HEADER;
}

static enum adv_fpdu_event trailer_taken(struct adv_fpdu_rx *rx)
{
	uint8_t sum[ADV_FPDU_CRC_LEN];

	if (rx->crc) {
		adv_crc32c_put(rx->sum, sum);
		if (rx->damaged ||
		    memcmp(sum, rx->piece + rx->need - ADV_FPDU_CRC_LEN, sizeof(sum)) != 0)
			return ADV_FPDU_BAD_CRC;
	}
	begin_fpdu(rx);
	return ADV_FPDU_END;
}

static enum adv_fpdu_event part_taken(struct adv_fpdu_rx *rx)
{
	switch ((enum part)rx->part) {
	case PART_LENGTH:
		rx->ulpdu_len = adv_get_be16(rx->piece);
		if (rx->ulpdu_len)
			next_part(rx, PART_HEADER, 1);
		else
			next_part(rx, PART_TRAILER, trailer_len(0));
		return ADV_FPDU_MORE;
	case PART_HEADER:
		return header_taken(rx);
	case PART_PAYLOAD:
		next_part(rx, PART_TRAILER, trailer_len(rx->ulpdu_len));
		return ADV_FPDU_MORE;
	case PART_TRAILER:
		break;
	}
	return trailer_taken(rx);
}

uint32_t adv_fpdu_rx_room(const struct adv_fpdu_rx *rx)
{
	if (rx->part != PART_PAYLOAD)
		return 0;
	return rx->markers && rx->payload_left > rx->to_marker ? rx->to_marker : rx->payload_left;
}

void adv_fpdu_rx_placed(struct adv_fpdu_rx *rx, const void *p, uint32_t len)
{
	count_bytes(rx, p, len, len);
	rx->payload_left -= len;
}

/* Returns true if a part is complete, so that part_taken() can be called without further bytes. */
static bool is_complete(const struct adv_fpdu_rx *rx)
{
	return rx->part == PART_PAYLOAD ? rx->payload_left == 0 : rx->have == rx->need;
}

enum adv_fpdu_event adv_fpdu_rx_take(struct adv_fpdu_rx *rx, const uint8_t *p, size_t len,
				     size_t *used)
{
	enum adv_fpdu_event event;
	const uint8_t *start = p, *end = p + len;
	bool bad = false;

	for (;;) {
		size_t left = (size_t)(end - p);

		*used = (size_t)(p - start);
		if (is_complete(rx)) {
			event = part_taken(rx);
			if (event != ADV_FPDU_MORE)
				return event;
		} else if (left == 0) {
			return ADV_FPDU_MORE;
		} else if (rx->markers && rx->to_marker == 0) {
			p += take_marker(rx, p, left, &bad);
			if (bad)
				return ADV_FPDU_BAD_MARKER;
		} else if (rx->part == PART_PAYLOAD) {
			uint32_t n = adv_fpdu_rx_room(rx);

			rx->payload = p;
			rx->payload_len = left < n ? left : n;
			*used += rx->payload_len;
			adv_fpdu_rx_placed(rx, p, (uint32_t)rx->payload_len);
			return ADV_FPDU_PAYLOAD;
		} else {
			p += take_part(rx, rx->part == PART_HEADER ? rx->header : rx->piece, p,
				       left);
		}
	}
}

bool adv_fpdu_rx_idle(const struct adv_fpdu_rx *rx)
{
	return rx->part == PART_LENGTH && rx->have == 0 && rx->marker_have == 0;
}

uint32_t adv_fpdu_rx_rest(const struct adv_fpdu_rx *rx)
{
	if (adv_fpdu_rx_idle(rx))
		return 0;
	if (rx->markers || rx->part == PART_LENGTH)
		return ADV_FPDU_REST_UNKNOWN;
	return ADV_FPDU_LENGTH_LEN + rx->ulpdu_len + trailer_len(rx->ulpdu_len) - rx->since_start;
}

void adv_fpdu_rx_damage(struct adv_fpdu_rx *rx)
{
	rx->damaged = true;
}

/* ---- sender ---- */

void adv_fpdu_tx_init(struct adv_fpdu_tx *tx, bool crc, bool markers)
{
	*tx = (struct adv_fpdu_tx){.crc = crc, .markers = markers};
}

size_t adv_fpdu_markers(const struct adv_fpdu_tx *tx, size_t len)
{
	size_t fpdu = ADV_FPDU_LENGTH_LEN + len + ADV_FPDU_TRAILER_MAX;

	return tx->markers ? fpdu / (ADV_FPDU_MARKER_SPACING - ADV_FPDU_MARKER_LEN) + 1 : 0;
}

/* The FPDU that is being framed. */
struct frame {
	struct adv_fpdu_tx *tx;
	struct adv_fpdu_added *added;
	struct iovec *out;
	size_t count;
	size_t markers;
	size_t since_start;
	uint32_t sum;
};

static void add_piece(struct frame *f, const void *p, size_t len)
{
	struct iovec *last = f->count ? &f->out[f->count - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == p)
		last->iov_len += len;
	else
		f->out[f->count++] = (struct iovec){.iov_base = (void *)p, .iov_len = len};
	if (f->tx->crc)
		f->sum = adv_crc32c(f->sum, p, len);
}

static void add_marker(struct frame *f)
{
	uint8_t *marker = f->added->markers[f->markers++];

	adv_put_be16(marker, 0);
	adv_put_be16(marker + 2, (uint16_t)f->since_start);
	add_piece(f, marker, ADV_FPDU_MARKER_LEN);
	if (f->since_start)
		f->since_start += ADV_FPDU_MARKER_LEN;
	f->tx->to_marker = ADV_FPDU_MARKER_SPACING - ADV_FPDU_MARKER_LEN;
}

static void add_marker_if_due(struct frame *f)
{
	if (f->tx->markers && f->tx->to_marker == 0)
		add_marker(f);
}

/* Adds bytes with the markers that fall in front of and among them. */
static void add_with_markers(struct frame *f, const uint8_t *p, size_t len)
{
	while (len) {
		size_t n = len;

		add_marker_if_due(f);
		if (f->tx->markers) {
			if (n > f->tx->to_marker)
				n = f->tx->to_marker;
			f->tx->to_marker -= (uint16_t)n;
		}
		add_piece(f, p, n);
		f->since_start += n;
		p += n;
		len -= n;
	}
}

size_t adv_fpdu_tx_frame(struct adv_fpdu_tx *tx, const struct iovec *pieces, size_t count,
			 struct adv_fpdu_added *added, struct iovec *out)
{
	struct frame f = {.tx = tx, .added = added, .out = out, .sum = ADV_CRC32C_START};
	size_t len = 0, padding, i;

	for (i = 0; i < count; i++)
		len += pieces[i].iov_len;
	adv_put_be16(added->length, (uint16_t)len);
	add_with_markers(&f, added->length, ADV_FPDU_LENGTH_LEN);
	for (i = 0; i < count; i++)
		add_with_markers(&f, pieces[i].iov_base, pieces[i].iov_len);
	padding = trailer_len(len) - ADV_FPDU_CRC_LEN;
	memset(added->trailer, 0, sizeof(added->trailer));
	add_with_markers(&f, added->trailer, padding);
	/* A marker in front of the CRC is covered by it. */
	add_marker_if_due(&f);
	if (tx->crc)
		adv_crc32c_put(f.sum, added->trailer + padding);
	add_with_markers(&f, added->trailer + padding, ADV_FPDU_CRC_LEN);
	return f.count;
}
