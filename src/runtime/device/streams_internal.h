/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connections of an iWARP device, for the files stream*.c. */
#ifndef ADV_RUNTIME_DEVICE_STREAMS_INTERNAL_H
#define ADV_RUNTIME_DEVICE_STREAMS_INTERNAL_H

#include "nic/fault/flow.h"
#include "nic/iwarp/stream.h"
#include "nic/queue/qp_state.h"
#include "runtime/device/streams.h"

#define STREAM_BUFFER_LEN 65536

struct device_streams {
	struct adv_link link; /* must be the first member */
	struct adv_device *device;
	struct adv_link *below;
	struct adv_list list;
	unsigned count;
	uint32_t number; /* of the last stream */
	uint8_t buffer[STREAM_BUFFER_LEN];
};

/* The two ends of a connection. */
struct device_stream_ends {
	bool known;
	struct adv_gid local;
	struct adv_gid peer;
	uint16_t local_port;
	uint16_t peer_port;
};

/* The connection of a queue pair: its member `connection`. */
struct device_stream {
	struct adv_list node;
	struct device_streams *streams;
	struct adv_qp *qp;		/* NULL: the connection only ends */
	struct adv_rdmap_stream *rdmap; /* NULL: as qp */
	int fd;
	bool wants_room; /* EPOLLOUT is watched */
	bool over;	 /* the peer has ended the connection, or it has failed */
	struct adv_timer end_timer;
	uint64_t sent; /* bytes that the connection has taken, behind the start-up frame */
	uint64_t received;
	uint32_t number; /* of this connection of the device */
	struct device_stream_ends ends;
	struct adv_fault_flow flow[2]; /* stream_fault.c; 1: of this end */
	struct adv_timer flow_timer;
};

/* stream_watch.c. Changes the epoll set like epoll_ctl(): whether the socket has bytes, unless
 * those of the peer wait for a fault, and whether it has room, if that is wanted. */
int adv_device_stream_watch(struct device_stream *s, int op);

/* Fills in s->ends, if they are not known yet (stream_object.c). */
const struct device_stream_ends *adv_device_stream_ends(struct device_stream *s);

/* stream_tap.c. True if there is a capture. */
static inline bool adv_device_stream_is_captured(const struct device_stream *s)
{
	const struct adv_device *d = s->streams->device;

	return d->tap[ADV_CAPTURE_WIRE].count || d->tap[ADV_CAPTURE_ENGINE].count;
}

/* Records the next len bytes that the connection has taken; the stream does not know it yet. `when`
 * is a time before that, ns since 1970. */
void adv_device_stream_record_tx(struct device_stream *s, const struct iovec *iov, size_t len,
				 uint64_t when);
/* Records the next len bytes that the connection has delivered, before the stream receives them. */
void adv_device_stream_record_rx(struct device_stream *s, const struct iovec *iov, size_t len);

/* stream_fault.c. Initializes s->flow_timer, for which the caller reserves room. */
void adv_device_stream_flow_init(struct device_stream *s);
/* False: the turn's bytes wait, or those of the peer. The queue pair gets another turn then, or the
 * socket is watched again. */
bool adv_device_stream_may_send(struct device_stream *s, uint64_t now);
bool adv_device_stream_may_receive(struct device_stream *s, uint64_t now);
/* The socket has taken nothing of what may be sent: it may be sent later. */
void adv_device_stream_not_sent(struct device_stream *s);
/* Ends what waits: without a plan, or at the end of the connection. */
void adv_device_stream_end_flows(struct device_stream *s);

#endif
