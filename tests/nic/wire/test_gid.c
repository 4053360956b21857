/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "test_util.h"
#include "nic/wire/gid.h"

static void text_of_an_address(void **state)
{
	const struct adv_gid ipv4 = {{[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, 2, 77}};
	const struct adv_gid ipv6 = {{0x20, 0x01, 0x0d, 0xb8, [14] = 1, [15] = 2}};
	const struct adv_gid compatible = {{[12] = 192, [13] = 0, 2, 77}};
	/* No IPv6 address has a longer text. */
	const struct adv_gid longest = {{0xff, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf1, 0x23,
					 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}};
	char text[ADV_GID_TEXT_LENGTH];

	assert_ptr_equal(adv_gid_text(&ipv4, text), text);
	assert_string_equal(text, "192.0.2.77");
	assert_string_equal(adv_gid_text(&ipv6, text), "2001:db8::102");
	assert_string_equal(adv_gid_text(&compatible, text), "::192.0.2.77");
	assert_string_equal(adv_gid_text(&longest, text),
			    "ff12:3456:789a:bcde:f123:4567:89ab:cdef");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(text_of_an_address)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
