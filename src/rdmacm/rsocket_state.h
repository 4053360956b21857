/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An rsocket: what streams and datagrams have in common, and what holds them together.
 *
 * Its number is that of a descriptor it owns (a stream's event channel, a datagram rsocket's UDP
 * socket), so it collides with no other. The table (rsocket_table.c) maps numbers to rsockets and
 * counts references: who works on one holds one, and the last one destroys it.
 *
 * Locks, in this order: send_lock or recv_lock (one sender and one receiver at a time, held while
 * they wait), then `lock` (everything else, never held while waiting). No thread holds `lock` of
 * two rsockets, but for a connection being accepted, whose lock comes before its listener's.
 *
 * Three kinds of threads change an rsocket: the application's, whichever finds completions; and
 * the service thread (rsocket_service.c), which handles the connection manager's events, the UDP
 * sockets of datagram rsockets and keepalive. Who sleeps registers a watch, and who changes
 * something wakes all watches (rsocket_wait.c).
 */
#ifndef ADV_RDMACM_RSOCKET_STATE_H
#define ADV_RDMACM_RSOCKET_STATE_H

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
#include "rdmacm/rsocket_datagram.h"
#include "rdmacm/rsocket_stream.h"
#include "rdmacm/rsocket_wire.h"

/* What rsetsockopt() sets and a listener hands on to what it accepts. */
struct adv_rs_options {
	uint32_t rcvbuf;
	uint32_t sndbuf;
	uint32_t sq_size;
	uint32_t rq_size;
	uint32_t inline_size;
	uint32_t mappings;
	int reuseaddr, keepalive, oobinline, nodelay, v6only, broadcast;
	int tos;
	int keepidle, keepintvl, keepcnt; /* seconds; keepidle 0: the system's */
	struct linger linger;
	int64_t recv_timeout_us; /* 0: none */
	int64_t send_timeout_us;
};

/* The operations that differ between streams and datagram rsockets, for files below them. */
struct adv_rs_ops {
	/* Handles completions. True if anything changed. Lock held. */
	bool (*progress)(struct adv_rsocket *rs);
	/* Arms the completion queues. Lock held. */
	void (*arm)(struct adv_rsocket *rs);
	/* The descriptor is readable. Called by the service thread, without the lock. */
	void (*on_readable)(struct adv_rsocket *rs);
	/* Frees what the last reference leaves. Without the lock. */
	void (*destroy)(struct adv_rsocket *rs);
};

struct adv_rsocket {
	const struct adv_rs_ops *ops;
	int fd; /* its number; -1: not in the table */
	int type;
	int domain;
	atomic_uint refs;
	pthread_mutex_t send_lock;
	pthread_mutex_t recv_lock;
	pthread_mutex_t lock;
	/* Under lock from here. */
	struct adv_list watches;	  /* struct adv_rs_watch: who sleeps */
	struct ibv_comp_channel *channel; /* of all its completion queues; NULL: none yet */
	bool armed;			  /* a completion raises an event at the channel */
	bool closed;			  /* rclose() was called */
	bool served;			  /* by the service thread */
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

static inline bool adv_rs_nonblocking(const struct adv_rsocket *rs)
{
	return rs->file_flags & O_NONBLOCK;
}

#endif
