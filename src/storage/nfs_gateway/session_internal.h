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
	bool reverse; /* the client is at the stream, the server at the endpoint */
	struct adv_gateway_buffers *buffers; /* NULL until the endpoint is first connected */
	struct adv_endpoint *endpoint;	     /* NULL: neither connected nor connecting */
	struct adv_stream *stream;	     /* NULL: not connected */
	struct adv_kit_turn stream_turn;     /* for memory of records of the stream */
	struct adv_kit_turn call_turn;	     /* for memory of calls; with reverse, of replies */
	struct adv_kit_timer reconnect;	     /* to the server */
	unsigned wait_ms;		     /* until the next attempt */
	bool reported;	       /* the present trouble with the server has been reported */
	uint32_t threshold;    /* the largest SEND to the peer of the endpoint, bytes */
	struct adv_list calls; /* struct adv_nfs_call or adv_nfs_reverse_call, in their order */
	unsigned call_count;
	unsigned back_count; /* calls of the back channel that wait for their replies; with
				reverse, messages on their way, both ways */
	struct adv_gateway_client *client; /* gateway->stats */
	char peer[ADV_GATEWAY_PEER];

	/* Without reverse: */
	struct adv_kit_timer progress; /* checks the numbers below */
	unsigned posted;	       /* work requests' groups that the client has not completed */
	unsigned posted_ever;	       /* wraps */
	unsigned completed;	       /* ever; wraps */
	unsigned posted_before[ADV_TURN_LATEST]; /* posted_ever at the last checks, a ring */
	unsigned checks;
	unsigned received;	   /* messages of the client, ever; wraps */
	unsigned completed_before; /* at the last check */
	unsigned received_before;
	unsigned idle_checks;	    /* in a row */
	bool invalidation;	    /* the client supports remote invalidation */
	unsigned refusals;	    /* errors on their way to the client */
	struct adv_list back_calls; /* calls of the back channel that wait (back.c) */
	unsigned back_waiting;

	/* With reverse: */
	struct adv_connections *connections;
	struct adv_kit_device *device; /* of the buffers */
	bool connected;		       /* to the server */
	bool blocked;		       /* the stream waits until there are buffers or fewer calls */
	uint8_t private_data[ADV_RPCRDMA_PRIVATE_LEN];
	uint32_t receive_threshold; /* the largest SEND of the server, bytes */
	unsigned credits;	    /* that the server grants */
	unsigned in_flight;	    /* calls that use a credit */
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

/* --- both directions --- */

/* Makes a session with its turns and its timer. NULL and errno. */
struct adv_nfs_session *adv_nfs_session_new(struct adv_gateway *g, bool reverse,
					    bool (*take_call_turn)(struct adv_kit_turn *t),
					    void (*reconnect)(struct adv_kit_timer *t));
/* Frees a session. It has no connections and no calls any more. */
void adv_nfs_session_free(struct adv_nfs_session *s);
/* Returns the length of the longest SEND to a peer that receives `size` bytes. */
static inline uint32_t adv_nfs_threshold(uint32_t size)
{
	return size < ADV_NFS_INLINE ? size : ADV_NFS_INLINE;
}

/* Returns the memory of the stream's records. */
struct adv_gateway_pool *adv_nfs_records(struct adv_nfs_session *s);
/* `buffer` and `dropped` of a stream's operations: memory with ADV_NFS_HEADER_ROOM before it. */
uint8_t *adv_nfs_record_buffer(void *user, size_t length);
void adv_nfs_record_dropped(void *user, uint8_t *message, size_t size);

/* Lets the session connect to the server again later; longer and longer. */
void adv_nfs_retry_later(struct adv_nfs_session *s);
/* The server is connected: reports the end of trouble. */
void adv_nfs_report_connected(struct adv_nfs_session *s);

/* --- the back channel --- */

/* Sends a message that came over TCP by RDMA, or drops it. Owns the buffer, a record of the stream.
 */
void adv_nfs_back_to_rdma(struct adv_nfs_session *s, uint8_t *buffer, size_t size, size_t length,
			  uint32_t xid);
/* Sends a copy of a message that came by RDMA over TCP, or drops it. */
void adv_nfs_back_to_tcp(struct adv_nfs_session *s, const uint8_t *message, size_t length);
/* Forgets the calls of the back channel: the stream is closed. */
void adv_nfs_back_reset(struct adv_nfs_session *s);

/* --- without reverse --- */

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

/* Frees what a call has, and the call. */
void adv_nfs_call_free(struct adv_nfs_call *c);

#endif
