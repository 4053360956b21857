/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stream rsocket: a connected RC queue pair, a ring of receive memory that the peer writes into,
 * and a ring of send memory. Call the functions with the rsocket's lock held, unless their comment
 * says otherwise.
 *
 *  - connect.c: making a connection, at either end
 *  - endpoint.c: the queue pair and its memory (memory.c)
 *  - message.c: what a message is on the wire
 *  - flow.c: completions, credits, control messages
 *  - transfer.c: sending and receiving
 *  - iomap.c: mappings of the application's memory
 *  - close.c: shutting down
 */
#ifndef ADV_ABI_RSOCKET_STREAM_H
#define ADV_ABI_RSOCKET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <rdma/rdma_cma.h>

#include "base/list.h"
#include "abi/rsocket/wire.h"

#define ADV_RS_CTRL_SLOTS 4		      /* send requests reserved for control messages */
#define ADV_RS_WR_RECV	  (UINT64_C(1) << 63) /* wr_id of receives; sends: adv_rs_msg() */
#define ADV_RS_WR_PART	  (UINT64_C(1) << 62) /* wr_id of a request that another one completes */
#define ADV_RS_LOW_WATER  2048 /* bytes of send memory below which a stream is not writable */

struct adv_rsocket;
struct adv_rs_options;

enum adv_rs_state {
	ADV_RS_INIT,
	ADV_RS_BOUND,
	ADV_RS_LISTENING,
	ADV_RS_RESOLVING_ADDR,
	ADV_RS_RESOLVING_ROUTE,
	ADV_RS_CONNECTING,
	ADV_RS_ACCEPTING,
	ADV_RS_CONNECTED,
	ADV_RS_FAILED,	     /* never connected */
	ADV_RS_DISCONNECTED, /* ended in order */
	ADV_RS_BROKEN,	     /* ended by an error */
};

/* The memory that the peer may write, besides receive memory. */
struct adv_rs_exposed {
	struct adv_rs_sge targets[ADV_RS_TARGETS];
	struct adv_rs_mapping mappings[];
};

/* Registered memory of whole pages. */
struct adv_rs_memory {
	uint8_t *p;
	size_t len; /* the mapped length */
	struct ibv_mr *mr;
};

struct adv_rs_sending {
	struct adv_rs_memory
		ring; /* `size` bytes, then ADV_RS_CTRL_SLOTS entries for control messages */
	uint32_t size;
	uint32_t at;	/* offset of the next bytes to send */
	uint32_t space; /* free bytes from `at` on; they wrap around at the end of the ring */
	unsigned requests;
	unsigned requests_out; /* send requests with data, not yet completed */
	unsigned ctrl_free;    /* unused slots of the ADV_RS_CTRL_SLOTS */
	unsigned ctrl_next;
	uint32_t inline_size;
	uint16_t seq;		  /* messages sent that cost a credit */
	uint16_t seq_limit;	  /* the last value that seq may have */
	uint16_t spared;	  /* credits that are not used (message.h) */
	struct adv_rs_sge target; /* the peer's memory for the next bytes; length 0: not known */
	unsigned target_index;	  /* the next entry of the exposed list */
};

struct adv_rs_receiving {
	struct adv_rs_memory ring;
	uint32_t size;	   /* two halves; each is granted to the peer as a whole */
	uint32_t at;	   /* offset of the application's next bytes */
	uint32_t filled;   /* offset of the peer's next bytes */
	uint32_t granted;  /* bytes from `filled` on that the peer may still write */
	uint32_t freed;	   /* bytes that were read and are not granted to the peer again */
	uint32_t *lengths; /* lengths of unread messages: a ring of credits + 1 */
	unsigned head, tail;
	uint32_t bytes; /* unread bytes: the sum of `lengths` */
	uint16_t credits;
	uint16_t seq;		       /* messages read by the application */
	uint16_t credits_due;	       /* credits are due when seq has this value */
	unsigned unposted;	       /* receive requests to be posted again */
	struct adv_rs_memory messages; /* by_send: of each receive request, the message */
	uint32_t message_next;	       /* the place of the next receive request there */
	struct adv_rs_sge list;	       /* location of the peer's target list */
	unsigned list_index;	       /* the entry of that list to write next */
};

struct adv_rs_mapped {
	struct adv_list link;
	struct ibv_mr *mr;
	uint64_t offset;
	int index; /* entry in the peer's table; -1: local only */
};

/* The keepalive of a stream, in the list of the service thread, whose lock covers it. An entry of
 * the list has a reference to its rsocket. */
struct adv_rs_keepalive {
	struct adv_list link;
	struct adv_rsocket *rs; /* NULL: the stream is not in the list */
	int64_t at;		/* time of the next one, us */
	int64_t idle_us;
};

struct adv_rs_stream {
	enum adv_rs_state state;
	bool readable; /* the peer may still send */
	bool writable;
	bool swap;	      /* the peer's byte order differs from this host's */
	bool by_send;	      /* messages are SENDs (message.h) */
	bool result_returned; /* a second rconnect() has returned the result */
	bool reset_returned;  /* a send has returned ECONNRESET */
	bool disconnected;    /* rdma_disconnect() was called */
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	union adv_rs_addr peer;
	unsigned tries;
	void *route; /* RDMA_ROUTE */
	socklen_t route_len;

	/* Listening */
	/* Connections that raccept() has not returned, by `sibling`. The list has a reference to
	 * each: the program may close one, if it closes all numbers that it does not know. */
	struct adv_list accepted;
	unsigned pending; /* connections in `accepted`, and those not yet established */
	unsigned backlog;
	/* Listener of a connection that is being accepted, with a reference. NULL once the
	 * connection is in the listener's list `accepted`. */
	struct adv_rsocket *listener;
	struct adv_list sibling;

	/* The stream's own PD, so that no peer can use another connection's keys. */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct adv_rs_memory exposed;
	struct adv_rs_sending send;
	struct adv_rs_receiving recv;
	struct adv_rs_keepalive keepalive;

	/* Mappings */
	struct adv_rs_sge peer_table; /* location of the peer's table; length: entries */
	uint8_t *peer_table_used;     /* for each entry of the peer's table: 1 if it is in use */
	struct adv_list mapped; /* struct adv_rs_mapped that the peer knows, or that are local */
	struct adv_list mapped_unsent; /* struct adv_rs_mapped to be sent to the peer */
};

/* Returns a new stream with the options of `from`, or the defaults if that is NULL. NULL and
 * ENOMEM.
 */
struct adv_rsocket *adv_rs_stream_new(int domain, const struct adv_rs_options *from);

static inline bool adv_rs_state_opening(enum adv_rs_state state)
{
	return state >= ADV_RS_RESOLVING_ADDR && state <= ADV_RS_ACCEPTING;
}

/* Connection (connect.c) */

/* Makes the id of a stream, and enters the stream in the table. 0; or -1 and errno. */
int adv_rs_stream_open(struct adv_rsocket *rs);
int adv_rs_stream_bind(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len);
int adv_rs_stream_listen(struct adv_rsocket *rs, int backlog);
/* Returns an accepted connection, with a reference. If the listener is blocking, waits for a
 * connection. NULL and errno. */
struct adv_rsocket *adv_rs_stream_accept(struct adv_rsocket *rs);
/*
 * Gives an accepted connection the lowest free number, as accept(2) does. The connection got its
 * first number when the peer's request arrived, but librspreload's select() relies on ascending
 * numbers. Without lock.
 */
void adv_rs_stream_renumber(struct adv_rsocket *rs);
int adv_rs_stream_connect(struct adv_rsocket *rs, const struct sockaddr *addr, socklen_t len);

/* Endpoint (endpoint.c) */

/* Makes the queue pair of rs->s.id and its memory. 0; or -1 and errno: the destruction of rs then
 * frees everything. */
int adv_rs_endpoint_make(struct adv_rsocket *rs);
void adv_rs_endpoint_free(struct adv_rsocket *rs);
/* Fills *conn with the description of this endpoint, for the peer. */
void adv_rs_endpoint_describe(struct adv_rsocket *rs, struct adv_rs_conn *conn);
/* Stores the peer's description of its endpoint. */
void adv_rs_endpoint_store_peer(struct adv_rsocket *rs, const struct adv_rs_conn *conn);

/* Flow (flow.c) */

/* Handles completions and returns credits. True if anything changed. */
bool adv_rs_stream_progress(struct adv_rsocket *rs);
/* True if data can be sent now. May take the next entry of the target list as the new target. */
bool adv_rs_stream_can_send(struct adv_rsocket *rs);
/* True if a work request can be posted now, whether or not the peer has room for data. */
bool adv_rs_stream_can_write(const struct adv_rsocket *rs);
/* Posts a control message. The caller has checked that ctrl_free is above 0. */
void adv_rs_stream_post_ctrl(struct adv_rsocket *rs, enum adv_rs_ctrl what);
/* Posts a WRITE of 0 bytes. The peer's hardware acknowledges it; the peer's program does not notice
 * it. */
void adv_rs_stream_post_keepalive(struct adv_rsocket *rs);
/* Ends the connection with an error: the peer violates the protocol, or the connection is lost. */
void adv_rs_stream_break(struct adv_rsocket *rs, int err);
/* Ends the connection in order. Received data stays readable. */
void adv_rs_stream_end(struct adv_rsocket *rs);
/* Calls rdma_disconnect(), once. */
void adv_rs_stream_disconnect(struct adv_rsocket *rs);

/* Transfer (transfer.c), without lock; results as send(2) and recv(2). */
ssize_t adv_rs_stream_send(struct adv_rsocket *rs, const struct iovec *iov, size_t count,
			   int flags);
ssize_t adv_rs_stream_recv(struct adv_rsocket *rs, const struct iovec *iov, size_t count,
			   int flags);
/* Writes to the peer's mapping at `offset`; EINVAL if there is none. */
ssize_t adv_rs_stream_write_at(struct adv_rsocket *rs, const struct iovec *iov, uint64_t offset,
			       int flags);

/* Mappings (iomap.c) */

/* Notifies the peer of new mappings. send_lock is held, too. 0; or -1 and errno. */
int adv_rs_mappings_send(struct adv_rsocket *rs, int64_t deadline);
/* Finds the peer's mapping that contains `offset`. *where: the address of that byte, the key, and
 * the number of bytes from that byte on. False: there is none. */
bool adv_rs_mapping_find(const struct adv_rsocket *rs, uint64_t offset, struct adv_rs_sge *where);
void adv_rs_mappings_free(struct adv_rsocket *rs);

/* Closing (close.c) */
int adv_rs_stream_shutdown(struct adv_rsocket *rs, int how);
void adv_rs_stream_close(struct adv_rsocket *rs);

#endif
