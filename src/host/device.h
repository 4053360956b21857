/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The runtime inside a process: one engine, its link, its lock and its progress. A verbs
 * context is one of these.
 *
 * Progress. Whoever calls progresses: leaving the lock sends what there is to send, but for no
 * longer than some 50 us, what is left being sent by others, and adv_device_progress() receives and
 * runs timers, in the caller's thread. A background thread sleeps in epoll and does the same only
 * where nobody polls; it steps back while the application polls.
 *
 * Lock order: a device's lock is the innermost but for the event channels' own.
 */
#ifndef ADV_HOST_DEVICE_H
#define ADV_HOST_DEVICE_H

#include "host/gid_table.h"
#include "transport/engine.h"

struct adv_device;

/*
 * What the device tells its user. Called with the device's lock held, from any thread: must not
 * block, nor call back into the device. Each returns an eventfd to which the device adds 1 as soon
 * as the lock is free, so that who is woken does not run into it; -1: none.
 */
struct adv_device_callbacks {
	int (*completion)(void *user, struct adv_cq *cq);
	int (*async)(void *user, const struct adv_event *event); /* QP, CQ and SRQ events */
	int (*port)(void *user, enum ibv_event_type type); /* PORT_*, GID_CHANGE, DEVICE_FATAL */
};

#define ADV_DEVICES_APART 16 /* devices that one process has to itself ... */

/*
 * Opens: connects to (or starts) the daemon, gets a slot, starts progress. Where the process has
 * ADV_DEVICES_APART, it is one of those (of the same callbacks) that the fewest use: engine, slot
 * and thread are theirs together. Then all users hear of the port, and `completion` and `async` are
 * called with any one of them: the object tells whose it is. NULL with errno; the reason, one line
 * for a person, is logged at level error.
 */
struct adv_device *adv_device_open(const struct adv_device_callbacks *callbacks, void *user);

#define ADV_DEVICE_BLOCKS 4 /* of 65,536 QP numbers, besides its slot's */

/*
 * With the lock held, before a QP is made: where QP numbers get few, asks the daemon for one more
 * block and waits for its answer. Blocks are kept until the device is closed. Nothing is said of a
 * failure but in the log: the engine tells whether there is a number left.
 */
void adv_device_reserve_qpn(struct adv_device *d);
/* The same before an SRQ of an XRC domain is made, where there is no number left for it. */
void adv_device_reserve_srqn(struct adv_device *d);

/*
 * Ends one use: what the engine has of the owner `user` (adv_engine_set_owner()) is destroyed. The
 * last one stops progress, tells the daemon, and frees the engine and everything in it. Blocks
 * until the background thread has ended, or writes no more to what `user` has; do not call with the
 * lock held.
 */
void adv_device_close(struct adv_device *d, void *user);

/* Every engine call stands between these. unlock sends what became ready and delivers events. */
struct adv_engine *adv_device_lock(struct adv_device *d);
void adv_device_unlock(struct adv_device *d);
/* The same, after what has made nothing to send, set no timer and has no event. */
void adv_device_unlock_unchanged(struct adv_device *d);

/*
 * The same, after a small request was posted to qp at `now`: it may stay until there are some, so
 * that one system call sends them, or until any other call. Only where packets are on their way, so
 * that the program waits for something else, and where it polls all the time (see device.c).
 */
void adv_device_unlock_posted(struct adv_device *d, const struct adv_qp *qp, uint64_t now);

/* With the lock held, before a QP is destroyed or changes its state: sends the ACKs that wait for
 * requests of the program, and what is before them. Others may have the lock in between. Closing,
 * and the process's exit(), do the same. */
void adv_device_send_acks(struct adv_device *d);

/* Waits until no thread is about to write to an eventfd that a callback returned before: it may
 * then be closed. Without the lock. */
void adv_device_settle(struct adv_device *d);

/* With the lock held: receives, runs timers, sends. Returns packets received. `polling` tells that
 * the application is in a polling loop (ibv_poll_cq), so that the background thread steps back. */
unsigned adv_device_progress(struct adv_device *d, bool polling);

/* The same for an application that polls cq. As soon as `wanted` completions are there, what else
 * has come may be left for the next call: the application gets them first. */
void adv_device_poll(struct adv_device *d, const struct adv_cq *cq, unsigned wanted);

/*
 * With the lock held, before a QP changes its state: what has come until now is for the QP as it
 * is. A NIC takes packets as they come; here they may lie in the socket, and one of an old
 * connection would meet the QP's next one. Others may have the lock in between.
 */
void adv_device_catch_up(struct adv_device *d);

/* Instead of that, in a polling loop that finds completions before it has asked for progress. */
void adv_device_polled(struct adv_device *d);

/* With the lock held: the application has asked for events (armed a CQ) and may sleep; the
 * background thread takes over at once. */
void adv_device_app_sleeps(struct adv_device *d);

/* True: what is waited for has come. Without the lock. */
typedef bool adv_device_come_fn(void *user);

/*
 * Waits until come(user) or fd is readable, where an eventfd that the callbacks returned would be,
 * and receives meanwhile in the background thread's stead. Without the lock. A cancellation point.
 * 0; EINTR: a signal handler has run, and not all handlers of the process have SA_RESTART. *mine:
 * the 1 for one event was not added to fd; the caller takes that event without reading it.
 */
int adv_device_wait(struct adv_device *d, int fd, adv_device_come_fn *come, void *user, bool *mine);

/* The clock of every engine of this process, adv_clock_ns(), read once while the lock is held. */
uint64_t adv_device_now(struct adv_device *d);

/* A copy of the GID table as the engine knows it now; any thread, with or without the lock. */
void adv_device_gids(struct adv_device *d, struct adv_gid_table *copy);

/* A copy of the table without opening the device (ibv_get_device_list): connects, starting the
 * daemon where none runs. 0 or errno. */
int adv_device_probe(struct adv_gid_table *copy);

/* Joins or leaves an IP multicast group for the slot's socket, on the interface of sgid; asks the
 * daemon and waits for it. With the lock held. 0, ENODEV where sgid is not in the table, or as
 * adv_control_join(). */
int adv_device_join(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid);
int adv_device_leave(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid);

/*
 * With the lock held: a QP talks to dest_qpn at dgid. Where that is another process of this
 * machine, packets to it go through memory as soon as it has said the same. Asks the daemon, once
 * for each peer, and waits for its answer; where that is no, packets go by UDP as ever.
 */
void adv_device_meet(struct adv_device *d, const struct adv_gid *dgid, uint32_t dest_qpn);

/* True in a child of fork(): the device is the parent's; of these functions only this one and
 * adv_device_close(), which does nothing then, may be called with it. */
bool adv_device_is_foreign(const struct adv_device *d);

#endif
