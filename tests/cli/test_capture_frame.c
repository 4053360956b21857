/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames made of captured packets, the words of filters, and pcapng. The frames are read back by
 * the parser of src/nic/wire; tests/clients also reads them by tshark. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "cli/capture/filter.h"
#include "cli/capture/frame.h"
#include "cli/capture/pcapng.h"
#include "base/bytes.h"

#define ALL	262144
#define PAYLOAD 9001

static struct adv_capture_frame frame;
static struct adv_frame parsed;
static struct adv_headers headers;
static uint8_t data[ADV_TAP_DATA_MAX];

static const struct adv_gid ipv4_a = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}};
static const struct adv_gid ipv4_b = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 2}};
static const struct adv_gid ipv6_a = {{0x20, 1, 0xd, 0xb8, 1}};
static const struct adv_gid multicast = {{0xff, 0x0e, [15] = 1}};
static const struct adv_gid ipv6_b = {{0x20, 1, 0xd, 0xb8, 2}};

/* Fills in a record of a packet with this opcode. limit: bytes that it keeps of each packet. */
static struct adv_tap_record record_of(uint8_t opcode, uint32_t payload_len, unsigned more,
				       uint32_t limit)
{
	struct adv_headers h = {
		.bth = {.opcode = opcode,
			.psn = 0xfffffe,
			.dest_qpn = 0x1234,
			.pkey = 0xffff,
			.ackreq = true,
			.solicited = true,
			.pad = -payload_len & 3},
		.reth = {.va = 7, .rkey = 8, .length = 9},
		.deth = {.src_qpn = 77},
		.immdt = 0x01020304,
		.ieth = {.rkey = 55},
		.xrceth = {.xrcsrq = 66},
	};
	struct adv_tap_record r = {
		.payload_len = payload_len,
		.time = 1234567890123456789,
		.sgid = ipv4_a,
		.dgid = ipv4_b,
		.sport = 0xc001,
		.more = (uint8_t)more,
		.tclass = 0x6b,
		.hop_limit = 33,
		.pad = -payload_len & 3,
		.flags = ADV_TAP_OUT,
	};

	r.header_len = (uint8_t)adv_headers_encode(&h, data);
	r.piece = limit > r.header_len ? limit - r.header_len : 0;
	r.kept = adv_tap_kept(&r);
	for (uint32_t i = 0; i < r.kept; i++)
		data[r.header_len + i] = (uint8_t)(i * 7 + i / 256);
	return r;
}

/* Makes frame i and reads it: the ICRC and all lengths and checksums are right. Returns the bytes
 * of payload. */
static size_t make(const struct adv_tap_record *r, unsigned i)
{
	size_t n;

	assert_true(adv_capture_frame_make(r, data, i, ALL, &frame));
	assert_int_equal(frame.captured, frame.len);
	assert_int_equal(adv_frame_parse(frame.bytes, frame.len, &parsed), ADV_FRAME_OK);
	assert_int_equal(parsed.icrc, adv_frame_icrc(&parsed));
	assert_int_equal(parsed.dport, ADV_ROCE_UDP_PORT);
	n = adv_headers_decode(parsed.transport, parsed.transport_len, &headers);
	assert_true(n != 0);
	return parsed.transport_len - n - headers.bth.pad;
}

/* The sum over pseudo header, UDP header and payload is 0xffff (RFC 768). */
static uint32_t udp_sum(void)
{
	bool ipv4 = parsed.kind == ADV_FRAME_V2_IPV4;
	const uint8_t *ip = frame.bytes + 14, *udp = ip + (ipv4 ? 20 : 40);
	const uint8_t *end = frame.bytes + frame.len;
	uint32_t sum = 17 + (uint32_t)(end - udp);

	for (const uint8_t *p = ip + (ipv4 ? 12 : 8); p < udp; p += 2)
		sum += adv_get_be16(p);
	for (const uint8_t *p = udp; p < end; p += 2)
		sum += adv_get_be16(p);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* ---- frames ---- */

static void test_a_frame_has_the_fields_of_its_packet(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_SEND_ONLY, 301, 0, ALL);

	assert_int_equal(make(&r, 0), 301);
	assert_int_equal(parsed.kind, ADV_FRAME_V2_IPV4);
	assert_memory_equal(parsed.saddr, ipv4_a.raw + 12, 4);
	assert_memory_equal(parsed.daddr, ipv4_b.raw + 12, 4);
	assert_int_equal(parsed.tclass, 0x6b);
	assert_int_equal(parsed.hop_limit, 33);
	assert_int_equal(parsed.sport, 0xc001);
	assert_int_equal(udp_sum(), 0xffff);
	assert_true(frame.out);
	assert_int_equal(frame.time, 1234567890123456789);
	assert_int_equal(frame.bth.dest_qpn, 0x1234);
	assert_int_equal(frame.src_qpn, 0);
	assert_memory_equal(parsed.transport + ADV_BTH_LEN, data + ADV_BTH_LEN, 301);
}

static void test_ipv6_and_ud(void **state)
{
	struct adv_tap_record r =
		record_of(ADV_SERVICE_UD | ADV_OP_SEND_ONLY_WITH_IMM, 512, 0, ALL);

	r.sgid = ipv6_a;
	r.dgid = ipv6_b;
	r.flow_label = 0xfedcba98;
	r.hop_limit = 0;
	r.flags = 0;
	assert_int_equal(make(&r, 0), 512);
	assert_int_equal(parsed.kind, ADV_FRAME_V2_IPV6);
	assert_int_equal(parsed.flow_label, 0xcba98);
	assert_int_equal(parsed.hop_limit, 64);
	assert_int_equal(udp_sum(), 0xffff);
	assert_false(frame.out);
	assert_int_equal(frame.src_qpn, 77);
	r.dgid = multicast;
	make(&r, 0);
	assert_int_equal(parsed.hop_limit, 1);
}

static void test_a_damaged_icrc_stays_damaged(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_SEND_ONLY, 64, 0, ALL);

	r.icrc_flip = 0x80000001;
	assert_true(adv_capture_frame_make(&r, data, 0, ALL, &frame));
	assert_int_equal(adv_frame_parse(frame.bytes, frame.len, &parsed), ADV_FRAME_OK);
	assert_int_equal(parsed.icrc ^ adv_frame_icrc(&parsed), 0x80000001);
	assert_int_equal(udp_sum(), 0xffff);
}

static void test_every_opcode_makes_a_frame(void **state)
{
	for (unsigned op = 0; op < 256; op++) {
		struct adv_tap_record r = record_of((uint8_t)op, 40, 0, ALL);

		if (!adv_opcode_table[op].name) {
			r.header_len = ADV_BTH_LEN;
			memset(data, 0, ADV_BTH_LEN);
			data[0] = (uint8_t)op;
			assert_true(adv_capture_frame_make(&r, data, 0, ALL, &frame));
			continue;
		}
		make(&r, 0);
		assert_int_equal(headers.bth.opcode, op);
	}
}

/* ---- long packets ---- */

struct long_case {
	uint8_t opcode, first, middle, last;
};

/* The packets of a long packet are those of the path MTU: opcodes, PSNs, headers, payload. */
static void check_long(const struct long_case *c, uint8_t service)
{
	const uint32_t mtu = 1024, more = (PAYLOAD - 1) / mtu;
	struct adv_tap_record r = record_of(service | c->opcode, PAYLOAD, more, ALL);
	uint32_t at = r.header_len;

	for (unsigned i = 0; i <= more; i++) {
		uint32_t n = i < more ? mtu : PAYLOAD - more * mtu;
		uint8_t op = i == 0 ? c->first : i < more ? c->middle : c->last;
		size_t header;

		assert_int_equal(make(&r, i), n);
		assert_int_equal(udp_sum(), 0xffff);
		assert_int_equal(headers.bth.opcode, service | op);
		assert_int_equal(headers.bth.psn, (0xfffffe + i) & ADV_PSN_MASK);
		assert_int_equal(headers.bth.pad, i < more ? 0 : 3);
		assert_int_equal(headers.bth.ackreq, i == more);
		assert_int_equal(headers.bth.solicited, i == more);
		if (adv_opcode_table[service | op].headers & ADV_HAS_RETH)
			assert_int_equal(headers.reth.rkey, 8);
		if (adv_opcode_table[service | op].headers & ADV_HAS_IMMDT)
			assert_int_equal(headers.immdt, 0x01020304);
		if (adv_opcode_table[service | op].headers & ADV_HAS_IETH)
			assert_int_equal(headers.ieth.rkey, 55);
		header = adv_opcode_table[service | op].length;
		assert_memory_equal(parsed.transport + header, data + at, n);
		at += n;
	}
}

static void test_a_long_packet_becomes_packets_of_the_mtu(void **state)
{
	static const struct long_case cases[] = {
		{ADV_OP_SEND_ONLY, ADV_OP_SEND_FIRST, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_LAST},
		{ADV_OP_SEND_FIRST, ADV_OP_SEND_FIRST, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE},
		{ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE},
		{ADV_OP_SEND_LAST, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_LAST},
		{ADV_OP_SEND_ONLY_WITH_IMM, ADV_OP_SEND_FIRST, ADV_OP_SEND_MIDDLE,
		 ADV_OP_SEND_LAST_WITH_IMM},
		{ADV_OP_SEND_LAST_WITH_INV, ADV_OP_SEND_MIDDLE, ADV_OP_SEND_MIDDLE,
		 ADV_OP_SEND_LAST_WITH_INV},
		{ADV_OP_SEND_ONLY_WITH_INV, ADV_OP_SEND_FIRST, ADV_OP_SEND_MIDDLE,
		 ADV_OP_SEND_LAST_WITH_INV},
		{ADV_OP_WRITE_ONLY, ADV_OP_WRITE_FIRST, ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_LAST},
		{ADV_OP_WRITE_FIRST, ADV_OP_WRITE_FIRST, ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_MIDDLE},
		{ADV_OP_WRITE_LAST, ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_MIDDLE, ADV_OP_WRITE_LAST},
		{ADV_OP_WRITE_ONLY_WITH_IMM, ADV_OP_WRITE_FIRST, ADV_OP_WRITE_MIDDLE,
		 ADV_OP_WRITE_LAST_WITH_IMM},
		{ADV_OP_READ_RESPONSE_ONLY, ADV_OP_READ_RESPONSE_FIRST, ADV_OP_READ_RESPONSE_MIDDLE,
		 ADV_OP_READ_RESPONSE_LAST},
		{ADV_OP_READ_RESPONSE_FIRST, ADV_OP_READ_RESPONSE_FIRST,
		 ADV_OP_READ_RESPONSE_MIDDLE, ADV_OP_READ_RESPONSE_MIDDLE},
		{ADV_OP_READ_RESPONSE_LAST, ADV_OP_READ_RESPONSE_MIDDLE,
		 ADV_OP_READ_RESPONSE_MIDDLE, ADV_OP_READ_RESPONSE_LAST},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		check_long(&cases[i], ADV_SERVICE_RC);
		check_long(&cases[i], ADV_SERVICE_XRC);
	}
}

static void test_an_atomic_response_is_not_long(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_ATOMIC_ACKNOWLEDGE, PAYLOAD, 8, ALL);

	assert_false(adv_capture_frame_make(&r, data, 0, ALL, &frame));
}

/* ---- parts ---- */

/* Returns the Internet checksum of words, not inverted (RFC 1071). */
static uint16_t sum_of(const uint8_t *bytes, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += adv_get_be16(bytes + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* With the pseudo header's sum in the checksum, the receiver's offload would complete it. */
static void check_part(const struct adv_tap_record *r, unsigned i, uint32_t kept, uint32_t payload)
{
	const uint8_t *bth = frame.bytes + 14 + 20 + 8;

	assert_true(adv_capture_frame_make(r, data, i, ALL, &frame));
	assert_int_equal(frame.len, 14 + 20 + 8 + ADV_BTH_LEN + payload + (-payload & 3) + 4);
	assert_int_equal(frame.captured, 14 + 20 + 8 + ADV_BTH_LEN + kept);
	assert_memory_equal(bth + ADV_BTH_LEN, data + r->header_len + (r->more ? i * kept : 0),
			    kept);
	assert_int_equal(adv_frame_parse(frame.bytes, frame.len, &parsed), ADV_FRAME_OK);
	for (size_t at = frame.captured; at < frame.len; at++)
		assert_int_equal(frame.bytes[at], 0);
	/* The lengths of IP and UDP, and the checksum of IPv4, are those of the whole packet. */
	assert_int_equal(adv_get_be16(frame.bytes + 14 + 2), frame.len - 14);
	assert_int_equal(adv_get_be16(frame.bytes + 14 + 20 + 4), frame.len - 14 - 20);
	assert_int_equal(sum_of(frame.bytes + 14, 20), 0xffff);
}

static void test_payload_that_is_not_kept(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_SEND_ONLY, 301, 0, ADV_BTH_LEN + 10);

	check_part(&r, 0, 10, 301);
	r = record_of(ADV_OP_SEND_ONLY, 3 * 256, 2, ADV_BTH_LEN + 10);
	for (unsigned i = 0; i < 3; i++)
		check_part(&r, i, 10, 256);
	r = record_of(ADV_OP_SEND_ONLY, 3 * 256, 2, 0);
	check_part(&r, 2, 0, 256);
	r = record_of(ADV_OP_SEND_ONLY, 3 * 256, 2, ALL);
	r.flags |= ADV_TAP_UNREAD;
	r.kept = 0;
	check_part(&r, 1, 0, 256);
}

static void test_the_snapshot_length(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_SEND_ONLY, 301, 0, ALL);

	assert_true(adv_capture_frame_make(&r, data, 0, 100, &frame));
	assert_int_equal(frame.captured, 100);
	assert_int_equal(adv_frame_parse(frame.bytes, frame.len, &parsed), ADV_FRAME_OK);
	assert_int_equal(parsed.icrc, adv_frame_icrc(&parsed));
}

static void test_a_packet_without_a_bth_is_no_frame(void **state)
{
	struct adv_tap_record r = record_of(ADV_OP_SEND_ONLY, 0, 0, ALL);

	for (r.header_len = 0; r.header_len < ADV_BTH_LEN; r.header_len++)
		assert_false(adv_capture_frame_make(&r, data, 0, ALL, &frame));
	r.payload_len = UINT16_MAX;
	r.kept = 0;
	r.piece = 0;
	r.header_len = ADV_BTH_LEN;
	assert_false(adv_capture_frame_make(&r, data, 0, ALL, &frame));
}

/* ---- filters ---- */

static void expect(const char *text, const char *wanted)
{
	char out[ADV_FILTER_TEXT], why[ADV_FILTER_WHY];

	assert_true(adv_filter_expand(text, out, why));
	assert_string_equal(out, wanted);
}

static void test_words_of_filters(void **state)
{
	expect("", "");
	expect("host 192.0.2.1 and (udp[1] & 3 = 0)", "host 192.0.2.1 and (udp[1] & 3 = 0)");
	expect("opcode RC_SEND_ONLY", "(udp[8] = 4 or (ip6[6] = 17 and ip6[48] = 4))");
	expect("not opcode 0x81", "not (udp[8] = 129 or (ip6[6] = 17 and ip6[48] = 129))");
	expect("opcode rc_acknowledge", "(udp[8] = 17 or (ip6[6] = 17 and ip6[48] = 17))");
	expect("opcode ACKNOWLEDGE", "(udp[8] = 17 or (ip6[6] = 17 and ip6[48] = 17) or udp[8] = "
				     "177 or (ip6[6] = 17 and ip6[48] = 177))");
	expect("qp 0x1012",
	       "(udp[12:4] & 0xffffff = 4114 or (ip6[6] = 17 and ip6[52:4] & 0xffffff = 4114))");
	expect("(psn 7)",
	       "((udp[16:4] & 0xffffff = 7 or (ip6[6] = 17 and ip6[56:4] & 0xffffff = 7)))");
	expect("host opcodes.example.org", "host opcodes.example.org");
}

static void test_wrong_words_of_filters(void **state)
{
	static const char *const wrong[] = {"opcode",	    "opcode X", "opcode 256",  "qp",
					    "qp 0x1000000", "psn -1",	"psn 1x or 2", "opcode 0x"};
	char out[ADV_FILTER_TEXT], why[ADV_FILTER_WHY];
	char *text = malloc(3 * ADV_FILTER_TEXT);

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(wrong); i++) {
		why[0] = '\0';
		assert_false(adv_filter_expand(wrong[i], out, why));
		assert_true(why[0] != '\0');
	}
	memset(text, 'a', 3 * ADV_FILTER_TEXT);
	text[3 * ADV_FILTER_TEXT - 1] = '\0';
	assert_false(adv_filter_expand(text, out, why));
	text[0] = '\0';
	while (strlen(text) + 20 < ADV_FILTER_TEXT)
		strcat(text, "opcode SEND_ONLY ");
	assert_false(adv_filter_expand(text, out, why));
	free(text);
}

/* ---- pcapng ---- */

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void test_pcapng_blocks(void **state)
{
	char long_name[1000];
	uint8_t bytes[61] = {1, 2, 3};
	struct adv_pcapng_packet p = {.interface = 0,
				      .time = 0x123456789abcdef0,
				      .out = true,
				      .lost = 5,
				      .comment = "c",
				      .bytes = bytes,
				      .captured = sizeof(bytes),
				      .len = 1000};
	const struct adv_pcapng_sums sums = {1, 2, 3, 4};
	const uint32_t types[] = {0x0a0d0d0a, 1, 6, 5};
	char *text;
	size_t len, sum, at = 0;
	FILE *f = open_memstream(&text, &len);

	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	sum = adv_pcapng_section(f, "application");
	sum += adv_pcapng_interface(f, long_name, long_name, 128);
	sum += adv_pcapng_packet(f, &p);
	sum += adv_pcapng_statistics(f, 0, 99, &sums);
	fclose(f);
	assert_int_equal(sum, len);
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(types); i++) {
		const uint8_t *b = (const uint8_t *)text + at;
		uint32_t n = word(b + 4);

		assert_int_equal(word(b), types[i]);
		assert_int_equal(n % 4, 0);
		assert_int_equal(word(b + n - 4), n);
		if (types[i] == 6) {
			assert_int_equal(word(b + 12), 0x12345678);
			assert_int_equal(word(b + 16), 0x9abcdef0);
			assert_int_equal(word(b + 20), sizeof(bytes));
			assert_int_equal(word(b + 24), 1000);
			assert_memory_equal(b + 28, bytes, sizeof(bytes));
			assert_int_equal(word(b + 28 + 64), 2 | 4 << 16); /* epb_flags */
			assert_int_equal(word(b + 28 + 68), 2);		  /* sent */
			assert_int_equal(word(b + 28 + 72), 4 | 8 << 16); /* epb_dropcount */
			assert_int_equal(word(b + 28 + 76), 5);
		}
		at += n;
	}
	assert_int_equal(at, len);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_has_the_fields_of_its_packet),
		cmocka_unit_test(test_ipv6_and_ud),
		cmocka_unit_test(test_a_damaged_icrc_stays_damaged),
		cmocka_unit_test(test_every_opcode_makes_a_frame),
		cmocka_unit_test(test_a_long_packet_becomes_packets_of_the_mtu),
		cmocka_unit_test(test_an_atomic_response_is_not_long),
		cmocka_unit_test(test_payload_that_is_not_kept),
		cmocka_unit_test(test_the_snapshot_length),
		cmocka_unit_test(test_a_packet_without_a_bth_is_no_frame),
		cmocka_unit_test(test_words_of_filters),
		cmocka_unit_test(test_wrong_words_of_filters),
		cmocka_unit_test(test_pcapng_blocks),
	};

	return cmocka_run_group_tests_name("capture_frame", tests, NULL, NULL);
}
