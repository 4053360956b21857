/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of the hosts of an emulated fabric. Programs on them: tests/clients, group fabric.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "link/port.h"

static const struct adv_port_place place = {.hosts = 300, .network = 0x0a1f00f0};

static void test_addresses(void **state)
{
	for (uint32_t host = 0; host < place.hosts; host++)
		for (unsigned local = 0; local < 2; local++) {
			struct adv_gid gid;

			adv_port_gid(&place, host, local, &gid);
			assert_int_equal(adv_gid_is_ipv4(&gid), !local);
			assert_int_equal(adv_port_host_of(&place, &gid), host);
		}
}

/* The link-local address is the one that the kernel makes of the MAC address. */
static void test_link_local(void **state)
{
	static const uint8_t wanted[16] = {0xfe, 0x80, [9] = 0xad, [11] = 0xff, 0xfe, 0, 1, 2};
	struct adv_gid gid;
	uint8_t mac[6];

	adv_port_mac(0x101, mac);
	assert_memory_equal(mac, ((uint8_t[]){0x02, 0xad, 0, 0, 1, 2}), 6);
	adv_port_gid(&place, 0x101, true, &gid);
	assert_memory_equal(gid.raw, wanted, 16);
}

/* Whatever differs in one bit is another host or none. */
static void test_foreign(void **state)
{
	for (unsigned local = 0; local < 2; local++)
		for (unsigned bit = 0; bit < 128; bit++) {
			struct adv_gid gid;
			uint32_t host;

			adv_port_gid(&place, 7, local, &gid);
			gid.raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
			host = adv_port_host_of(&place, &gid);
			assert_true(host != 7 && (host == UINT32_MAX || host < place.hosts));
			assert_true(bit >= 96 || host == UINT32_MAX);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
