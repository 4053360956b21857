/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An index of adverbd's GID table is not used in the table of the process, which may be older or
 * newer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/rdmacm/gid_index.h"

#define COUNT 6

/* Two addresses, and one that both interfaces have, in a table of both versions of RoCE. */
static const struct {
	uint8_t last;
	uint32_t ifindex;
} address[COUNT / 2] = {{1, 2}, {9, 2}, {9, 3}};

static struct ibv_gid_entry table[COUNT];

static int fill(void **state)
{
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < COUNT; i++) {
		table[i].gid.raw[15] = address[i % (COUNT / 2)].last;
		table[i].ndev_ifindex = address[i % (COUNT / 2)].ifindex;
		table[i].gid_index = i;
		table[i].gid_type = i < COUNT / 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	}
	return 0;
}

static int find(uint8_t last, uint32_t ifindex, bool v1, size_t count)
{
	/* In the table of adverbd, an address before it is gone. */
	const struct adv_ucma_route route = {
		.sgid.raw[15] = last, .ifindex = ifindex, .v1 = v1, .sgid_index = 0};

	return adv_rdma_find_gid(table, count, &route);
}

static void test_own_index(void **state)
{
	assert_int_equal(find(1, 2, false, COUNT), 0);
	assert_int_equal(find(9, 2, false, COUNT), 1);
	assert_int_equal(find(9, 3, false, COUNT), 2);
	assert_int_equal(find(9, 3, true, COUNT), 5);
}

/* The versions of a process with one version: its own packets within the machine are RoCE v2. */
static void test_one_version(void **state)
{
	assert_int_equal(find(9, 3, true, COUNT / 2), 2);
	for (unsigned i = 0; i < COUNT; i++)
		table[i].gid_type = IBV_GID_TYPE_ROCE_V1;
	assert_int_equal(find(9, 2, false, COUNT / 2), 1);
}

static void test_gone(void **state)
{
	assert_int_equal(find(7, 2, false, COUNT), -1);
	assert_int_equal(find(1, 3, false, COUNT), -1);
	assert_int_equal(find(1, 2, false, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_own_index, fill),
		cmocka_unit_test_setup(test_one_version, fill),
		cmocka_unit_test_setup(test_gone, fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
