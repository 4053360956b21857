/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of messages: bits, both orders, members in several places, and structures in structures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/layout.h"

struct inner {
	uint16_t number;
	bool flag;
};

struct message {
	uint64_t wide;
	uint32_t split;
	uint32_t middle;
	uint8_t bytes[3];
	struct inner inner;
};

#define INNER(member) ADV_FIELD_INTO(struct inner, member)
#define INTO(member)  ADV_FIELD_INTO(struct message, member)

static const struct adv_field inner_fields[] = {
	{0, 3, 12, INNER(number)},
	{1, 1, 1, INNER(flag)},
};
static const struct adv_layout inner = ADV_LAYOUT_BE(inner_fields);

static const struct adv_field fields[] = {
	{0, 0, 64, INTO(wide)},	   {9, 0, 8, INTO(split)},  {8, 0, 8, INTO(split), 8},
	{10, 4, 20, INTO(middle)}, {13, 0, 0, INTO(bytes)}, {16, 0, 0, INTO(inner), .of = &inner},
};
static const struct adv_layout big = ADV_LAYOUT_BE(fields);
static const struct adv_layout little = ADV_LAYOUT_LE(fields);

static const struct message value = {0x0102030405060708, 0xabcd, 0x54321, "xyz", {0x7ff, true}};

static void test_network_order(void **state)
{
	static const uint8_t bytes[18] = {1,	2,    3,    4,	  5,   6,   7,	 8,    0xab,
					  0xcd, 0x54, 0x32, 0x10, 'x', 'y', 'z', 0x3f, 0xfa};
	uint8_t out[18] = {0};
	struct message m = {0};

	adv_layout_encode(&big, &value, out);
	assert_memory_equal(out, bytes, sizeof(out));
	adv_layout_decode(&big, bytes, &m);
	assert_memory_equal(&m, &value, sizeof(m));
}

static void test_little_endian(void **state)
{
	static const uint8_t bytes[13] = {8, 7, 6, 5, 4, 3, 2, 1, 0xab, 0xcd, 0x10, 0x32, 0x54};
	uint8_t out[18] = {0};
	struct message m = {0};

	adv_layout_encode(&little, &value, out);
	assert_memory_equal(out, bytes, sizeof(bytes));
	adv_layout_decode(&little, out, &m);
	assert_memory_equal(&m, &value, sizeof(m));
}

/* Bits that belong to no field stay, and values are cut to their field. */
static void test_other_bits(void **state)
{
	struct message m = {.middle = 0xffffffff, .inner = {.number = 0xf000}};
	uint8_t out[18];

	memset(out, 0xff, sizeof(out));
	adv_layout_encode(&big, &m, out);
	assert_int_equal(out[12], 0xff);
	assert_int_equal(out[16], 0x80);
	assert_int_equal(out[17], 0x05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network_order),
		cmocka_unit_test(test_little_endian),
		cmocka_unit_test(test_other_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
