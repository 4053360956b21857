/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "base/array.h"
#include "nic/wire/opcode.h"

#define DETH   ADV_HAS_DETH
#define RETH   ADV_HAS_RETH
#define ATOMIC ADV_HAS_ATOMICETH
#define AETH   ADV_HAS_AETH
#define AACK   (ADV_HAS_AETH | ADV_HAS_ATOMICACKETH)
#define IMM    ADV_HAS_IMMDT
#define IETH   ADV_HAS_IETH
#define FLUSH  (ADV_HAS_FETH | ADV_HAS_RETH)

struct expected {
	uint8_t opcode;
	const char *name;
	uint16_t headers;
	uint8_t length;
};

/* Tables 35 and 38 of IBTA vol. 1, and annex A19. */
static const struct expected rc[] = {
	{0x00, "RC SEND_FIRST", 0, 12},
	{0x01, "RC SEND_MIDDLE", 0, 12},
	{0x02, "RC SEND_LAST", 0, 12},
	{0x03, "RC SEND_LAST_WITH_IMM", IMM, 16},
	{0x04, "RC SEND_ONLY", 0, 12},
	{0x05, "RC SEND_ONLY_WITH_IMM", IMM, 16},
	{0x06, "RC WRITE_FIRST", RETH, 28},
	{0x07, "RC WRITE_MIDDLE", 0, 12},
	{0x08, "RC WRITE_LAST", 0, 12},
	{0x09, "RC WRITE_LAST_WITH_IMM", IMM, 16},
	{0x0a, "RC WRITE_ONLY", RETH, 28},
	{0x0b, "RC WRITE_ONLY_WITH_IMM", RETH | IMM, 32},
	{0x0c, "RC READ_REQUEST", RETH, 28},
	{0x0d, "RC READ_RESPONSE_FIRST", AETH, 16},
	{0x0e, "RC READ_RESPONSE_MIDDLE", 0, 12},
	{0x0f, "RC READ_RESPONSE_LAST", AETH, 16},
	{0x10, "RC READ_RESPONSE_ONLY", AETH, 16},
	{0x11, "RC ACKNOWLEDGE", AETH, 16},
	{0x12, "RC ATOMIC_ACKNOWLEDGE", AACK, 24},
	{0x13, "RC COMPARE_SWAP", ATOMIC, 40},
	{0x14, "RC FETCH_ADD", ATOMIC, 40},
	{0x16, "RC SEND_LAST_WITH_INV", IETH, 16},
	{0x17, "RC SEND_ONLY_WITH_INV", IETH, 16},
	{0x1c, "RC FLUSH", FLUSH, 32},
	{0x1d, "RC ATOMIC_WRITE", RETH, 28},
};
#define RC_COUNT ADV_ARRAY_SIZE(rc)

static bool is_response(uint8_t op)
{
	return op >= 0x0d && op <= 0x12;
}

static void check_opcode(const struct expected *e)
{
	const struct adv_opcode_info *info = &adv_opcode_table[e->opcode];

	assert_non_null(info->name);
	assert_string_equal(info->name, e->name);
	assert_int_equal(info->headers, e->headers);
	assert_int_equal(info->length, e->length);
}

static void test_rc(void **state)
{
	size_t i;

	for (i = 0; i < RC_COUNT; i++)
		check_opcode(&rc[i]);
}

/* XRC is RC at 0xa0, with an XRCETH of 4 bytes in each request. */
static void test_xrc(void **state)
{
	size_t i;

	for (i = 0; i < RC_COUNT; i++) {
		struct expected e = rc[i];
		char name[40] = "X";

		strncat(name, e.name, sizeof(name) - 2);
		e.name = name;
		if (!is_response(e.opcode)) {
			e.headers |= ADV_HAS_XRCETH;
			e.length += 4;
		}
		e.opcode |= 0xa0;
		check_opcode(&e);
	}
}

/* UC is RC's SENDs and WRITEs without invalidation at 0x20. */
static void test_uc(void **state)
{
	size_t i;

	for (i = 0; rc[i].opcode < 0x0c; i++) {
		struct expected e = rc[i];
		char name[40] = "U";

		strncat(name, e.name + 1, sizeof(name) - 2);
		e.name = name;
		e.opcode |= 0x20;
		check_opcode(&e);
	}
	assert_int_equal(i, 12);
}

static void test_ud_and_others(void **state)
{
	static const struct expected others[] = {
		{0x64, "UD SEND_ONLY", DETH, 20},   {0x65, "UD SEND_ONLY_WITH_IMM", DETH | IMM, 24},
		{0x81, "CNP", ADV_HAS_CNP_PAD, 28}, {0xc0, "PROBE", DETH, 20},
		{0xc1, "ANSWER", DETH, 20},
	};
	size_t i;

	for (i = 0; i < 5; i++)
		check_opcode(&others[i]);
	for (i = 2; i < 5; i++)
		assert_int_equal(adv_opcode_table[others[i].opcode].flags,
				 ADV_PKT_START | ADV_PKT_END);
}

static void test_nothing_else(void **state)
{
	unsigned i, known = 0;

	for (i = 0; i < 256; i++) {
		const struct adv_opcode_info *info = &adv_opcode_table[i];

		if (info->name) {
			known++;
			continue;
		}
		assert_int_equal(info->headers, 0);
		assert_int_equal(info->flags, 0);
		assert_int_equal(info->length, 0);
	}
	assert_int_equal(known, 25 + 25 + 12 + 2 + 1 + 2);
}

static bool has_either(const char *name, const char *a, const char *b)
{
	return strstr(name, a) || strstr(name, b);
}

/* Returns the position in the message, derived from the name of the opcode. */
static uint16_t place_of(const char *name)
{
	if (strstr(name, "_FIRST"))
		return ADV_PKT_START;
	if (strstr(name, "_MIDDLE"))
		return 0;
	if (strstr(name, "_LAST"))
		return ADV_PKT_END;
	return ADV_PKT_START | ADV_PKT_END;
}

static uint16_t kind_of(const char *name)
{
	uint16_t kind = strstr(name, "RESPONSE") || strstr(name, "ACK") ? ADV_PKT_RESPONSE
									: ADV_PKT_REQUEST;

	if (strstr(name, " SEND"))
		kind |= ADV_PKT_SEND;
	if (strstr(name, " WRITE"))
		kind |= ADV_PKT_WRITE;
	if (strstr(name, "READ"))
		kind |= ADV_PKT_READ;
	if (strstr(name, "ATOMIC_ACK") || has_either(name, "SWAP", "FETCH_ADD"))
		kind |= ADV_PKT_ATOMIC;
	if (strstr(name, "RESPONSE") || has_either(name, "SEND", "WRITE"))
		kind |= ADV_PKT_PAYLOAD;
	return kind;
}

static void test_flags_follow_names(void **state)
{
	unsigned i;

	for (i = 0; i < 256; i++) {
		const struct adv_opcode_info *info = &adv_opcode_table[i];

		if (info->name && i != ADV_OPCODE_CNP && i < ADV_OPCODE_PROBE)
			assert_int_equal(info->flags, place_of(info->name) | kind_of(info->name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rc),	     cmocka_unit_test(test_xrc),
		cmocka_unit_test(test_uc),	     cmocka_unit_test(test_ud_and_others),
		cmocka_unit_test(test_nothing_else), cmocka_unit_test(test_flags_follow_names),
	};

	return cmocka_run_group_tests_name("wire opcode", tests, NULL, NULL);
}
