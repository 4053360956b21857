/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The private data, as the Linux client sends it, and what else may arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "storage/rpcrdma/private_data.h"

static const uint8_t linux_client[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};

static void test_linux(void **state)
{
	struct adv_rpcrdma_private_data p = {true, 4096, 4096};
	uint8_t out[ADV_RPCRDMA_PRIVATE_LEN];

	adv_rpcrdma_private_data_encode(&p, out);
	assert_memory_equal(out, linux_client, sizeof(out));
	memset(&p, 0, sizeof(p));
	assert_true(adv_rpcrdma_private_data_decode(linux_client, sizeof(linux_client), &p));
	assert_true(p.remote_invalidation);
	assert_int_equal(p.send_size, 4096);
	assert_int_equal(p.receive_size, 4096);
}

static void test_absent(void **state)
{
	struct adv_rpcrdma_private_data p;
	uint8_t other[8] = {0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3};

	assert_false(adv_rpcrdma_private_data_decode(NULL, 0, &p));
	assert_false(p.remote_invalidation);
	assert_int_equal(p.receive_size, ADV_RPCRDMA_INLINE_DEFAULT);
	assert_false(adv_rpcrdma_private_data_decode(linux_client, 7, &p));
	assert_false(adv_rpcrdma_private_data_decode(other, sizeof(other), &p));
	assert_int_equal(p.send_size, ADV_RPCRDMA_INLINE_DEFAULT);
}

static void test_behind_other_bytes(void **state)
{
	struct adv_rpcrdma_private_data p;
	uint8_t in[56] = {0};

	memcpy(in + 36, linux_client, sizeof(linux_client));
	assert_true(adv_rpcrdma_private_data_decode(in, sizeof(in), &p));
	assert_int_equal(p.receive_size, 4096);
}

static void test_sizes(void **state)
{
	struct adv_rpcrdma_private_data p = {false, 100, 1 << 30};
	uint8_t out[ADV_RPCRDMA_PRIVATE_LEN];

	adv_rpcrdma_private_data_encode(&p, out);
	assert_true(adv_rpcrdma_private_data_decode(out, sizeof(out), &p));
	assert_int_equal(p.send_size, 1024);
	assert_int_equal(p.receive_size, ADV_RPCRDMA_INLINE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linux),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_behind_other_bytes),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
