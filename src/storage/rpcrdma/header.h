/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport header of RPC-over-RDMA version 1 (RFC 8166, section 4): it precedes each RPC
 * message in a SEND, and lists the memory from which, or to which, parts of messages move by RDMA.
 */
#ifndef ADV_STORAGE_RPCRDMA_HEADER_H
#define ADV_STORAGE_RPCRDMA_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADV_RPCRDMA_VERSION = 1,
	ADV_RPCRDMA_PORT = 20049, /* IANA: nfsrdma */
	/* The most that one header may list here. A header of 4,096 bytes has room for fewer than
	 * 256 segments; Linux lists at most 64 in all. */
	ADV_RPCRDMA_READS_MAX = 128,
	ADV_RPCRDMA_SEGMENTS_MAX = 256,
	ADV_RPCRDMA_WRITES_MAX = 16,
	/* An RDMA_ERROR, and the smallest RDMA_MSG, in bytes. */
	ADV_RPCRDMA_ERROR_LEN = 28,
	ADV_RPCRDMA_SMALLEST_LEN = 28,
};

enum adv_rpcrdma_procedure {
	ADV_RPCRDMA_MSG,   /* the RPC message follows the header */
	ADV_RPCRDMA_NOMSG, /* a chunk conveys the RPC message */
	ADV_RPCRDMA_MSGP,  /* obsolete */
	ADV_RPCRDMA_DONE,  /* obsolete */
	ADV_RPCRDMA_ERROR,
};

enum adv_rpcrdma_error { ADV_RPCRDMA_ERR_VERS = 1, ADV_RPCRDMA_ERR_CHUNK = 2 };

/* Registered memory of the requester. */
struct adv_rpcrdma_segment {
	uint32_t handle; /* R_Key */
	uint32_t length;
	uint64_t offset; /* virtual address */
};

struct adv_rpcrdma_read {
	uint32_t position; /* of the data item in the XDR stream; 0: the message itself */
	struct adv_rpcrdma_segment segment;
};

/* Consecutive elements of adv_rpcrdma_header.segments. */
struct adv_rpcrdma_chunk {
	unsigned first, count;
};

struct adv_rpcrdma_header {
	uint32_t xid;
	uint32_t version;
	uint32_t credits; /* requested or granted */
	enum adv_rpcrdma_procedure procedure;

	/* RDMA_ERROR only. */
	enum adv_rpcrdma_error error;
	uint32_t version_low, version_high; /* ERR_VERS: the supported versions */

	/* The other procedures. */
	struct adv_rpcrdma_read reads[ADV_RPCRDMA_READS_MAX];
	unsigned read_count;
	struct adv_rpcrdma_chunk writes[ADV_RPCRDMA_WRITES_MAX];
	unsigned write_count;
	struct adv_rpcrdma_chunk reply;
	bool has_reply;
	struct adv_rpcrdma_segment segments[ADV_RPCRDMA_SEGMENTS_MAX]; /* of writes and reply */
	unsigned segment_count;
};

enum adv_rpcrdma_decoded {
	ADV_RPCRDMA_OK,
	ADV_RPCRDMA_TRUNCATED, /* not even an XID and a version: drop the message */
	ADV_RPCRDMA_BAD_VERSION,
	ADV_RPCRDMA_BAD_HEADER, /* an unknown procedure, or a list that is wrong or too long */
};

/* Decodes the header of a received message. `used` gets its length: the RPC message begins there.
 * With BAD_VERSION and BAD_HEADER, `h` has xid, version and credits. */
enum adv_rpcrdma_decoded adv_rpcrdma_header_decode(const uint8_t *in, size_t len,
						   struct adv_rpcrdma_header *h, size_t *used);

/* Returns the length of the encoded header. */
size_t adv_rpcrdma_header_size(const struct adv_rpcrdma_header *h);
/* Encodes a header. Returns its length, or 0 if `room` is too small. */
size_t adv_rpcrdma_header_encode(const struct adv_rpcrdma_header *h, uint8_t *out, size_t room);

/* Returns the sum of the lengths of a chunk's segments. */
uint64_t adv_rpcrdma_chunk_length(const struct adv_rpcrdma_header *h,
				  const struct adv_rpcrdma_chunk *chunk);
/* Returns the R_Key that the responder may invalidate with its reply: all chunks of the call have
 * it (RFC 8797, section 4.1). 0: there is none. */
uint32_t adv_rpcrdma_invalidatable(const struct adv_rpcrdma_header *h);

#endif
