/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "nic/wire/headers.h"

#define LEN(a) (sizeof(a))

static struct adv_headers decode_headers(const uint8_t *p, size_t len)
{
	uint8_t *copy = exact_copy(p, len);
	struct adv_headers h;

	memset(&h, 0, sizeof(h));
	assert_int_equal(adv_headers_decode(copy, len, &h), len);
	free(copy);
	return h;
}

static void assert_encodes_to(const struct adv_headers *h, const uint8_t *p, size_t len)
{
	uint8_t out[ADV_HEADERS_MAX];

	memset(out, 0xa5, sizeof(out));
	assert_int_equal(adv_headers_encode(h, out), len);
	assert_memory_equal(out, p, len);
	for (; len < sizeof(out); len++)
		assert_int_equal(out[len], 0xa5);
}

static void test_bth_fields(void **state)
{
	/* All bits of all fields are set. */
	static const uint8_t p[] = {0x04, 0xe0, 0x12, 0x34, 0xc0, 0xab,
				    0xcd, 0xef, 0x80, 0x98, 0x76, 0x54};
	static const uint8_t q[] = {0x01, 0x10, 0xff, 0xff, 0x40, 0, 0, 1, 0, 0, 0, 2};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_int_equal(h.bth.opcode, 0x04);
	assert_true(h.bth.solicited);
	assert_true(h.bth.migreq);
	assert_int_equal(h.bth.pad, 2);
	assert_int_equal(h.bth.version, 0);
	assert_int_equal(h.bth.pkey, 0x1234);
	assert_true(h.bth.fecn);
	assert_true(h.bth.becn);
	assert_int_equal(h.bth.dest_qpn, 0xabcdef);
	assert_true(h.bth.ackreq);
	assert_int_equal(h.bth.psn, 0x987654);
	assert_encodes_to(&h, p, LEN(p));

	h = decode_headers(q, LEN(q));
	assert_false(h.bth.solicited);
	assert_false(h.bth.migreq);
	assert_int_equal(h.bth.pad, 1);
	assert_false(h.bth.fecn);
	assert_true(h.bth.becn);
	assert_false(h.bth.ackreq);
	assert_encodes_to(&h, q, LEN(q));
}

static void test_write_with_immediate(void **state)
{
	static const uint8_t p[] = {
		0x0b, 0,    0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 2,			     /* BTH */
		1,    2,    3,	  4,	5, 6, 7, 8, 9, 8, 7, 6, 0x80, 0, 0x10, 0x20, /* RETH */
		0xde, 0xad, 0xbe, 0xef,						     /* ImmDt */
	};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_true(h.reth.va == 0x0102030405060708u);
	assert_int_equal(h.reth.rkey, 0x09080706);
	assert_int_equal(h.reth.length, 0x80001020);
	assert_memory_equal(&h.immdt, "\xde\xad\xbe\xef", 4);
	assert_encodes_to(&h, p, LEN(p));
}

static void test_atomics(void **state)
{
	static const uint8_t p[] = {
		0x13, 0,    0xff, 0xff, 0,    0,    0,	  1,
		0,    0,    0,	  2, /* BTH */
		1,    2,    3,	  4,	5,    6,    7,	  8,
		9,    8,    7,	  6,				/* AtomicETH: VA, R_Key, */
		0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, /* swap, */
		0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, /* compare */
	};
	static const uint8_t q[] = {
		0x12, 0,    0xff, 0xff, 0,    0,    0,	  1,	0, 0, 0, 2, /* BTH */
		0x1f, 0xab, 0xcd, 0xef,					    /* AETH */
		0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,		    /* AtomicAckETH */
	};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_true(h.atomiceth.va == 0x0102030405060708u);
	assert_int_equal(h.atomiceth.rkey, 0x09080706);
	assert_true(h.atomiceth.swap_add == 0xa1a2a3a4a5a6a7a8u);
	assert_true(h.atomiceth.compare == 0xb1b2b3b4b5b6b7b8u);
	assert_encodes_to(&h, p, LEN(p));

	h = decode_headers(q, LEN(q));
	assert_int_equal(h.aeth.syndrome, 0x1f);
	assert_int_equal(h.aeth.msn, 0xabcdef);
	assert_true(h.atomicacketh.original == 0xc1c2c3c4c5c6c7c8u);
	assert_encodes_to(&h, q, LEN(q));
}

static void test_datagram_and_invalidate(void **state)
{
	static const uint8_t p[] = {
		0x65, 0, 0xff, 0xff, 0, 0,    0,    1,	  0, 0, 0, 2, /* BTH */
		0x80, 1, 0,    0,    0, 0xab, 0xcd, 0xef,	      /* DETH: Q_Key, source QP */
		1,    2, 3,    4,				      /* ImmDt */
	};
	static const uint8_t q[] = {
		0x17, 0,    0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 2, /* BTH */
		0xfe, 0xdc, 0xba, 0x98,				/* IETH */
	};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_int_equal(h.deth.qkey, 0x80010000);
	assert_int_equal(h.deth.src_qpn, 0xabcdef);
	assert_memory_equal(&h.immdt, "\1\2\3\4", 4);
	assert_encodes_to(&h, p, LEN(p));

	h = decode_headers(q, LEN(q));
	assert_int_equal(h.ieth.rkey, 0xfedcba98);
	assert_encodes_to(&h, q, LEN(q));
}

/* XRCETH, then FETH (selectivity in bits 5 to 4, placement in 3 to 0), then RETH (A14.3, A19). */
static void test_xrc_flush(void **state)
{
	static const uint8_t p[] = {
		0xbc, 0,    0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 2,		    /* BTH */
		0,    0xab, 0xcd, 0xef,					    /* XRCETH */
		0,    0,    0,	  0x12,					    /* FETH */
		1,    2,    3,	  4,	5, 6, 7, 8, 9, 8, 7, 6, 0, 0, 1, 0, /* RETH */
	};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_int_equal(h.xrceth.xrcsrq, 0xabcdef);
	assert_int_equal(h.feth.selectivity, 1);
	assert_int_equal(h.feth.placement, 2);
	assert_true(h.reth.va == 0x0102030405060708u);
	assert_int_equal(h.reth.rkey, 0x09080706);
	assert_int_equal(h.reth.length, 256);
	assert_encodes_to(&h, p, LEN(p));
}

/* A17.9.3: a BTH with BECN and 16 reserved bytes. */
static void test_cnp(void **state)
{
	static const uint8_t p[28] = {0x81, 0, 0xff, 0xff, 0x40, 0, 0x12, 0x34};
	struct adv_headers h = decode_headers(p, LEN(p));

	assert_true(h.bth.becn);
	assert_int_equal(h.bth.dest_qpn, 0x1234);
	assert_encodes_to(&h, p, LEN(p));
}

static void random_headers(struct adv_rng *rng, uint8_t opcode, struct adv_headers *h)
{
	memset(h, 0, sizeof(*h));
	h->bth.opcode = opcode;
	h->bth.solicited = adv_rng_below(rng, 2);
	h->bth.migreq = adv_rng_below(rng, 2);
	h->bth.pad = (uint8_t)adv_rng_below(rng, 4);
	h->bth.pkey = (uint16_t)adv_rng_next(rng);
	h->bth.fecn = adv_rng_below(rng, 2);
	h->bth.becn = adv_rng_below(rng, 2);
	h->bth.dest_qpn = (uint32_t)adv_rng_below(rng, 1 << 24);
	h->bth.ackreq = adv_rng_below(rng, 2);
	h->bth.psn = (uint32_t)adv_rng_below(rng, 1 << 24);
	h->deth.qkey = (uint32_t)adv_rng_next(rng);
	h->deth.src_qpn = (uint32_t)adv_rng_below(rng, 1 << 24);
	h->xrceth.xrcsrq = (uint32_t)adv_rng_below(rng, 1 << 24);
	h->reth.va = adv_rng_next(rng);
	h->reth.rkey = (uint32_t)adv_rng_next(rng);
	h->reth.length = (uint32_t)adv_rng_next(rng);
	h->atomiceth.va = adv_rng_next(rng);
	h->atomiceth.rkey = (uint32_t)adv_rng_next(rng);
	h->atomiceth.swap_add = adv_rng_next(rng);
	h->atomiceth.compare = adv_rng_next(rng);
	h->aeth.syndrome = (uint8_t)adv_rng_next(rng);
	h->aeth.msn = (uint32_t)adv_rng_below(rng, 1 << 24);
	h->atomicacketh.original = adv_rng_next(rng);
	h->immdt = (uint32_t)adv_rng_next(rng);
	h->ieth.rkey = (uint32_t)adv_rng_next(rng);
	h->feth.selectivity = (uint8_t)adv_rng_below(rng, 4);
	h->feth.placement = (uint8_t)adv_rng_below(rng, 16);
}

/* For each opcode, encoding and decoding returns the original structure. */
static void test_each_opcode_both_ways(void **state)
{
	struct adv_rng rng;
	unsigned opcode, i, known = 0;

	adv_rng_seed(&rng, 2);
	for (opcode = 0; opcode < 256; opcode++) {
		if (!adv_opcode_table[opcode].name)
			continue;
		known++;
		for (i = 0; i < 200; i++) {
			struct adv_headers h, again;
			uint8_t out[ADV_HEADERS_MAX];
			size_t len;

			random_headers(&rng, (uint8_t)opcode, &h);
			len = adv_headers_encode(&h, out);
			assert_int_equal(len, adv_opcode_table[opcode].length);
			again = decode_headers(out, len);
			assert_encodes_to(&again, out, len);
			memcpy(&again, &h, sizeof(h));
			assert_int_equal(adv_headers_decode(out, len, &again), len);
			assert_memory_equal(&again, &h, sizeof(h));
		}
	}
	assert_int_equal(known, 67);
}

static void test_each_opcode_truncated(void **state)
{
	uint8_t out[ADV_HEADERS_MAX] = {0};
	unsigned opcode, refused = 0;
	struct adv_headers h;
	size_t len, cut;

	for (opcode = 0; opcode < 256; opcode++) {
		len = adv_opcode_table[opcode].length;
		out[0] = (uint8_t)opcode;
		for (cut = 0; cut < len; cut++) {
			uint8_t *copy = exact_copy(out, cut);

			assert_int_equal(adv_headers_decode(copy, cut, &h), 0);
			free(copy);
			refused++;
		}
		assert_int_equal(adv_headers_decode(out, len, &h), len);
		assert_int_equal(adv_headers_decode(out, sizeof(out), &h), len);
	}
	/* RC, XRC, UC, UD, CNP, PROBE and ANSWER. */
	assert_int_equal(refused, 508 + 584 + 208 + 44 + 28 + 40);
}

static void test_unknown_opcodes(void **state)
{
	uint8_t out[ADV_HEADERS_MAX] = {0};
	unsigned opcode, unknown = 0;
	struct adv_headers h = {0};

	for (opcode = 0; opcode < 256; opcode++) {
		if (adv_opcode_table[opcode].name)
			continue;
		unknown++;
		out[0] = (uint8_t)opcode;
		assert_int_equal(adv_headers_decode(out, sizeof(out), &h), 0);
		h.bth.opcode = (uint8_t)opcode;
		assert_int_equal(adv_headers_encode(&h, out), 0);
	}
	assert_int_equal(unknown, 256 - 67);
}

static void test_version(void **state)
{
	uint8_t p[ADV_BTH_LEN] = {ADV_SERVICE_RC | ADV_OP_SEND_ONLY};
	struct adv_headers h;
	uint8_t version;

	assert_int_equal(adv_headers_decode(p, sizeof(p), &h), ADV_BTH_LEN);
	for (version = 1; version < 16; version++) {
		p[1] = version;
		assert_int_equal(adv_headers_decode(p, sizeof(p), &h), 0);
		h.bth.opcode = p[0];
		h.bth.version = version;
		adv_headers_encode(&h, p);
		assert_int_equal(p[1] & 0x0f, version);
	}
}

/* Reserved bits are ignored on receipt (IBTA 9.2) and written as 0. */
static void test_reserved_bits(void **state)
{
	static const uint8_t ones[] = {0x64, 0, 0xff, 0xff, 0x3f, 0, 0,	   1, 0x7f, 0,
				       0,    2, 0,    0,    0,	  3, 0xff, 0, 0,    4};
	static const uint8_t zeros[] = {0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0,
					0,    2, 0,    0,    0, 3, 0, 0, 0, 4};
	static const uint8_t flush[32] = {0x1c, [12] = 0xff, 0xff, 0xff, 0xd1};
	struct adv_headers h = decode_headers(ones, LEN(ones));

	assert_int_equal(h.bth.dest_qpn, 1);
	assert_int_equal(h.bth.psn, 2);
	assert_int_equal(h.deth.src_qpn, 4);
	assert_encodes_to(&h, zeros, LEN(zeros));

	h = decode_headers(flush, LEN(flush));
	assert_int_equal(h.feth.placement, 1);
	assert_int_equal(h.feth.selectivity, 1);
}

/* A value that is too wide for its field does not change other fields. */
static void test_wide_values(void **state)
{
	struct adv_headers h = {.bth.opcode = 0xbc};
	uint8_t out[ADV_HEADERS_MAX];

	h.bth.pad = 0xff;
	h.bth.dest_qpn = h.bth.psn = h.xrceth.xrcsrq = 0xffffffff;
	h.feth.placement = h.feth.selectivity = 0xff;
	assert_int_equal(adv_headers_encode(&h, out), 36);
	assert_int_equal(out[1], 0x30);
	assert_int_equal(out[4], 0);
	assert_int_equal(out[8], 0);
	assert_int_equal(out[12], 0);
	assert_memory_equal(out + 16, "\0\0\0\x3f", 4);
}

static void test_psn_circle(void **state)
{
	assert_int_equal(adv_psn_diff(5, 3), 2);
	assert_int_equal(adv_psn_diff(3, 5), -2);
	assert_int_equal(adv_psn_diff(1, 0xffffff), 2);
	assert_int_equal(adv_psn_diff(0xffffff, 1), -2);
	assert_int_equal(adv_psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(adv_psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(adv_psn_add(0xffffff, 1), 0);
	assert_int_equal(adv_psn_add(0xfffffe, 5), 3);
}

/* After its first values, table 46 is 40 and 60 us, doubled at every second code. */
static void test_rnr_timer(void **state)
{
	uint8_t code;

	assert_int_equal(adv_rnr_timer_ns(0), 655360000);
	assert_int_equal(adv_rnr_timer_ns(1), 10000);
	assert_int_equal(adv_rnr_timer_ns(2), 20000);
	assert_int_equal(adv_rnr_timer_ns(3), 30000);
	for (code = 4; code < 32; code++)
		assert_int_equal(adv_rnr_timer_ns(code), (code & 1 ? 60000u : 40000u)
								 << ((code - 4) / 2));
	assert_int_equal(adv_rnr_timer_ns(0x20 | 12), 640000);
}

static void test_mtu(void **state)
{
	assert_int_equal(adv_mtu_bytes(0), 0);
	assert_int_equal(adv_mtu_bytes(1), 256);
	assert_int_equal(adv_mtu_bytes(2), 512);
	assert_int_equal(adv_mtu_bytes(3), 1024);
	assert_int_equal(adv_mtu_bytes(4), 2048);
	assert_int_equal(adv_mtu_bytes(5), 4096);
	assert_int_equal(adv_mtu_bytes(6), 0);
	assert_int_equal(adv_mtu_bytes(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bth_fields),
		cmocka_unit_test(test_write_with_immediate),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_datagram_and_invalidate),
		cmocka_unit_test(test_xrc_flush),
		cmocka_unit_test(test_cnp),
		cmocka_unit_test(test_each_opcode_both_ways),
		cmocka_unit_test(test_each_opcode_truncated),
		cmocka_unit_test(test_unknown_opcodes),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_reserved_bits),
		cmocka_unit_test(test_wide_values),
		cmocka_unit_test(test_psn_circle),
		cmocka_unit_test(test_rnr_timer),
		cmocka_unit_test(test_mtu),
	};

	return cmocka_run_group_tests_name("wire headers", tests, NULL, NULL);
}
