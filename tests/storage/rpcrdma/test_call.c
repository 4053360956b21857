/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Heads of RPC messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/rpcrdma/call.h"
#include "base/bytes.h"

enum { CRED_AT = 24, GSS_CRED_LEN = 20 };

static size_t put(uint8_t *out, const uint32_t *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		adv_put_be32(out + 4 * i, words[i]);
	return 4u * count;
}

static void test_call(void **state)
{
	static const uint32_t words[] = {7, 0, 2, 100003, 4, 1, 1, 5, 0x61626364, 0x65000000, 0, 0};
	uint8_t in[sizeof(words)], large[500];
	struct adv_rpc_call c;
	size_t len = put(in, words, 12);

	assert_true(adv_rpc_call_decode(in, len, &c));
	assert_int_equal(c.xid, 7);
	assert_int_equal(c.program, 100003);
	assert_int_equal(c.version, 4);
	assert_int_equal(c.procedure, 1);
	assert_false(c.opaque);
	assert_int_equal(c.body, 48);
	for (size_t i = 0; i < len; i++) {
		uint8_t *copy = malloc(i ? i : 1);

		memcpy(copy, in, i);
		assert_false(adv_rpc_call_decode(copy, i, &c));
		free(copy);
	}
	adv_put_be32(in + 8, 3);
	assert_false(adv_rpc_call_decode(in, len, &c));
	adv_put_be32(in + 8, 2);
	adv_put_be32(in + 28, 0xfffffffc);
	assert_false(adv_rpc_call_decode(in, len, &c));
	adv_put_be32(in + 28, 0xfffffffd); /* with its padding 0 */
	assert_false(adv_rpc_call_decode(in, len, &c));
	memset(large, 0, sizeof(large));
	memcpy(large, in, 24);
	adv_put_be32(large + 28, 400);
	assert_true(adv_rpc_call_decode(large, sizeof(large), &c));
	assert_int_equal(c.body, 24 + 8 + 400 + 8);
	adv_put_be32(large + 28, 401);
	assert_false(adv_rpc_call_decode(large, sizeof(large), &c));
}

static bool gss_is_opaque(uint32_t procedure, uint32_t service)
{
	uint32_t words[] = {7, 0,	  2, 100003,  3, 6, 6, GSS_CRED_LEN,
			    1, procedure, 1, service, 0, 0, 0};
	uint8_t in[sizeof(words)];
	struct adv_rpc_call c;

	assert_true(adv_rpc_call_decode(in, put(in, words, 15), &c));
	return c.opaque;
}

static void test_gss(void **state)
{
	assert_false(gss_is_opaque(0, 1));
	assert_true(gss_is_opaque(0, 2));
	assert_true(gss_is_opaque(0, 3));
	assert_true(gss_is_opaque(1, 1));
}

static void test_reply(void **state)
{
	uint32_t words[] = {7, 1, 0, 0, 4, 0, 0, 99};
	uint8_t in[sizeof(words)];
	size_t body = 0, len = put(in, words, 8);

	assert_true(adv_rpc_reply_results(in, len, &body));
	assert_int_equal(body, 28);
	assert_false(adv_rpc_reply_results(in, 27, &body));
	adv_put_be32(in + 24, 1); /* PROG_UNAVAIL */
	assert_false(adv_rpc_reply_results(in, len, &body));
	adv_put_be32(in + 24, 0);
	adv_put_be32(in + 8, 1); /* denied */
	assert_false(adv_rpc_reply_results(in, len, &body));
	adv_put_be32(in + 8, 0);
	adv_put_be32(in + 4, 0); /* a call */
	assert_false(adv_rpc_reply_results(in, len, &body));
}

static void test_failed(void **state)
{
	uint8_t out[ADV_RPC_FAILED_LEN];
	enum adv_rpc_kind kind;
	uint32_t xid;
	size_t body;

	adv_rpc_failed_encode(77, out);
	assert_true(adv_rpc_kind(out, sizeof(out), &xid, &kind));
	assert_int_equal(xid, 77);
	assert_int_equal(kind, ADV_RPC_REPLY);
	assert_false(adv_rpc_reply_results(out, sizeof(out), &body));
	assert_false(adv_rpc_kind(out, 7, &xid, &kind));
	assert_false(adv_rpc_kind(out + 4, 8, &xid, &kind) && kind == ADV_RPC_REPLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_gss),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
