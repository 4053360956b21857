/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connections of an iWARP device, for the files stream*.c. */
#ifndef ADV_RUNTIME_DEVICE_STREAMS_INTERNAL_H
#define ADV_RUNTIME_DEVICE_STREAMS_INTERNAL_H

#include "nic/iwarp/stream.h"
#include "nic/engine/timer.h"
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
};

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

#endif
