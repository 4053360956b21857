/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The neighbours of RoCE v1, and changes of the GID table between the search and its use. The
 * neighbours have link-local GIDs that contain their MAC address, so no adverbd is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/device/internal.h"
#include "runtime/device/neighbour.h"

static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

static struct adv_gid_entry entry(uint8_t last, uint8_t type)
{
	return (struct adv_gid_entry){
		.gid.raw = {0xfe, 0x80, [15] = last}, .ifindex = last, .type = type};
}

/* Returns a device whose table has a GID of RoCE v2 and one of RoCE v1. Only what the functions
 * under test use exists. */
static struct adv_device *make_device(void)
{
	struct adv_device *d = test_calloc(1, sizeof(*d));

	pthread_mutex_init(&d->gids_lock, NULL);
	d->v1 = true;
	d->gids.count = 2;
	d->gids.entry[0] = entry(1, ADV_GID_ROCE_V2);
	d->gids.entry[1] = entry(1, ADV_GID_ROCE_V1);
	return d;
}

static struct ibv_ah_attr attr_of(uint8_t index)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.grh = {.sgid_index = index,
			.dgid.raw = {0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
				     mac[3], mac[4], mac[5]}}};
}

static void test_found(void **state)
{
	static const uint8_t none[6];
	struct adv_device *d = make_device();
	struct ibv_ah_attr attr = attr_of(1);
	struct adv_next_hop n;

	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	assert_memory_equal(n.mac, mac, 6);
	assert_true(adv_device_next_hop_holds(d, &attr, &n));
	attr.grh.sgid_index = 0;
	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	assert_memory_equal(n.mac, none, 6);
	assert_true(adv_device_next_hop_holds(d, &attr, &n));
	test_free(d);
}

/* An address comes: the GID of RoCE v1 moves, and another one has its index. */
static void test_address_comes(void **state)
{
	struct adv_device *d = make_device();
	struct ibv_ah_attr attr = attr_of(1);
	struct adv_next_hop n;

	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	d->gids.count = 4;
	d->gids.entry[2] = d->gids.entry[1];
	d->gids.entry[1] = entry(2, ADV_GID_ROCE_V2);
	d->gids.entry[3] = entry(2, ADV_GID_ROCE_V1);
	assert_false(adv_device_next_hop_holds(d, &attr, &n));
	test_free(d);
}

/* An address goes: an index of RoCE v2 becomes one of RoCE v1, whose packets need a MAC address. */
static void test_version_changes(void **state)
{
	struct adv_device *d = make_device();
	struct ibv_ah_attr attr = attr_of(0);
	struct adv_next_hop n;

	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	d->gids.entry[0] = d->gids.entry[1];
	d->gids.count = 1;
	assert_false(adv_device_next_hop_holds(d, &attr, &n));
	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	assert_memory_equal(n.mac, mac, 6);
	assert_true(adv_device_next_hop_holds(d, &attr, &n));
	test_free(d);
}

/* The same version, but another address of this machine. */
static void test_address_changes(void **state)
{
	struct adv_device *d = make_device();
	struct ibv_ah_attr attr = attr_of(1);
	struct adv_next_hop n;

	assert_int_equal(adv_device_find_mac(d, &attr, &n), 0);
	d->gids.entry[1] = entry(9, ADV_GID_ROCE_V1);
	assert_false(adv_device_next_hop_holds(d, &attr, &n));
	d->gids.count = 1;
	assert_false(adv_device_next_hop_holds(d, &attr, &n));
	test_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_address_comes),
		cmocka_unit_test(test_version_changes),
		cmocka_unit_test(test_address_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
