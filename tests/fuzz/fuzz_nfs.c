/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first byte chooses the version of NFS and the procedure, the second one what is removed from
 * a reduced reply; the rest is a call or a reply. Checks that the items are in order and inside the
 * message, and that a reply is the same after reducing and joining it.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/nfs/binding.h"

static void check_items(const struct adv_rpcrdma_item *items, unsigned count, size_t size)
{
	size_t end = 0;

	FUZZ_CHECK(count <= ADV_RPCRDMA_ITEMS_MAX);
	for (unsigned i = 0; i < count; i++) {
		FUZZ_CHECK(items[i].offset >= end && items[i].offset % 4 == 0);
		end = items[i].offset + items[i].length + adv_rpcrdma_pad(items[i].length);
		FUZZ_CHECK(end <= size);
	}
}

/* Reduces a reply, scans it again and compares the items. */
static void check_reduced(const struct adv_rpc_call *call, const uint8_t *data, size_t size,
			  const struct adv_rpcrdma_item *items, unsigned count, uint8_t mask)
{
	struct adv_rpcrdma_item again[ADV_RPCRDMA_ITEMS_MAX];
	bool reduced[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_rpcrdma_pieces p;
	uint8_t *body = malloc(size + 1), *at = body;
	int n;

	for (unsigned i = 0; i < ADV_RPCRDMA_ITEMS_MAX; i++)
		reduced[i] = mask >> (i % 8) & 1;
	adv_rpcrdma_reduce(size, items, reduced, count, &p);
	for (unsigned i = 0; i < p.count; i++) {
		memcpy(at, data + p.piece[i].offset, p.piece[i].length);
		at += p.piece[i].length;
	}
	n = adv_nfs_scan_reduced_reply(call, body, p.length, reduced, count, again);
	FUZZ_CHECK(n == -1 || (unsigned)n >= count);
	for (int i = 0; n >= 0 && i < (int)count; i++)
		FUZZ_CHECK(again[i].offset == items[i].offset &&
			   again[i].length == items[i].length);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct adv_rpc_call call = {.program = ADV_NFS_PROGRAM};
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	struct adv_nfs_arguments arguments;
	unsigned count;

	if (size < 2)
		return 0;
	call.version = data[0] & 1 ? 4 : 3;
	call.procedure = call.version == 4 ? 1 : data[0] >> 1 & 31;
	adv_nfs_scan_call(&call, data + 2, size - 2, &arguments);
	check_items(arguments.items, arguments.item_count, size - 2);
	FUZZ_CHECK(arguments.result_count <= ADV_RPCRDMA_ITEMS_MAX);
	count = adv_nfs_scan_reply(&call, data + 2, size - 2, items);
	check_items(items, count, size - 2);
	check_reduced(&call, data + 2, size - 2, items, count, data[1]);
	return 0;
}
