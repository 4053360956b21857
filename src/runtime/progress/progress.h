/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which thread receives the packets of a device: the background thread, a polling program,
 * or a program that waits for an event. The decision is a state machine; progress.c has the table
 * of its transitions.
 *
 * The machine makes no system call, acquires no lock and reads no clock. Each function that changes
 * the machine is an event of it. Times are in ns of one monotonic clock. A function that returns
 * `unsigned` returns actions, a set of enum adv_progress_action, which the caller carries out at
 * once (runtime/device/actions.c). lock.c reports the program's calls, runtime/device/thread.c
 * reports the background thread, and runtime/device/wait.c reports waiting programs.
 * tests/runtime/progress replays histories of programs in virtual time and counts wake-ups.
 *
 * Locking: the caller holds the device's lock, except for functions that are marked UNLOCKED. The
 * background thread calls those: it must not wait for a lock that a polling program holds.
 */
#ifndef ADV_RUNTIME_PROGRESS_PROGRESS_H
#define ADV_RUNTIME_PROGRESS_PROGRESS_H

#include "runtime/progress/poll.h"

/* Initializes the machine in state THREAD. The background thread first runs timers at `deadline`.
 */
void adv_progress_init(struct adv_progress *p, uint64_t deadline);

/* ---- the program's calls ---- */

/* True if the present call decides whether the background thread's last wake-up was useful. The
 * caller then calls adv_progress_judge(). */
static inline bool adv_progress_on_trial(const struct adv_progress *p)
{
	return p->trial != 0;
}

/* Judges the background thread's last wake-up, at the first call after the thread received, or at
 * the second one if the first is a poll. posted: the call had packets to send. */
void adv_progress_judge(struct adv_progress *p, uint64_t now, bool posted);

/* True if adv_progress_call_ends() has to be called even after a call that sent all packets. */
static inline bool adv_progress_heeds_calls(const struct adv_progress *p)
{
	return adv_progress_state(p) <= ADV_PROGRESS_BACKOFF;
}

/* The state of the device at the end of a call. */
struct adv_progress_rest {
	uint64_t deadline; /* the earliest deadline that is worth a wake-up */
	uint64_t cut_at;   /* time when the call stopped sending; 0: it sent all packets */
	bool full;	   /* the send socket is full */
	bool full_unseen;  /* full, and the thread does not wait for room in the socket */
	bool acks_wait;	   /* ACKs are delayed */
};

/* True if a thread that wakes at wake_at has to be woken for the deadline. */
static inline bool adv_progress_is_too_late(uint64_t wake_at, uint64_t deadline)
{
	return deadline < wake_at && wake_at - deadline > ADV_PROGRESS_WAKE_SLACK;
}

/* The program polls, and no packet is to be expected: if the program receives, lets the thread do
 * so at `now`. */
unsigned adv_progress_gives_back(struct adv_progress *p, uint64_t now);

/* True if adv_progress_call_ends() would change nothing. That is the usual end of a call: it leaves
 * no packet to send, and the background thread receives. */
static inline bool adv_progress_is_covered(const struct adv_progress *p, uint64_t deadline,
					   bool acks_wait)
{
	return adv_progress_state(p) <= ADV_PROGRESS_LEFT && (p->acks_wait || !acks_wait) &&
	       !adv_progress_is_too_late(atomic_load_explicit(&p->wake_at, memory_order_relaxed),
					 deadline);
}

/* Ends a call: wakes the receiving thread if its next wake-up is too late for timers or for packets
 * that the call did not send. */
unsigned adv_progress_call_ends(struct adv_progress *p, const struct adv_progress_rest *rest);

/* Records that the program requests an event and may then sleep. If it received by polling, the
 * background thread takes over. */
unsigned adv_progress_arms(struct adv_progress *p);

/* True if a post of a small request should receive until the peer's WRITE arrives. The call then
 * makes progress from adv_progress_linger_begins() to adv_progress_linger_ends(). */
static inline bool adv_progress_lingers(const struct adv_progress *p)
{
	return p->lingers;
}
/* Begins to linger at `now`. *until: the longest. If *until is 0, the post must not linger. */
unsigned adv_progress_linger_begins(struct adv_progress *p, uint64_t now, uint64_t *until);
/* Ends lingering at `now`. before: time of the last but one look for packets. written: a WRITE of
 * the peer arrived. */
unsigned adv_progress_linger_ends(struct adv_progress *p, uint64_t before, uint64_t now,
				  bool written);

/* True if a small request may be held, so that one system call sends several. */
bool adv_progress_may_hold(struct adv_progress *p);

/* ---- the first of the program's threads that wait for an event ---- */

/* Begins the wait of a thread. */
unsigned adv_progress_waits(struct adv_progress *p);
/* Makes the waiting thread the receiver. */
unsigned adv_progress_wait_receives(struct adv_progress *p);
/* Records that the waiting thread sleeps next, and runs timers at `deadline`. */
void adv_progress_wait_sleeps(struct adv_progress *p, uint64_t deadline);
/* Counts a wake-up of the waiting thread. UNLOCKED */
void adv_progress_wait_woken(struct adv_progress *p);
/* Ends the wait. others: another thread still waits and does not receive. */
unsigned adv_progress_wait_ends(struct adv_progress *p, bool others);
/* True if a waiting thread receives. UNLOCKED */
bool adv_progress_waiter_receives(const struct adv_progress *p);

/* ---- a polling program that sleeps ---- */

/* Begins a sleep of the polling program, at most until *deadline. May set an earlier *deadline.
 * Stores the actions. False: the program must not sleep. */
bool adv_progress_backs_off(struct adv_progress *p, uint64_t now, uint64_t *deadline,
			    unsigned *actions);
/* Ends that sleep at `now`. others: another thread waits and does not receive. */
unsigned adv_progress_backoff_ends(struct adv_progress *p, uint64_t now, bool others);

/* ---- the background thread ---- */

/* Returns the next step of the background thread, which woke at `now`. sources: enum
 * adv_progress_source. locked: a thread holds the device's lock. UNLOCKED */
enum adv_progress_choice adv_progress_woken(struct adv_progress *p, uint64_t now, unsigned sources,
					    bool locked);
/* Handles ADV_PROGRESS_TRY if the lock was not free, because the program is in a call. UNLOCKED */
void adv_progress_missed(struct adv_progress *p);
/* Decides whether the background thread, which has acquired the lock, receives: it receives if the
 * sockets are armed after the actions. */
unsigned adv_progress_enters(struct adv_progress *p, uint64_t now, struct adv_progress_wakeup *w);
/* Judges the wake-up w, after which the background thread received `packets` packets. If too many
 * wake-ups were useless, the thread stops receiving. */
unsigned adv_progress_received(struct adv_progress *p, uint64_t now, unsigned packets,
			       const struct adv_progress_wakeup *w);

/* True if the thread should look for further packets before it sleeps, and after a look, if another
 * look should follow. The thread releases the lock between two looks. */
bool adv_progress_spins(struct adv_progress *p, uint64_t now);
bool adv_progress_spins_on(struct adv_progress *p, uint64_t now, unsigned packets);

/* The state of the device before the background thread sleeps. */
struct adv_progress_plan {
	uint64_t deadline; /* the earliest deadline */
	unsigned activity; /* counter of packets in both directions, only compared for changes */
	bool more;	   /* more packets are ready: do not sleep */
};

/* Plans the next sleep of the background thread, which then releases the lock. */
void adv_progress_sleeps(struct adv_progress *p, uint64_t now,
			 const struct adv_progress_plan *plan);
/* Returns when the background thread's sleep ends at the latest, or ADV_PROGRESS_NEVER. UNLOCKED */
uint64_t adv_progress_sleep_until(const struct adv_progress *p, uint64_t now);

#endif
