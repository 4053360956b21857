/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester's side: which parts of a call the responder fetches by RDMA READ, and the memory
 * that it gets for the reply (RFC 8166, section 3.4 and 3.5).
 */
#ifndef ADV_STORAGE_RPCRDMA_REQUEST_H
#define ADV_STORAGE_RPCRDMA_REQUEST_H

#include "storage/rpcrdma/pieces.h"

/* A whole call, and what is known of its reply. */
struct adv_rpcrdma_message {
	size_t length;
	const struct adv_rpcrdma_item *items; /* DDP-eligible arguments, in order */
	unsigned item_count;
	const uint32_t
		*results; /* most bytes of each DDP-eligible result; 0: no write chunk for it */
	unsigned result_count;
	uint64_t rest;		  /* most bytes of the reply without those results */
	size_t send_threshold;	  /* the largest SEND to the responder, bytes */
	size_t receive_threshold; /* the largest SEND of the responder, bytes */
	size_t reply_max;	  /* most bytes of memory for the reply */
};

/*
 * How a call is sent. The segments have no handle yet, and offsets instead of addresses: those of
 * `header.reads` in the call, those of `header.segments` in the memory for the reply. Each write
 * chunk has one segment, or none if there was no memory for it.
 */
struct adv_rpcrdma_request {
	struct adv_rpcrdma_header header;  /* its xid and credits are the caller's */
	struct adv_rpcrdma_pieces inlined; /* of the call; nothing with RDMA_NOMSG */
	size_t reply_bytes;		   /* memory for the reply; 0: the reply fits a SEND */
};

/* Plans a call. False: no header of the permitted length can describe it. */
bool adv_rpcrdma_request_plan(const struct adv_rpcrdma_message *m, struct adv_rpcrdma_request *out);

/* Checks the chunks of a reply against those that its call offered. `reduced` gets for each write
 * chunk of the call whether it has data. False: the responder states more than was offered, or
 * other memory. If two calls have one XID, the reply to the other one has other memory; in that of
 * this call is what somebody else left there. */
bool adv_rpcrdma_reply_check(const struct adv_rpcrdma_header *call,
			     const struct adv_rpcrdma_header *reply,
			     bool reduced[ADV_RPCRDMA_WRITES_MAX]);

#endif
