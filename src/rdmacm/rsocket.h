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
#ifndef ADV_RDMACM_RSOCKET_H
#define ADV_RDMACM_RSOCKET_H

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
#include "rdmacm/rsocket_dgram.h"
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

struct adv_rsocket {
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

/* Microseconds of CLOCK_MONOTONIC. */
int64_t adv_rs_now(void);

/* Until when a call may wait: now + timeout_us (0: for ever); NOWAIT where flags or O_NONBLOCK say
 * so. */
int64_t adv_rs_deadline(const struct adv_rsocket *rs, int flags, int64_t timeout_us);

static inline bool adv_rs_nonblocking(const struct adv_rsocket *rs)
{
	return rs->file_flags & O_NONBLOCK;
}

/*
 * A new rsocket with one reference, not in the table: with the options of `from`, or the defaults
 * where that is NULL. NULL and ENOMEM.
 */
struct adv_rsocket *adv_rs_new(int domain, int type, const struct adv_rs_options *from);

/* Sets errno; -1. */
int adv_rs_error(int err);

/* The table (rsocket_table.c) */

/* Enters rs under `fd`, and takes a reference for the table. 0; or -1 and ENOMEM or EMFILE. */
int adv_rs_enter(struct adv_rsocket *rs, int fd);

/* The rsocket of that number with a reference more; NULL and errno EBADF. */
struct adv_rsocket *adv_rs_get(int fd);

/* The same without errno: also NULL for an ordinary descriptor. */
struct adv_rsocket *adv_rs_find(int fd);

/* The rsocket taken out of the table, the table's reference being the caller's now; NULL: none. */
struct adv_rsocket *adv_rs_take(int fd);

void adv_rs_hold(struct adv_rsocket *rs);

/* Gives a reference back. Not with any lock of rs held. */
void adv_rs_put(struct adv_rsocket *rs);

/*
 * True for an rsocket that this process has inherited from its parent: it is the parent's still,
 * and only closing it makes sense here. adv_rs_find() and adv_rs_get() do not find such.
 */
bool adv_rs_is_inherited(int fd);

/* Forgets one and closes this process's copy of its descriptor. */
void adv_rs_forget_inherited(int fd);

/* Registers the calls that a child makes; once. */
void adv_rs_prepare_fork(void);

#endif
