/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FPDUs from a sender to a receiver, with the stream cut in every way. */
#include "../wire/test_util.h"
#include "nic/iwarp/crc32c.h"
#include "nic/iwarp/fpdu.h"

#define STREAM_MAX  (1 << 20)
#define SEGMENT_MAX 3000

/* A stream, and the segments that it carries one behind the other. */
struct stream {
	uint8_t bytes[STREAM_MAX];
	size_t len;
	uint8_t segments[STREAM_MAX];
	size_t segments_len;
	struct adv_fpdu_tx tx;
};

static struct stream *stream_new(bool crc, bool markers)
{
	struct stream *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	adv_fpdu_tx_init(&s->tx, crc, markers);
	return s;
}

/* Sends a segment in three pieces. */
static void send_segment(struct stream *s, const uint8_t *p, size_t len)
{
	size_t header = len ? adv_ddp_header_len(p[0]) : 0, half = (len - header) / 2;
	struct iovec pieces[] = {{(void *)p, header},
				 {(void *)(p + header), half},
				 {(void *)(p + header + half), len - header - half}};
	uint8_t markers[SEGMENT_MAX / 508 + 2][ADV_FPDU_MARKER_LEN];
	struct adv_fpdu_added added = {.markers = markers};
	struct iovec out[3 + 2 + 2 * (SEGMENT_MAX / 508 + 2)];
	size_t n, i;

	assert_in_range(adv_fpdu_markers(&s->tx, len), 0, SEGMENT_MAX / 508 + 2);
	n = adv_fpdu_tx_frame(&s->tx, pieces, 3, &added, out);
	assert_in_range(n, 1, 3 + 2 + 2 * adv_fpdu_markers(&s->tx, len));
	for (i = 0; i < n; i++) {
		assert_in_range(s->len + out[i].iov_len, 1, STREAM_MAX);
		memcpy(s->bytes + s->len, out[i].iov_base, out[i].iov_len);
		s->len += out[i].iov_len;
	}
	if (len)
		memcpy(s->segments + s->segments_len, p, len);
	s->segments_len += len;
}

static void send_random(struct stream *s, struct adv_rng *rng, size_t len)
{
	uint8_t p[SEGMENT_MAX];

	fill_random(rng, p, len);
	if (len && len < ADV_DDP_UNTAGGED_LEN)
		p[0] |= ADV_DDP_TAGGED_BIT;
	send_segment(s, p, len);
}

static struct stream *stream_of_random(bool crc, bool markers, uint64_t seed, unsigned count)
{
	struct stream *s = stream_new(crc, markers);
	struct adv_rng rng;

	adv_rng_seed(&rng, seed);
	while (count--) {
		size_t len = adv_rng_below(&rng, SEGMENT_MAX);

		send_random(s, &rng, len < ADV_DDP_TAGGED_LEN ? 0 : len);
	}
	return s;
}

/* What a receiver has given. */
struct received {
	uint8_t segments[STREAM_MAX];
	size_t len;
	unsigned fpdus;
};

static void append(struct received *r, const void *p, size_t len)
{
	assert_in_range(r->len + len, 0, STREAM_MAX);
	memcpy(r->segments + r->len, p, len);
	r->len += len;
}

/* Gives the receiver len bytes. Returns the last event. */
static enum adv_fpdu_event give(struct adv_fpdu_rx *rx, struct received *r, const uint8_t *p,
				size_t len)
{
	uint8_t *copy = exact_copy(p, len), *next = copy;
	enum adv_fpdu_event event;
	size_t used;

	do {
		event = adv_fpdu_rx_take(rx, next, len, &used);
		assert_in_range(used, 0, len);
		next += used;
		len -= used;
		if (event == ADV_FPDU_HEADER)
			append(r, rx->header, adv_ddp_header_len(rx->header[0]));
		else if (event == ADV_FPDU_PAYLOAD)
			append(r, rx->payload, rx->payload_len);
		r->fpdus += event == ADV_FPDU_END;
	} while (event == ADV_FPDU_HEADER || event == ADV_FPDU_PAYLOAD || event == ADV_FPDU_END);
	free(copy);
	return event;
}

static void check_received(const struct stream *s, const struct received *r, unsigned fpdus)
{
	assert_int_equal(r->fpdus, fpdus);
	assert_int_equal(r->len, s->segments_len);
	assert_memory_equal(r->segments, s->segments, r->len);
}

static const struct {
	bool crc, markers;
} modes[] = {{false, false}, {true, false}, {false, true}, {true, true}};

/* A stream of many FPDUs, in pieces of random lengths. */
static void test_random_pieces(void **state)
{
	struct received *r = malloc(sizeof(*r));
	struct adv_rng rng;
	unsigned mode, longest;

	adv_rng_seed(&rng, 3);
	for (mode = 0; mode < 4; mode++) {
		struct stream *s = stream_of_random(modes[mode].crc, modes[mode].markers, 5, 100);

		for (longest = 1; longest < 100000; longest *= 4) {
			struct adv_fpdu_rx rx;
			size_t at, n;

			r->len = r->fpdus = 0;
			adv_fpdu_rx_init(&rx, modes[mode].crc, modes[mode].markers);
			for (at = 0; at < s->len; at += n) {
				n = 1 + adv_rng_below(&rng, longest);
				if (n > s->len - at)
					n = s->len - at;
				assert_int_equal(give(&rx, r, s->bytes + at, n), ADV_FPDU_MORE);
			}
			check_received(s, r, 100);
			assert_true(adv_fpdu_rx_idle(&rx));
		}
		free(s);
	}
	free(r);
}

/* Payload that the caller receives to its place by itself. */
static void test_placed(void **state)
{
	struct received *r = malloc(sizeof(*r));
	unsigned mode, pieces = 0;

	for (mode = 0; mode < 4; mode++) {
		struct stream *s = stream_of_random(modes[mode].crc, modes[mode].markers, 6, 100);
		struct adv_fpdu_rx rx;
		size_t at = 0;

		r->len = r->fpdus = 0;
		adv_fpdu_rx_init(&rx, modes[mode].crc, modes[mode].markers);
		while (at < s->len) {
			uint32_t room = adv_fpdu_rx_room(&rx);

			if (room) {
				append(r, s->bytes + at, room);
				adv_fpdu_rx_placed(&rx, s->bytes + at, room);
				at += room;
				pieces++;
			} else {
				assert_int_equal(give(&rx, r, s->bytes + at, 1), ADV_FPDU_MORE);
				at++;
			}
		}
		check_received(s, r, 100);
		free(s);
	}
	assert_in_range(pieces, 200, 4000);
	free(r);
}

/* The bytes of a small stream, by hand: length, segment, padding, CRC. */
static void test_bytes(void **state)
{
	struct stream *s = stream_new(true, false);
	uint8_t segment[17] = {ADV_DDP_TAGGED_BIT}, crc[4];

	send_segment(s, segment, sizeof(segment));
	assert_int_equal(s->len, 2 + 17 + 1 + 4);
	assert_memory_equal(s->bytes, "\0\x11\x80", 3);
	adv_crc32c_put(adv_crc32c(ADV_CRC32C_START, s->bytes, 20), crc);
	assert_memory_equal(s->bytes + 20, crc, 4);
	send_segment(s, segment, 0); /* ready to receive */
	assert_int_equal(s->len, 24 + 2 + 2 + 4);
	free(s);

	s = stream_new(false, false);
	send_segment(s, segment, 14);
	assert_int_equal(s->len, 20);
	assert_memory_equal(s->bytes + 16, "\0\0\0\0", 4);
	free(s);
}

/* Markers stand at 0, 512, ... and lead back to the length of their FPDU. */
static void test_marker_places(void **state)
{
	struct stream *s = stream_new(false, true);
	uint8_t segment[1000] = {0};
	size_t at, fpdu = 4; /* behind the first marker */

	send_segment(s, segment, sizeof(segment)); /* 2 + 1000 + 2 + 4 bytes, and 2 markers */
	send_segment(s, segment, sizeof(segment));
	assert_memory_equal(s->bytes, "\0\0\0\0", 4);
	for (at = 512; at < s->len; at += 512) {
		if (at > 4 + 1008 + 4)
			fpdu = 4 + 1008 + 4;
		assert_int_equal(s->bytes[at] << 8 | s->bytes[at + 1], 0);
		assert_int_equal(s->bytes[at + 2] << 8 | s->bytes[at + 3], at - fpdu);
	}
	assert_int_equal(at, 2048);
	assert_memory_equal(s->bytes + fpdu, "\x03\xe8", 2);
	free(s);
}

static void test_short_segment(void **state)
{
	struct received *r = calloc(1, sizeof(*r));
	struct adv_fpdu_rx rx;

	adv_fpdu_rx_init(&rx, false, false);
	assert_int_equal(give(&rx, r, (const uint8_t *)"\0\x0d\x80", 3), ADV_FPDU_BAD_LENGTH);
	adv_fpdu_rx_init(&rx, false, false);
	assert_int_equal(give(&rx, r, (const uint8_t *)"\0\x11\0", 3), ADV_FPDU_BAD_LENGTH);
	adv_fpdu_rx_init(&rx, false, false);
	assert_int_equal(give(&rx, r, (const uint8_t *)"\0\x12\0", 3), ADV_FPDU_MORE);
	assert_false(adv_fpdu_rx_idle(&rx));
	free(r);
}

/* A changed byte is found by the CRC, unless it is the length's: then by what follows. */
static void test_changed_byte(void **state)
{
	struct received *r = calloc(1, sizeof(*r));
	unsigned markers;
	size_t i;

	for (markers = 0; markers < 2; markers++) {
		struct stream *s = stream_of_random(true, markers, 8, 3);

		for (i = 0; i < s->len; i++) {
			struct adv_fpdu_rx rx;
			enum adv_fpdu_event event;

			r->len = r->fpdus = 0;
			s->bytes[i] ^= 0x40;
			adv_fpdu_rx_init(&rx, true, markers);
			event = give(&rx, r, s->bytes, s->len);
			s->bytes[i] ^= 0x40;
			if (event == ADV_FPDU_MORE)
				assert_false(adv_fpdu_rx_idle(&rx)); /* waits for a longer FPDU */
			assert_in_range(r->fpdus, 0, 2);
		}
		free(s);
	}
	free(r);
}

/* A marker is also checked without a CRC. Its reserved bits are ignored. */
static void test_wrong_marker(void **state)
{
	struct received *r = calloc(1, sizeof(*r));
	struct stream *s = stream_of_random(false, true, 9, 3);
	struct adv_fpdu_rx rx;

	s->bytes[513] = 0xff;
	adv_fpdu_rx_init(&rx, false, true);
	assert_int_equal(give(&rx, r, s->bytes, s->len), ADV_FPDU_MORE);
	s->bytes[515] ^= 4;
	adv_fpdu_rx_init(&rx, false, true);
	assert_int_equal(give(&rx, r, s->bytes, s->len), ADV_FPDU_BAD_MARKER);
	free(s);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),	      cmocka_unit_test(test_marker_places),
		cmocka_unit_test(test_random_pieces), cmocka_unit_test(test_placed),
		cmocka_unit_test(test_short_segment), cmocka_unit_test(test_changed_byte),
		cmocka_unit_test(test_wrong_marker),
	};

	return cmocka_run_group_tests_name("fpdu", tests, NULL, NULL);
}
