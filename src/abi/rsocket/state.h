/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An rsocket: the common part of streams and datagram rsockets.
 *
 * The number of an rsocket is the number of a descriptor that the rsocket owns: a stream's event
 * channel, or a datagram rsocket's UDP socket. So no other descriptor has this number. The table
 * (table.c) maps numbers to rsockets and counts references. A thread that works on an
 * rsocket holds a reference; the last release destroys the rsocket.
 *
 * Lock order: first send_lock or recv_lock, then `lock`. send_lock and recv_lock admit one sender
 * and one receiver; a thread may wait while it holds them. `lock` covers everything else; no thread
 * waits while it holds it. No thread holds `lock` of two rsockets, with one exception: while a
 * connection is being accepted, its lock precedes the lock of its listener.
 *
 * These threads change an rsocket: the application's threads, and the service thread
 * (service.c), which handles the connection manager's events, the UDP sockets of
 * datagram rsockets, and keepalives. A sleeping thread registers a watch; a thread that changes
 * something wakes all watches (wait.c).
 */
#ifndef ADV_ABI_RSOCKET_STATE_H
#define ADV_ABI_RSOCKET_STATE_H

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "base/list.h"
#include "abi/rsocket/datagram.h"
#include "abi/rsocket/stream.h"
#include "abi/rsocket/wire.h"

/* The options of rsetsockopt(). An accepted connection inherits the options of its listener. */
struct adv_rs_options {
	uint32_t rcvbuf;
	uint32_t sndbuf;
	uint32_t sq_size;
	uint32_t rq_size;
	uint32_t inline_size;
	uint32_t mappings;
	int reuseaddr, keepalive, oobinline, nodelay, v6only, broadcast;
	int tos;
	int keepidle, keepintvl, keepcnt; /* seconds; keepidle 0: the system's value */
	struct linger linger;
	int64_t recv_timeout_us; /* 0: no timeout */
	int64_t send_timeout_us;
};

/* The operations that differ between streams and datagram rsockets, for files below them. */
struct adv_rs_ops {
	/* Handles completions. True if anything changed. Lock held. */
	bool (*progress)(struct adv_rsocket *rs);
	/* Arms the completion queues, and returns true; false if their completions are of no use
	 * before the next wake-up. Lock held. */
	bool (*arm)(struct adv_rsocket *rs);
	/* Handles a readable descriptor. The service thread calls it, without the lock. */
	void (*on_readable)(struct adv_rsocket *rs);
	/* Frees the queues and memory after the last reference is released. Without the lock. */
	void (*destroy)(struct adv_rsocket *rs);
};

struct adv_rsocket {
	const struct adv_rs_ops *ops;
	int fd; /* number of the rsocket; -1: not in the table */
	int type;
	int domain;
	atomic_uint refs;
	int watched_fd; /* the descriptor that the service thread watches; -1: none. Its lock. */
	pthread_mutex_t send_lock;
	pthread_mutex_t recv_lock;
	pthread_mutex_t lock;
	/* `lock` covers the members from here on. */
	struct adv_list watches;	  /* struct adv_rs_watch: the sleeping threads */
	struct ibv_comp_channel *channel; /* channel of all its CQs; NULL: not made yet */
	bool armed;			  /* the next completion raises an event at the channel */
	bool closed;			  /* rclose() was called */
	int file_flags;			  /* O_NONBLOCK... */
	int fd_flags;			  /* FD_CLOEXEC */
	int err;			  /* SO_ERROR */
	struct adv_rs_options options;
	union {
		struct adv_rs_stream s;
		struct adv_rs_dgram d;
	};
};

#define ADV_RS_FOREVER INT64_MAX
#define ADV_RS_NOWAIT  0

static inline uint32_t adv_rs_clamp(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

static inline bool adv_rs_nonblocking(const struct adv_rsocket *rs)
{
	return rs->file_flags & O_NONBLOCK;
}

#endif
