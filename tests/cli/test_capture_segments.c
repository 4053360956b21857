/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP segments made of captured bytes of iWARP connections, and which of the bytes a file gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "cli/capture/checksum.h"
#include "cli/capture/streams.h"
#include "nic/iwarp/mpa.h"

#define ALL   262144
#define FIRST 25 /* sequence number of position 0 */

static const struct adv_gid ipv4[2] = {{{[10] = 0xff, 0xff, 192, 0, 2, 1}},
				       {{[10] = 0xff, 0xff, 192, 0, 2, 2}}};
static const struct adv_gid ipv6[2] = {{{0x20, 1, 0xd, 0xb8, 1}}, {{0x20, 1, 0xd, 0xb8, 2}}};
static const struct adv_segment_place begin;

static struct adv_capture_frame frame;
static uint8_t data[sizeof(struct adv_tap_stream) + UINT16_MAX];
static struct adv_segment_streams *all;

/* A record of `length` bytes at a position. The process is the initiator, and `out`: it sends. */
static struct adv_tap_record record_of(bool initiator, bool out, uint64_t at, uint64_t other,
				       uint32_t length)
{
	unsigned from = initiator != out;
	const struct adv_tap_stream head = {
		.at = at,
		.other = other,
		.qpn = 0x1234,
		.number = 1,
		.sport = from ? 7174 : 40000,
		.dport = from ? 40000 : 7174,
		.ird = 3,
		.ord = 5,
		.flags = ADV_TAP_CRC | (initiator ? ADV_TAP_INITIATOR : 0),
	};
	struct adv_tap_record r = {
		.payload_len = length,
		.kept = length,
		.piece = UINT32_MAX,
		.time = 77,
		.sgid = ipv4[from],
		.dgid = ipv4[!from],
		.header_len = sizeof(head),
		.flags = (uint8_t)(ADV_TAP_STREAM | (out ? ADV_TAP_OUT : 0)),
	};

	memcpy(data, &head, sizeof(head));
	for (uint32_t i = 0; i < length; i++)
		data[sizeof(head) + i] = (uint8_t)(at + i);
	return r;
}

static void set_begins(uint32_t here, uint32_t other)
{
	struct adv_tap_stream head = adv_segment_head(data);

	head.begin = here;
	head.other_begin = other;
	memcpy(data, &head, sizeof(head));
}

/* Checks the frame's lengths and checksums. Returns its TCP header. */
static const uint8_t *check_frame(bool v4)
{
	const uint8_t *ip = frame.bytes + 14, *tcp = ip + (v4 ? 20 : 40);
	size_t len = frame.len - (size_t)(tcp - frame.bytes);
	uint64_t sum = 6 + len;

	assert_int_equal(adv_get_be16(frame.bytes + 12), v4 ? 0x0800 : 0x86dd);
	assert_int_equal(adv_get_be16(ip + (v4 ? 2 : 4)), v4 ? len + 20 : len);
	if (v4)
		assert_int_equal(adv_checksum_fold(adv_checksum_add(0, ip, 20)), 0xffff);
	sum = adv_checksum_add(sum, v4 ? ip + 12 : ip + 8, v4 ? 8 : 32);
	assert_int_equal(adv_checksum_fold(adv_checksum_add(sum, tcp, len)), 0xffff);
	return tcp;
}

static void test_segment(void **state)
{
	struct adv_segment_place place = {.skip = 10, .skew = 1 << 20, .other = 500};
	const uint8_t *tcp;

	for (unsigned v4 = 0; v4 < 2; v4++) {
		struct adv_tap_record r = record_of(true, true, 0xfffffff0ull, 500, 301);

		r.sgid = v4 ? ipv4[0] : ipv6[0];
		r.dgid = v4 ? ipv4[1] : ipv6[1];
		adv_segment_make(&r, data, &place, ALL, &frame);
		tcp = check_frame(v4);
		assert_int_equal(adv_get_be16(tcp), 40000);
		assert_int_equal(adv_get_be16(tcp + 2), 7174);
		assert_int_equal(adv_get_be32(tcp + 4),
				 (uint32_t)(0xfffffff0u + 10 + FIRST + (1 << 20)));
		assert_int_equal(adv_get_be32(tcp + 8), 500 + FIRST + (1 << 20));
		assert_int_equal(tcp[13], 0x18);
		assert_memory_equal(tcp + 20, data + r.header_len + 10, 291);
		assert_int_equal(frame.captured, frame.len);
		assert_int_equal(frame.own_qpn, 0x1234);
		assert_true(frame.out && frame.time == 77 && !frame.rebuilt);
	}
}

/* The checksum of a segment that is not known as a whole is that of the pseudo header. */
static void test_cut_segment(void **state)
{
	struct adv_tap_record r = record_of(true, true, 0, 0, 1000);
	uint64_t sum = 6 + 1020;

	r.kept = 100;
	adv_segment_make(&r, data, &begin, ALL, &frame);
	assert_int_equal(frame.len, 14 + 20 + 20 + 1000);
	assert_int_equal(frame.captured, 14 + 20 + 20 + 100);
	assert_int_equal(adv_get_be16(frame.bytes + 14 + 20 + 16),
			 adv_checksum_fold(adv_checksum_add(sum, frame.bytes + 14 + 12, 8)));
	adv_segment_make(&r, data, &begin, 96, &frame);
	assert_int_equal(frame.captured, 96);
}

/* Both processes rebuild the same segments in front of a connection; only the directions differ. */
static void test_starts(void **state)
{
	static const uint8_t flags[] = {0x02, 0x12, 0x10, 0x18, 0x18};
	const struct adv_segment_place place = {.from = {1000, 2000}};
	uint8_t seen[ADV_SEGMENT_STARTS][120];

	for (unsigned way = 0; way < 4; way++) {
		struct adv_tap_record r = record_of(way & 1, way >> 1, 1000, 2000, 10);
		struct adv_tap_stream head = adv_segment_head(data);

		if (!(way & 1)) { /* IRD and ORD are those of the process */
			head.ird = 5;
			head.ord = 3;
			memcpy(data, &head, sizeof(head));
		}
		for (unsigned i = 0; i < ADV_SEGMENT_STARTS; i++) {
			bool responder = i == 1 || i == 4;
			const uint8_t *tcp;
			struct adv_mpa_frame f;
			size_t used;

			adv_segment_start(&r, data, i, &place, &frame);
			tcp = check_frame(true);
			assert_true(frame.rebuilt);
			assert_int_equal(frame.out, responder != (way & 1));
			assert_int_equal(adv_get_be16(tcp), responder ? 7174 : 40000);
			assert_int_equal(tcp[13], flags[i]);
			assert_int_equal(adv_get_be32(tcp + 4),
					 (responder ? 2000 : 1000) + (i >= 2));
			if (i)
				assert_int_equal(adv_get_be32(tcp + 8), i == 4	    ? 1025
									: responder ? 1001
										    : 2001);
			if (i >= 3) {
				assert_int_equal(
					adv_mpa_decode(tcp + 20, 24,
						       i == 3 ? ADV_MPA_REQUEST : ADV_MPA_REPLY, &f,
						       &used),
					ADV_MPA_OK);
				assert_int_equal(used, 24);
				assert_true(f.crc && !f.markers && f.enhanced);
				assert_int_equal(f.ird, i == 3 ? 3 : 5);
				assert_int_equal(f.ord, i == 3 ? 5 : 3);
			}
			if (way == 0)
				memcpy(seen[i], frame.bytes, frame.len);
			assert_memory_equal(seen[i], frame.bytes, frame.len);
		}
	}
}

/* ---- what a file gets ---- */

static int open_streams(void **state)
{
	all = adv_segment_streams_create();
	return all == NULL;
}

static int close_streams(void **state)
{
	adv_segment_streams_destroy(all);
	return 0;
}

static struct adv_segment_place place;

/* Takes the record. Returns whether the file gets bytes of it; sets *begins. */
static bool take(unsigned source, const struct adv_tap_record *r, bool *begins)
{
	struct adv_segment_stream *s = adv_segment_streams_take(all, source, 1, r, data, &place);

	*begins = s && adv_segment_stream_begins(s);
	return s != NULL;
}

/* Each byte once, though sender and receiver are captured; the receiver reads other pieces. */
static void test_each_byte_once(void **state)
{
	struct adv_tap_record r = record_of(true, true, 0, 0, 100);
	bool begins;

	assert_true(take(0, &r, &begins));
	assert_true(begins);
	r = record_of(false, false, 0, 0, 60);
	assert_false(take(1, &r, &begins));
	r = record_of(false, false, 60, 0, 40);
	assert_false(take(1, &r, &begins));
	r = record_of(false, false, 60, 0, 100);
	assert_true(take(1, &r, &begins));
	assert_int_equal(place.skip, 40);
	assert_false(begins);
	r = record_of(true, true, 100, 0, 100);
	assert_true(take(0, &r, &begins));
	assert_int_equal(place.skip, 60);
	r = record_of(false, true, 0, 1000, 50); /* it acknowledges what the file has */
	assert_true(take(1, &r, &begins));
	assert_int_equal(place.other, 200);
	assert_int_equal(place.skew, 0);
}

/* A capture that begins later begins with an FPDU, in both directions. */
static void test_begins_with_fpdus(void **state)
{
	struct adv_tap_record r = record_of(true, true, 1000, 2000, 100);
	bool begins;

	set_begins(150, 30);
	assert_false(take(0, &r, &begins));
	r = record_of(true, true, 1100, 2000, 100);
	set_begins(50, 30);
	assert_true(take(0, &r, &begins));
	assert_true(begins);
	assert_int_equal(place.skip, 50);
	assert_int_equal(place.from[0], 1150);
	assert_int_equal(place.from[1], 2030);
	assert_int_equal(place.other, 2030);
	r = record_of(true, false, 2000, 1200, 100);
	set_begins(30, 0);
	assert_true(take(0, &r, &begins));
	assert_int_equal(place.skip, 30);
}

/* Behind bytes that are missing, and in another file, a connection begins again. */
static void test_begins_again(void **state)
{
	struct adv_tap_record r = record_of(true, true, 0, 0, 100);
	struct adv_segment_stream *s;
	bool begins;

	assert_true(take(0, &r, &begins));
	r = record_of(true, true, 150, 0, 100);
	set_begins(ADV_TAP_BEGIN_UNKNOWN, ADV_TAP_BEGIN_UNKNOWN);
	assert_true(take(0, &r, &begins));
	assert_true(begins);
	assert_int_equal(place.from[0], 150);
	assert_int_equal(place.skew, 1 << 20);
	r = record_of(true, true, 250, 0, 100);
	s = adv_segment_streams_take(all, 0, 2, &r, data, &place);
	assert_true(s && adv_segment_stream_begins(s));
	assert_int_equal(place.from[0], 250);
}

/* A later connection with the same addresses. */
static void test_another_connection(void **state)
{
	struct adv_tap_record r = record_of(true, true, 0, 0, 100);
	struct adv_tap_stream head;
	bool begins;

	assert_true(take(0, &r, &begins));
	head = adv_segment_head(data);
	head.number = 2;
	memcpy(data, &head, sizeof(head));
	assert_true(take(0, &r, &begins));
	assert_true(begins);
	assert_int_equal(place.skip, 0);
	assert_true(place.skew != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_cut_segment),
		cmocka_unit_test(test_starts),
		cmocka_unit_test_setup_teardown(test_each_byte_once, open_streams, close_streams),
		cmocka_unit_test_setup_teardown(test_begins_with_fpdus, open_streams,
						close_streams),
		cmocka_unit_test_setup_teardown(test_begins_again, open_streams, close_streams),
		cmocka_unit_test_setup_teardown(test_another_connection, open_streams,
						close_streams),
	};

	return cmocka_run_group_tests_name("segments of captures", tests, NULL, NULL);
}
