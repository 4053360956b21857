/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_NFS_GATEWAY_SESSION_INTERNAL_H
#define ADV_STORAGE_NFS_GATEWAY_SESSION_INTERNAL_H

#include "storage/nfs_gateway/session.h"
#include "storage/nfs/binding.h"
#include "storage/rpcrdma/private_data.h"
#include "storage/gateway/memory.h"
#include "storage/gateway/peer.h"
#include "storage/kit/stream.h"

enum {
	ADV_NFS_CREDITS = 64,
	ADV_NFS_INLINE = 4096, /* bytes of a SEND, both ways */
	/* Calls of a client whose replies it has not received yet, and errors likewise. A client
	 * that keeps to its credits may send the next call before the gateway knows that the reply
	 * arrived.
	 */
	ADV_NFS_CALLS_MAX = 2 * ADV_NFS_CREDITS,
	/* Calls of the back channel that a client may have unanswered (RFC 8167, section 4.1): no
	 * client has room for fewer than two. */
	ADV_NFS_BACK_CALLS = 2,
};

struct adv_nfs_session {
	struct adv_list link; /* gateway->sessions */
	struct adv_gateway *gateway;
	struct adv_gateway_buffers *buffers;
	struct adv_endpoint *endpoint;
	struct adv_stream *stream; /* NULL: not connected to the server */
	struct adv_kit_timer reconnect;
	struct adv_kit_timer progress; /* checks the numbers below */
	unsigned posted;	       /* work requests' groups that the client has not completed */
	unsigned posted_ever;	       /* wraps */
	unsigned completed;	       /* ever; wraps */
	unsigned posted_before[ADV_TURN_LATEST]; /* posted_ever at the last checks, a ring */
	unsigned checks;
	unsigned received;	   /* messages of the client, ever; wraps */
	unsigned completed_before; /* at the last check */
	unsigned received_before;
	unsigned idle_checks; /* in a row */
	unsigned wait_ms;     /* until the next attempt */
	bool reported;	      /* the present trouble with the server has been reported */
	struct adv_kit_turn call_turn, reply_turn;
	uint32_t threshold;    /* the largest SEND to the client, bytes */
	bool invalidation;     /* the client supports remote invalidation */
	struct adv_list calls; /* struct adv_nfs_call, in their order */
	unsigned call_count;
	unsigned refusals;	    /* errors on their way to the client */
	struct adv_list back_calls; /* struct adv_nfs_back_call, which wait */
	unsigned back_count;	    /* calls of the back channel that wait for their replies */
	unsigned back_waiting;
	struct adv_gateway_client *client; /* gateway->stats */
	char peer[ADV_GATEWAY_PEER];
};

enum adv_nfs_call_state {
	ADV_NFS_CALL_STARVED,  /* it waits for memory */
	ADV_NFS_CALL_FETCHING, /* its chunks are read from the client */
	ADV_NFS_CALL_READY,    /* it waits for a connection to the server */
	ADV_NFS_CALL_SENT,     /* it is in the stream, or the server has it */
	ADV_NFS_CALL_ANSWERED, /* its reply is on its way to the client */
};

struct adv_nfs_call {
	struct adv_list link;
	struct adv_nfs_session *session;
	enum adv_nfs_call_state state;
	uint32_t xid;
	uint64_t begun; /* of adv_clock_ns(): when it arrived */
	struct adv_rpc_call rpc;
	/* The transport header, whose chunks get the reply: that of the last retransmission. */
	uint8_t *header;
	size_t header_length;

	struct adv_receive *receive; /* has the inline part */
	uint8_t *fetched;	     /* data of the read chunks */
	size_t fetched_length;
	struct adv_rpcrdma_pieces pieces;
	struct iovec parts[ADV_RPCRDMA_PIECES_MAX];
	struct adv_stream_out out;

	struct adv_kit_work work; /* READs, later WRITEs and a SEND */
	struct ibv_send_wr *wr;
	struct ibv_sge *sge;
	uint8_t *reply; /* ADV_NFS_HEADER_ROOM before the message */
	size_t reply_size;
};

/* Starts to check a client's progress. The session's end stops it. */
void adv_nfs_progress_start(struct adv_nfs_session *s);
void adv_nfs_progress_stop(struct adv_nfs_session *s);
/* Posts work of a session. The work's `done` calls adv_nfs_completed(). */
void adv_nfs_post(struct adv_nfs_session *s, struct adv_kit_work *w);
void adv_nfs_completed(struct adv_nfs_session *s);

/* Sends a reply of `length` bytes, which is in `buffer` behind the room for the header. The call
 * owns the buffer now. */
void adv_nfs_reply(struct adv_nfs_call *c, uint8_t *buffer, size_t size, size_t length);
/* Answers a message with an RDMA_ERROR. `h` has its xid. */
void adv_nfs_refuse(struct adv_nfs_session *s, const struct adv_rpcrdma_header *h,
		    enum adv_rpcrdma_error error);

/* Sends a call of the server to the client, or drops it if it is too long. Owns the buffer. */
void adv_nfs_back_call(struct adv_nfs_session *s, uint8_t *buffer, size_t size, size_t length);
/* Sends a copy of a reply of the client, which begins at `offset` of the receive, to the server. */
void adv_nfs_back_reply(struct adv_nfs_session *s, const struct adv_receive *r, size_t offset);
/* Forgets the calls of the back channel: the stream is closed. */
void adv_nfs_back_reset(struct adv_nfs_session *s);

/* Frees what a call has, and the call. */
void adv_nfs_call_free(struct adv_nfs_call *c);

#endif
