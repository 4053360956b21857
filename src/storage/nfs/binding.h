/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The binding of NFS to RPC-over-RDMA (RFC 8267): which parts of a call and of a reply may move by
 * RDMA. Versions 3 and 4 have such parts. Other programs, such as MOUNT, NLM and NFSACL, have none.
 */
#ifndef ADV_STORAGE_NFS_BINDING_H
#define ADV_STORAGE_NFS_BINDING_H

#include "storage/rpcrdma/call.h"
#include "storage/rpcrdma/pieces.h"

enum { ADV_NFS_PROGRAM = 100003, ADV_NFS_PORT = 2049 };

/* What the arguments of a call say. */
struct adv_nfs_arguments {
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX]; /* in the call */
	unsigned item_count;
	/* Sizes of the DDP-eligible results, at most. 0: its bytes are in reply_size. */
	uint32_t results[ADV_RPCRDMA_ITEMS_MAX];
	unsigned result_count;
	uint64_t reply_size; /* further bytes of the reply that the arguments permit */
	/* The most bytes of the rest of a COMPOUND's result. 0: no bound is known. */
	uint64_t fixed_size;
};

/* Finds the DDP-eligible items of a whole call of `len` bytes. If the call ends early, or has an
 * operation that is unknown, the items before it are found. */
void adv_nfs_scan_call(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
		       struct adv_nfs_arguments *out);

/* Finds the DDP-eligible items of the whole reply to a call. Returns their number. */
unsigned adv_nfs_scan_reply(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
			    struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX]);

/* Finds the items of a reduced reply: those for which `reduced` is true are not in it. An item's
 * offset is that in the whole reply. The lengths are those that the reply states. Returns -1 if the
 * reply is not complete or has an unknown operation. */
int adv_nfs_scan_reduced_reply(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
			       const bool *reduced, unsigned reduced_count,
			       struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX]);

#endif
