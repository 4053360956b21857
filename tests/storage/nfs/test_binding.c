/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls and replies of NFS: the items that are found are where the test put them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/nfs/binding.h"
#include "base/bytes.h"

enum { ROOM = 1 << 23, CALL_BODY = 40, REPLY_BODY = 24, MANY = 40 };

static uint8_t message[ROOM];
static size_t used;

static void put(uint32_t v)
{
	adv_put_be32(message + used, v);
	used += 4;
}

static void put64(uint64_t v)
{
	put((uint32_t)(v >> 32));
	put((uint32_t)v);
}

static void put_zeros(size_t n)
{
	memset(message + used, 0, n);
	used += n;
}

/* Puts an opaque<> of `n` bytes. Returns the offset of its contents. */
static size_t put_opaque(size_t n)
{
	size_t at;

	put((uint32_t)n);
	at = used;
	memset(message + used, 0x5a, n);
	used += n;
	put_zeros(adv_rpcrdma_pad(n));
	return at;
}

static struct adv_rpc_call begin_call(uint32_t version, uint32_t procedure)
{
	used = 0;
	put(1), put(0), put(2), put(ADV_NFS_PROGRAM), put(version), put(procedure);
	put_zeros(16);
	return (struct adv_rpc_call){1, ADV_NFS_PROGRAM, version, procedure, false, CALL_BODY};
}

static struct adv_rpc_call begin_reply(uint32_t version, uint32_t procedure)
{
	used = 0;
	put(1), put(1), put(0), put(0), put(0), put(0);
	return (struct adv_rpc_call){1, ADV_NFS_PROGRAM, version, procedure, false, CALL_BODY};
}

/* Scans a copy of exactly `len` bytes, so that reading beyond it is an error. */
static struct adv_nfs_arguments scan_call(const struct adv_rpc_call *call, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct adv_nfs_arguments a;

	memcpy(copy, message, len);
	adv_nfs_scan_call(call, copy, len, &a);
	free(copy);
	return a;
}

static unsigned scan_reply(const struct adv_rpc_call *call, size_t len,
			   struct adv_rpcrdma_item *items)
{
	uint8_t *copy = malloc(len ? len : 1);
	unsigned n;

	memcpy(copy, message, len);
	n = adv_nfs_scan_reply(call, copy, len, items);
	free(copy);
	return n;
}

static void test_v3_write(void **state)
{
	struct adv_rpc_call call = begin_call(3, 7);
	struct adv_nfs_arguments a;
	size_t at;

	put_opaque(28);
	put64(4096), put(9001), put(2);
	at = put_opaque(9001);
	a = scan_call(&call, used);
	assert_int_equal(a.item_count, 1);
	assert_int_equal(a.items[0].offset, at);
	assert_int_equal(a.items[0].length, 9001);
	assert_int_equal(a.result_count, 0);
	assert_int_equal(scan_call(&call, used - 4).item_count, 0);
	call.opaque = true;
	assert_int_equal(scan_call(&call, used).item_count, 0);
	call.opaque = false;
	call.program = 100005;
	assert_int_equal(scan_call(&call, used).item_count, 0);
}

static void test_v3_symlink(void **state)
{
	struct adv_rpc_call call = begin_call(3, 10);
	struct adv_nfs_arguments a;
	size_t at;

	put_opaque(28);
	put_opaque(5);
	put(1), put(0777); /* mode */
	put(0), put(0), put(0);
	put(2), put64(77); /* atime */
	put(1);		   /* mtime: of the server */
	at = put_opaque(11);
	a = scan_call(&call, used);
	assert_int_equal(a.item_count, 1);
	assert_int_equal(a.items[0].offset, at);
}

static void test_v3_expectations(void **state)
{
	struct adv_rpc_call call = begin_call(3, 6);
	struct adv_nfs_arguments a;

	put_opaque(28);
	put64(0), put(65536);
	a = scan_call(&call, used);
	assert_int_equal(a.result_count, 1);
	assert_int_equal(a.results[0], 65536);
	call = begin_call(3, 17);
	put_opaque(28);
	put64(0), put64(0), put(512), put(32768);
	a = scan_call(&call, used);
	assert_int_equal(a.result_count, 0);
	assert_true(a.reply_size == 32768);
	call = begin_call(3, 5);
	put_opaque(28);
	a = scan_call(&call, used);
	assert_int_equal(a.result_count, 1);
	assert_int_equal(a.results[0], 0);
	assert_true(a.reply_size == 4096);
}

static void test_v3_read_result(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_reply(3, 6);
	size_t at;

	put(0), put(1), put_zeros(84), put(1000), put(1);
	at = put_opaque(1000);
	assert_int_equal(scan_reply(&call, used, items), 1);
	assert_int_equal(items[0].offset, at);
	assert_int_equal(items[0].length, 1000);
	adv_put_be32(message + REPLY_BODY, 70); /* NFS3ERR_STALE */
	assert_int_equal(scan_reply(&call, used, items), 0);
	adv_put_be32(message + REPLY_BODY - 4, 2); /* PROG_MISMATCH */
	assert_int_equal(scan_reply(&call, used, items), 0);
}

/* The beginning of a reply to a COMPOUND of version 4.1. */
static struct adv_rpc_call begin_compound(uint32_t operations)
{
	struct adv_rpc_call call = begin_reply(4, 1);

	put(0);
	put_opaque(3); /* tag */
	put(operations);
	put(53), put(0), put_zeros(16 + 20); /* SEQUENCE */
	return call;
}

static void test_v4_reads(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(6);
	size_t first, link, second;

	put(22), put(0); /* PUTFH */
	put(25), put(0), put(1);
	first = put_opaque(70001);
	put(9), put(0), put(2), put(1), put(2); /* GETATTR */
	put_opaque(40);
	put(27), put(0);
	link = put_opaque(6);
	put(25), put(0), put(0);
	second = put_opaque(0);
	assert_int_equal(scan_reply(&call, used, items), 3);
	assert_int_equal(items[0].offset, first);
	assert_int_equal(items[0].length, 70001);
	assert_int_equal(items[1].offset, link);
	assert_int_equal(items[2].offset, second);
	assert_int_equal(items[2].length, 0);
}

static void test_v4_unknown_operation(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(4);

	put(25), put(0), put(1);
	put_opaque(8);
	put(9999), put(0);
	put(25), put(0), put(1);
	put_opaque(8);
	assert_int_equal(scan_reply(&call, used, items), 1);
}

/* A list of directory entries does not nest, however long it is. */
static void test_v4_long_list(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(3);
	size_t at;

	put(26), put(0), put64(1);
	for (unsigned i = 0; i < 200000; i++) {
		put(1), put64(i);
		put_opaque(4);
		put(0), put(0);
	}
	put(0), put(1);
	put(25), put(0), put(1);
	at = put_opaque(100);
	assert_int_equal(scan_reply(&call, used, items), 1);
	assert_int_equal(items[0].offset, at);
}

static void test_v4_write_and_create(void **state)
{
	struct adv_rpc_call call = begin_call(4, 1);
	struct adv_nfs_arguments a;
	size_t link, data;

	put_opaque(0);
	put(2), put(6);
	put(53), put_zeros(16 + 16); /* SEQUENCE */
	put(22);
	put_opaque(28);
	put(6), put(5); /* CREATE of a symbolic link */
	link = put_opaque(20);
	put_opaque(4);
	put(0), put(0);
	put(38), put_zeros(16), put64(0), put(2);
	data = put_opaque(100000);
	put(25), put_zeros(16), put64(0), put(4096);
	put(26), put64(0), put64(0), put(100), put(8192), put(0);
	a = scan_call(&call, used);
	assert_int_equal(a.item_count, 2);
	assert_int_equal(a.items[0].offset, link);
	assert_int_equal(a.items[1].offset, data);
	assert_int_equal(a.result_count, 1);
	assert_int_equal(a.results[0], 4096);
	assert_true(a.reply_size == 8192);
}

/* Puts the beginning of a COMPOUND of version 4.0 with a READ of 4,096 bytes, and a GETATTR of a
 * bitmap. */
static uint64_t fixed_size_of(uint32_t first_word, uint32_t second_word, uint32_t operation)
{
	struct adv_rpc_call call = begin_call(4, 1);

	put_opaque(5);
	put(0), put(4);
	put(22);
	put_opaque(28);
	put(25), put_zeros(16), put64(0), put(4096);
	put(9), put(2), put(first_word), put(second_word);
	put(operation);
	return scan_call(&call, used).fixed_size;
}

static void test_v4_result_sizes(void **state)
{
	/* status, tag, count; PUTFH, READ and GETATTR without values; SAVEFH */
	uint64_t least = 12 + 8 + 8 + 16 + 28 + 8;

	assert_true(fixed_size_of(0, 0, 32) == least);
	assert_true(fixed_size_of(1 << 4, 1 << 1, 32) == least + 400 + 280);
	assert_true(fixed_size_of(0, 1 << 4, 32) == least + 280 + 1028);
	assert_true(fixed_size_of(1 << 12, 0, 32) == 0); /* an access control list */
	assert_true(fixed_size_of(0, 0, 9999) == 0);
	assert_true(fixed_size_of(0, 0, 33) == 0); /* SECINFO without its argument */
}

/* An operation that is known, but whose result may have any length. */
static void test_v4_no_bound(void **state)
{
	struct adv_rpc_call call = begin_call(4, 1);

	put_opaque(0);
	put(1), put(1);
	put(52), put(0); /* SECINFO_NO_NAME */
	assert_true(scan_call(&call, used).fixed_size == 0);
}

/* More READs than there may be items. */
static void test_many_items(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(MANY);

	for (unsigned i = 0; i < MANY; i++) {
		put(25), put(0), put(1);
		put_opaque(8);
	}
	assert_int_equal(scan_reply(&call, used, items), ADV_RPCRDMA_ITEMS_MAX);
	call = begin_call(4, 1);
	put_opaque(0);
	put(1), put(MANY);
	for (unsigned i = 0; i < MANY; i++)
		put(25), put_zeros(16), put64(0), put(4096);
	assert_int_equal(scan_call(&call, used).result_count, ADV_RPCRDMA_ITEMS_MAX);
}

static void test_hostile_counts(void **state)
{
	struct adv_rpc_call call = begin_call(4, 1);

	put_opaque(0);
	put(2), put(0xffffffff);
	assert_int_equal(scan_call(&call, used).item_count, 0);
	put(60), put_zeros(32 + 24 + 8), put(0xffffffff); /* COPY from many servers */
	assert_int_equal(scan_call(&call, used).item_count, 0);
	begin_call(4, 1);
	put(0xfffffffe); /* a tag */
	assert_int_equal(scan_call(&call, used).item_count, 0);
}

static void test_truncated(void **state)
{
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(3);
	size_t end;

	put(25), put(0), put(1);
	put_opaque(50);
	end = used;
	put(18), put(0), put_zeros(16 + 20 + 4), put(0); /* OPEN */
	put(2), put_zeros(16), put(0), put(1), put64(5);
	put(0), put(0), put(0);
	put_opaque(9);
	for (size_t len = 0; len <= used; len++)
		assert_int_equal(scan_reply(&call, len, items), len >= end ? 1 : 0);
}

static void test_reduced(void **state)
{
	struct adv_rpcrdma_item whole[ADV_RPCRDMA_ITEMS_MAX], found[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpc_call call = begin_compound(4);
	const bool reduced[] = {true, false, true};
	struct adv_rpcrdma_pieces p;
	uint8_t *body, *at;

	for (unsigned i = 0; i < 3; i++) {
		put(25), put(0), put(1);
		put_opaque(101 + i);
	}
	assert_int_equal(scan_reply(&call, used, whole), 3);
	adv_rpcrdma_reduce(used, whole, reduced, 3, &p);
	at = body = malloc(p.length);
	for (unsigned i = 0; i < p.count; i++) {
		memcpy(at, message + p.piece[i].offset, p.piece[i].length);
		at += p.piece[i].length;
	}
	assert_int_equal(adv_nfs_scan_reduced_reply(&call, body, p.length, reduced, 3, found), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(found[i].offset, whole[i].offset);
		assert_int_equal(found[i].length, whole[i].length);
	}
	assert_int_equal(adv_nfs_scan_reduced_reply(&call, body, p.length - 8, reduced, 3, found),
			 -1);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v3_write),	cmocka_unit_test(test_v3_symlink),
		cmocka_unit_test(test_v3_expectations), cmocka_unit_test(test_v3_read_result),
		cmocka_unit_test(test_v4_reads),	cmocka_unit_test(test_v4_unknown_operation),
		cmocka_unit_test(test_v4_long_list),	cmocka_unit_test(test_v4_write_and_create),
		cmocka_unit_test(test_v4_result_sizes), cmocka_unit_test(test_v4_no_bound),
		cmocka_unit_test(test_many_items),	cmocka_unit_test(test_hostile_counts),
		cmocka_unit_test(test_truncated),	cmocka_unit_test(test_reduced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
