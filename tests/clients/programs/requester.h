/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the test programs that are NFS clients over RDMA: a connection to a gateway, calls of
 * NFS version 3 with chunks of any kind, and their replies. One call at a time, by librdmacm's
 * synchronous calls. Functions that cannot go on print a line and exit with status 1.
 */
#ifndef TESTS_CLIENTS_REQUESTER_H
#define TESTS_CLIENTS_REQUESTER_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "storage/rpcrdma/header.h"

enum {
	REQUESTER_FILE = 4 << 20,   /* bytes of the server's file */
	REQUESTER_MEMORY = 4 << 20, /* bytes of registered memory for chunks */
	REQUESTER_INLINE = 4096,
	REQUESTER_RECEIVES = 16,
	NFS3_NULL = 0,
	NFS3_GETATTR = 1,
	NFS3_READLINK = 5,
	NFS3_READ = 6,
	NFS3_WRITE = 7,
	NFS3_LOSE = 1000,  /* nfs_server.py */
	NFS3_LATER = 1001, /* likewise */
};

struct requester {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;	   /* of `memory`, for remote reads and writes */
	struct ibv_mr *receive_mr; /* of `receives` and `send` */
	uint8_t *memory;
	uint8_t *receives;
	uint8_t *send;
	struct ibv_mw *mw; /* of requester_bind(), or NULL */
	uint32_t xid;
	uint32_t invalidated; /* by the last reply; 0: none */
	size_t used;	      /* of `memory`, by the chunks of the present call */
};

/* A call: the transport header and what is sent inline. */
struct request {
	struct adv_rpcrdma_header header;
	uint8_t body[REQUESTER_INLINE];
	size_t length;
};

/* What was received. */
struct reply {
	struct adv_rpcrdma_header header;
	uint8_t message[REQUESTER_INLINE];
	size_t length;
};

/* Connects. False: refused. `receives`: how many to post, at most REQUESTER_RECEIVES. */
bool requester_connect(struct requester *r, const char *host, const char *port, unsigned receives);
/* Connects, and tells the gateway that this client supports remote invalidation. False: refused. */
bool requester_connect_invalidating(struct requester *r, const char *host, const char *port);
/* Binds a memory window to the memory for chunks. Returns its key. */
uint32_t requester_bind(struct requester *r);
void requester_close(struct requester *r);

/* Begins a call of a procedure, with the next XID. */
void request_start(struct requester *r, struct request *q, uint32_t procedure);
void request_word(struct request *q, uint32_t value);
void request_opaque(struct request *q, const void *data, uint32_t length);
void request_handle(struct request *q, const char *handle);

/* Adds a segment of the memory that no other one has. Returns that memory. */
uint8_t *request_segment(struct requester *r, uint32_t length, struct adv_rpcrdma_segment *out);
/* Adds the data as a read chunk of `segments` segments at a position of the message. */
void request_read_chunk(struct requester *r, struct request *q, uint32_t position,
			const uint8_t *data, uint32_t length, unsigned segments);
/* Adds a write chunk of `length` bytes. Returns its memory, which is contiguous. */
uint8_t *request_write_chunk(struct requester *r, struct request *q, uint32_t length,
			     unsigned segments);
uint8_t *request_reply_chunk(struct requester *r, struct request *q, uint32_t length,
			     unsigned segments);
/* Makes the message a chunk at position zero, before the other read chunks. */
void request_make_long(struct requester *r, struct request *q, unsigned segments);

/* Sends. False: the connection has ended. */
bool request_send(struct requester *r, struct request *q);
bool requester_send(struct requester *r, const uint8_t *message, size_t length);
/* Waits for a message. False: the connection has ended. */
bool reply_await(struct requester *r, struct reply *reply);

/* Returns the bytes that arrived in a chunk of the reply's header. */
uint32_t reply_chunk_length(const struct reply *reply, const struct adv_rpcrdma_chunk *chunk);

#endif
