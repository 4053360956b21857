/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device: one engine, its links, its lock and its progress. A verbs context uses one device.
 *
 * Progress is made in the caller's thread: releasing the lock sends packets, for about 50 us at
 * most. adv_device_progress() receives and runs timers. A background thread does the same while the
 * program neither polls nor waits in adv_device_wait(). It also sends the packets that a call did
 * not send within its 50 us. runtime/progress/progress.h decides which thread receives.
 *
 * README.md has the order of all locks.
 */
#ifndef ADV_RUNTIME_DEVICE_DEVICE_H
#define ADV_RUNTIME_DEVICE_DEVICE_H

#include <poll.h>
#include <stdatomic.h>

#include "runtime/identity/rails.h"
#include "nic/iwarp/agreement.h"
#include "nic/engine/engine.h"

struct adv_device;

/* The first members of a device, which calls read without its lock. */
struct adv_device_front {
	atomic_bool foreign; /* see adv_device_is_foreign() */
};

/*
 * Functions that the device calls to report events to its user. It calls them from any thread, with
 * the device's lock held. They must not block and must not call the device. Each returns an
 * eventfd, or -1 for none. The device signals the eventfd after it has released the lock, so that
 * the woken thread finds the lock free.
 */
struct adv_device_callbacks {
	int (*completion)(void *user, struct adv_cq *cq);
	int (*async)(void *user, const struct adv_event *event); /* QP, CQ and SRQ events */
	int (*port)(void *user, enum ibv_event_type type); /* PORT_*, GID_CHANGE, DEVICE_FATAL */
};

#define ADV_DEVICES_APART 16 /* devices of a process; further contexts share them */

/*
 * Opens the device of a rail, which stays valid; NULL: of all addresses. Connects to adverbd or
 * starts it, gets a slot, and starts the background thread. If the process already has
 * ADV_DEVICES_APART devices with these callbacks and the rail has one, adds the user to its
 * device that has the fewest users: these users share engine, slot and thread. Events of the port
 * go to all users. `completion` and `async` get any one of the users, or NULL: the CQ, QP or SRQ
 * knows its owner. NULL with errno; the reason is logged at level error, in one line.
 */
struct adv_device *adv_device_open(const struct adv_device_callbacks *callbacks, void *user,
				   const struct adv_rail *rail);

#define ADV_DEVICE_BLOCKS 4 /* most blocks of 65,536 QP numbers besides the numbers of the slot */

/*
 * Call it with the lock held, before a QP is created. If few QP numbers are left, requests one more
 * block of them from adverbd. If none is left, releases the lock, blocks until adverbd answers, and
 * acquires the lock again. The device keeps its blocks until it is closed. A failure is only
 * logged: the creation of the QP then fails if no number is left.
 */
void adv_device_reserve_qpn(struct adv_device *d);
/* As adv_device_reserve_qpn(), before an SRQ of an XRC domain is created. Requests a block only if
 * no number is left for the SRQ. */
void adv_device_reserve_srqn(struct adv_device *d);

/*
 * Removes one user: destroys the engine's objects whose owner is `user` (adv_engine_set_owner()).
 * With its last user, the device itself is destroyed: the background thread ends and the slot
 * returns to adverbd. Blocks until the background thread has ended or no longer signals eventfds of
 * `user`. Call it without the lock.
 */
void adv_device_close(struct adv_device *d, void *user);

/*
 * A device has shards: devices of their own, with other QP numbers, that share protection domains
 * and regions with the device. The functions of this header take a shard as well, except those that
 * open and close devices. A QP and its SRQ and CQs must be in one shard.
 */

/* Returns the shard in which the calling thread creates CQs and SRQs. It is the device itself for
 * the first thread that calls this. May open a shard, which blocks. Call it without a lock. */
struct adv_device *adv_device_of_thread(struct adv_device *d);
/* Returns a device for which adv_device_is_foreign() is always true. */
struct adv_device *adv_device_none(void);
/* Returns the shard with this index, from 0; NULL: there are no more. Shard 0 is the device. */
struct adv_device *adv_device_shard(struct adv_device *d, unsigned index);
/* Acquires the locks of all shards, and returns the engine of the device: the first of those that
 * share regions (nic/memory/tpt.h). Needed to create, change and destroy protection domains,
 * regions and windows, and to destroy address handles. */
struct adv_engine *adv_device_lock_all(struct adv_device *d);
void adv_device_unlock_all(struct adv_device *d);

/* Acquires the lock and returns the engine. The engine may be called until adv_device_unlock(). */
struct adv_engine *adv_device_lock(struct adv_device *d);
/* Releases the lock. Before that, sends packets and delivers events. */
void adv_device_unlock(struct adv_device *d);

#define ADV_DEVICE_FOREIGN (-2) /* result of a post in a child of fork() */

/*
 * Posts send requests like adv_qp_post_send(), and sends. The device may hold a single small
 * request until there are several, so that one system call sends them; any other call ends the
 * hold. The device holds a request only if packets are in flight and the program polls steadily
 * (may_hold() in post.c). Call it without the lock. Returns the result of
 * adv_qp_post_send(), or ADV_DEVICE_FOREIGN. Sets *bad_wr on every error.
 */
int adv_device_post_send(struct adv_device *d, struct adv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad_wr);
/* Posts receive requests like adv_qp_post_recv(); otherwise as adv_device_post_send(). */
int adv_device_post_recv(struct adv_device *d, struct adv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);

/* Sends delayed ACKs and the packets queued before them. Call it with the lock held, before a QP is
 * destroyed or changes its state. Other threads may hold the lock in between. adv_device_close()
 * and exit() also send delayed ACKs. */
void adv_device_send_acks(struct adv_device *d);

/* Blocks until no thread is about to signal an eventfd that a callback of the device or of a shard
 * returned earlier. The eventfd may then be closed. Call it without the lock. */
void adv_device_settle(struct adv_device *d);

/* With the lock held: receives, runs timers and sends. Returns the number of received packets.
 * polling: the caller is in a polling loop (ibv_poll_cq) and will soon receive again. */
unsigned adv_device_progress(struct adv_device *d, bool polling);

/*
 * As adv_device_progress(), for a program that polls cq. May stop receiving when cq has `wanted`
 * completions, so that the program gets them early; further packets then stay queued until the next
 * call. Returns true if other processes need the processor: if cq is empty, the caller then calls
 * adv_device_back_off().
 */
bool adv_device_poll(struct adv_device *d, struct adv_cq *cq, unsigned wanted);

/*
 * Polls cq like adv_cq_poll(). If the CQ is empty, receives, runs timers and sends first, as
 * adv_device_poll() does, and may call adv_device_back_off(). Call it without the lock, on a device
 * that is not foreign. Returns the number of completions, or -1 as adv_cq_poll().
 */
int adv_device_poll_cq(struct adv_device *d, struct adv_cq *cq, int n, struct ibv_wc *wc);

/* Sleeps until a packet arrives, or for a fraction of a millisecond, before the program polls cq
 * again. Call it without the lock. */
void adv_device_back_off(struct adv_device *d, const struct adv_cq *cq);

/*
 * Receives the packets that are queued in the sockets. Call it with the lock held, before a QP
 * changes its state: a packet of the QP's old connection must not reach its next connection. Other
 * threads may hold the lock in between.
 */
void adv_device_catch_up(struct adv_device *d);

/* With the lock held: records that a polling loop found completions and does not receive in this
 * call. */
void adv_device_polled(struct adv_device *d);

/* With the lock held: records that the program has armed a CQ and may sleep. */
void adv_device_app_sleeps(struct adv_device *d);

/* True if the event that the caller waits for is queued. Called without the lock. */
typedef bool adv_device_come_fn(void *user);

/* Entries that adv_device_wait() needs behind the caller's descriptors. */
#define ADV_DEVICE_WAIT_ROOM 4

/* What a thread waits for. */
struct adv_device_wait {
	struct pollfd *fds; /* as in poll(2); with room for ADV_DEVICE_WAIT_ROOM more entries */
	unsigned count;	    /* without that room */
	int event_fd;	    /* one of fds: the eventfd that the callbacks return for the event */
	adv_device_come_fn *come;
	void *user;
	uint64_t until; /* adv_clock_ns(); ADV_NEVER: no limit */
	bool restarts;	/* a signal handler ends the wait only if any is installed without
			   SA_RESTART; otherwise each does, as with poll(2) */
	bool mine;	/* result: event_fd was not signalled for one event; the caller dequeues
			   that event without reading event_fd */
};

/*
 * Blocks until come(user) returns true, one of the descriptors has events, or the time has come.
 * The caller receives meanwhile, in place of the background thread. Call it without the lock. It is
 * a cancellation point. Returns 0, or EINTR after a signal handler. Sets mine, and revents of all
 * descriptors.
 */
int adv_device_wait(struct adv_device *d, struct adv_device_wait *wait);

/* Returns the time of the device's clock, ns, which its engine uses and completions have: that of
 * adv_clock_ns(), except on an emulated host. Any thread. */
uint64_t adv_device_time(struct adv_device *d);

/* With the lock held: returns adv_device_time() of the first call since the lock was acquired. */
uint64_t adv_device_now(struct adv_device *d);

/*
 * Gives a queue pair of an iWARP device its connection: a nonblocking socket, after the start-up
 * frames. A queue pair in INIT or RTR enters RTS. Call it without the lock. 0: the device owns fd
 * now; EINVAL: there is no such queue pair, or its state is not one of these; ENOMEM.
 */
int adv_device_attach_stream(struct adv_device *d, uint32_t qpn, int fd,
			     const struct adv_rdmap_config *config);

/* Copies the GID table that the engine uses. Any thread, with or without the lock. */
void adv_device_gids(struct adv_device *d, struct adv_gid_table *copy);
/* Copies the P_Key table, which never changes. Any thread, with or without the lock. */
void adv_device_pkeys(struct adv_device *d, struct adv_pkey_table *copy);

/* Copies adverbd's GID table without a device (ibv_get_device_list), and sets *rails to the rails
 * of this process: connects to adverbd or starts it. 0 or errno; the reason is logged. */
int adv_device_probe(struct adv_gid_table *copy, const struct adv_rail_list **rails);

/* Joins an IP multicast group for the slot's socket, on the interface of sgid. Blocks until adverbd
 * answers: call it without the lock. 0; ENODEV: sgid is not in the table; else as
 * adv_control_join(). */
int adv_device_join(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid);
/* Leaves the group; otherwise as adv_device_join(). */
int adv_device_leave(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid);

/*
 * Call it with the lock held, when a QP is connected to dest_qpn at dgid. If the peer is another
 * process of this machine, posts a request for memory that both processes share. Packets go through
 * that memory as soon as the peer has also requested it and adverbd has answered. Until then, and
 * if adverbd refuses, packets go by UDP. For the first QP that is connected to the peer, may
 * release the lock, block for a fraction of a second at most, and acquire the lock again.
 */
void adv_device_meet(struct adv_device *d, const struct adv_gid *dgid, uint32_t dest_qpn);

/* True in a child of fork(): the device belongs to the parent. The child may call only this
 * function and adv_device_close(), which then does nothing. */
static inline bool adv_device_is_foreign(const struct adv_device *d)
{
	const struct adv_device_front *front = (const struct adv_device_front *)(const void *)d;

	return atomic_load_explicit(&front->foreign, memory_order_relaxed);
}

#endif
