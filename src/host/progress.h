/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which thread receives the packets of a device: the background thread, a polling program,
 * or a program that waits for an event. The decision is a state machine; progress.c has the table
 * of its transitions.
 *
 * The machine makes no system call, acquires no lock and reads no clock. Each function that changes
 * the machine is an event of it. Times are in ns of one monotonic clock. A function that returns
 * `unsigned` returns actions, a set of enum adv_progress_action, which the caller carries out at
 * once (device_actions.c). device.c reports the program's calls, device_thread.c reports the
 * background thread, and device_wait.c reports waiting programs. tests/host/test_progress*.c replay
 * histories of programs in virtual time and count wake-ups.
 *
 * Locking: the caller holds the device's lock, except for functions that are marked UNLOCKED. The
 * background thread calls those: it must not wait for a lock that a polling program holds.
 */
#ifndef ADV_HOST_PROGRESS_H
#define ADV_HOST_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/progress_hold.h"
#include "host/progress_nap.h"
#include "host/progress_spin.h"

#define ADV_PROGRESS_NEVER UINT64_MAX
#define ADV_PROGRESS_PAUSE 2000 /* ns between two polls: another process may have run */
/* ns between two polls of a loop; if it is longer, another process ran */
#define ADV_PROGRESS_PREEMPTED	400000
#define ADV_PROGRESS_SPINS	8     /* polls without a packet before a polling program sleeps */
#define ADV_PROGRESS_WAKE_SLACK 50000 /* ns; a timer may be late by this time */

/*
 * Below, "the thread" is the background thread. In the states THREAD to LEAVING the sockets are
 * armed: a packet wakes the thread. In the states THREAD to BACKOFF the receiving thread may sleep
 * and must be woken for timers. In the states WAITER and BACKOFF to NOBODY the thread checks the
 * program every look_interval.
 */
enum adv_progress_state {
	ADV_PROGRESS_THREAD = 1, /* the background thread receives */
	ADV_PROGRESS_LEFT,	 /* the thread woke, and left the packets to the polling program */
	ADV_PROGRESS_LEAVING,	 /* as LEFT, but too often: the program's next call disarms */
	ADV_PROGRESS_WAITER,	 /* a waiting program receives; the thread checks it */
	ADV_PROGRESS_WAITER_ALONE, /* a waiting program receives; the thread does not check it */
	ADV_PROGRESS_BACKOFF, /* a polling program receives, and sleeps until a packet arrives */
	ADV_PROGRESS_POLLER,  /* the program receives by polling; the thread checks it */
	ADV_PROGRESS_BETWEEN, /* as POLLER, but the program is between two waits */
	ADV_PROGRESS_NOBODY,  /* the program sleeps, and the thread is kicked to receive */
	ADV_PROGRESS_STATES,
};

/* Actions: the caller carries them out at once. */
enum adv_progress_action {
	ADV_PROGRESS_ARM = 1,	      /* add the sockets to the background thread's epoll set */
	ADV_PROGRESS_DISARM = 2,      /* remove the sockets from that epoll set */
	ADV_PROGRESS_KICK = 4,	      /* wake the background thread */
	ADV_PROGRESS_WAKE_WAITER = 8, /* wake the waiting thread that receives */
};

/* Reasons for a wake-up of the background thread. No bit is set if its sleep timed out. */
enum adv_progress_source {
	ADV_PROGRESS_BY_KICK = 1,
	ADV_PROGRESS_BY_PACKET = 2,    /* the sockets, or the bell of shared memory */
	ADV_PROGRESS_BY_NOTICE = 4,    /* adverbd sent a notification */
	ADV_PROGRESS_BY_ROOM = 8,      /* a full send socket has room */
	ADV_PROGRESS_CLOCK_STOOD = 16, /* no reason: it is unknown how old the last poll is */
};

/* The next step of the background thread after a wake-up. */
enum adv_progress_choice {
	ADV_PROGRESS_SLEEP_ON, /* sleep again, without the lock */
	ADV_PROGRESS_TRY,      /* acquire the lock if it is free; else call adv_progress_missed() */
	ADV_PROGRESS_ENTER,    /* acquire the lock */
};

/* One wake-up of the background thread. The thread keeps it until it sleeps again. */
struct adv_progress_wakeup {
	unsigned sources; /* enum adv_progress_source */
	bool after_short; /* the thread had stopped receiving for a short time only */
};

enum adv_progress_kick { ADV_PROGRESS_NO_KICK, ADV_PROGRESS_KICK_REST, ADV_PROGRESS_KICK_FULL };

struct adv_progress {
	/* Changed by compare and exchange: with the lock, or by the background thread without the
	 * lock. */
	_Atomic enum adv_progress_state state;

	/* Written by the program's calls, read by the background thread without the lock. */
	atomic_uint_fast64_t last_poll; /* time of the last poll; 0: the program will sleep */
	atomic_uint_fast64_t last_post; /* time when the program last sent packets */
	atomic_bool found; /* a later poll found completions and did not read the clock */
	/* The program requested an event since the last disarming, and counts as one that will
	 * sleep for so many wake-ups of the thread while it polls. */
	atomic_uint asked;
	atomic_uint wakeups; /* wake-ups of receiving threads in adv_device_wait() */

	/* Changed with the lock held. The background thread also reads useless_limit, kick and
	 * wake_at without the lock; no other thread writes useless_limit. */
	unsigned useless_limit;		     /* useless wake-ups after which the thread stops */
	_Atomic enum adv_progress_kick kick; /* the last kick; adv_progress_enters() resets it */
	atomic_uint_fast64_t wake_at; /* latest time at which the thread runs timers; 0: at once */
	uint64_t waiter_at;	      /* time when the waiting thread runs timers; 0: at once */
	uint64_t idle;		      /* longest sleep of the thread while it receives, ns */
	uint64_t trial;		      /* time when the thread last received; 0: it is judged */
	bool trial_polled;	      /* the program has made one call since then, a poll */
	unsigned useless;	      /* recent useless wake-ups, reduced for each useful one */
	unsigned activity;	      /* adv_progress_plan.activity of the thread's last sleep */
	bool acks_wait;		      /* a call has delayed ACKs since that sleep was planned */
	unsigned vain;		      /* consecutive polls without a packet, and without a post */
	uint64_t vain_since;	      /* time of the first of these polls */
	uint64_t paused_at;	      /* time of the last poll that was late */
	uint64_t crowded_till;	      /* until then, other processes need the processor */
	bool unchecked;	      /* the thread's long sleep is from before the polling program slept */
	uint64_t crowded_for; /* duration of the last such assumption, ns */
	bool lingers;	      /* posts linger, see adv_progress_lingers() */
	bool looped;	      /* since the last post, and before `vain` was reset, a loop polled */
	unsigned quick_posts; /* consecutive posts soon after the thread received */
	unsigned quick_needed; /* value of quick_posts from which on posts linger */
	unsigned linger_vain;  /* consecutive lingering posts that were useless */
	uint64_t lingered;     /* time when the last of them received a WRITE; 0: it did not */
	struct adv_progress_hold hold;
	struct adv_progress_nap nap;
	uint64_t nap_began; /* time when the polling program began to sleep */

	struct adv_progress_spin spin; /* of the thread */

	/* Used by the background thread only. */
	unsigned left;		/* consecutive wake-ups whose packets were left to the program */
	unsigned wakeups_seen;	/* value of `wakeups` at the thread's last check of the program */
	uint64_t look_interval; /* ns between the thread's checks of the program */
};

/* Initializes the machine in state THREAD. The background thread first runs timers at `deadline`.
 */
void adv_progress_init(struct adv_progress *p, uint64_t deadline);

static inline enum adv_progress_state adv_progress_state(const struct adv_progress *p)
{
	return atomic_load_explicit(&p->state, memory_order_relaxed);
}

/* True if a packet wakes the background thread. UNLOCKED */
static inline bool adv_progress_is_armed(const struct adv_progress *p)
{
	return adv_progress_state(p) <= ADV_PROGRESS_LEAVING;
}

/* ---- the program's calls ---- */

/* Records a poll of a polling loop at `now`. */
static inline void adv_progress_polled(struct adv_progress *p, uint64_t now)
{
	atomic_store_explicit(&p->last_poll, now, memory_order_relaxed);
}

/* Handles a late poll: a polling loop polls at `now`, long after its last poll at `last`. */
void adv_progress_paused(struct adv_progress *p, uint64_t last, uint64_t now);
/* Records that other processes need the processor: the program does not spin for some time. */
void adv_progress_assume_crowded(struct adv_progress *p, uint64_t now);
/* Records that the late poll at `now` found packets. */
void adv_progress_found_after_pause(struct adv_progress *p, uint64_t now);

/* As adv_progress_polled(), for a poll at whose end adv_progress_poll_ends() is called. */
static inline void adv_progress_poll_begins(struct adv_progress *p, uint64_t now)
{
	uint64_t last = atomic_load_explicit(&p->last_poll, memory_order_relaxed);

	adv_progress_polled(p, now);
	if (now - last > ADV_PROGRESS_PAUSE && p->vain > ADV_PROGRESS_SPINS)
		adv_progress_paused(p, last, now);
}

/* True if the program has polled in a loop since its last post. A program that spins on memory
 * polls before a post at most once. */
static inline bool adv_progress_looped(const struct adv_progress *p)
{
	return p->looped || p->vain > 1;
}

/* Begins to count polls without a packet from 0. */
static inline void adv_progress_reset_vain(struct adv_progress *p)
{
	p->looped = adv_progress_looped(p);
	p->vain = 0;
}

/* True if a polling loop is assumed to share its processor with others at `now`. */
static inline bool adv_progress_is_crowded(const struct adv_progress *p, uint64_t now)
{
	return now < p->crowded_till;
}

/* True if a polling loop should sleep between its polls at `now`. */
static inline bool adv_progress_may_nap(const struct adv_progress *p, uint64_t now)
{
	return adv_progress_is_crowded(p, now) && adv_progress_nap_permitted(&p->nap);
}

/* Ends a poll that received `packets` packets. True if the program should call
 * adv_progress_backs_off() and sleep before it polls again. */
static inline bool adv_progress_poll_ends(struct adv_progress *p, uint64_t now, unsigned packets)
{
	if (packets) {
		if (p->paused_at == now)
			adv_progress_found_after_pause(p, now);
		adv_progress_reset_vain(p);
		if (adv_progress_nap_heeds(&p->nap, packets))
			adv_progress_nap_polled(&p->nap, packets);
		return false;
	}
	if (p->vain++ == 0) {
		p->vain_since = now;
		if (adv_progress_nap_heeds(&p->nap, 0))
			adv_progress_nap_polled(&p->nap, 0);
	}
	return adv_progress_may_nap(p, now) && p->vain > ADV_PROGRESS_SPINS;
}

/* Records that a polling loop found completions, so that it did not receive packets. */
static inline void adv_progress_found(struct adv_progress *p)
{
	atomic_store_explicit(&p->found, true, memory_order_relaxed);
}

/* Records that a call sent packets at `now`. */
static inline void adv_progress_posted(struct adv_progress *p, uint64_t now)
{
	p->looped = false;
	p->vain = 0;
	if (atomic_load_explicit(&p->found, memory_order_relaxed)) {
		atomic_store_explicit(&p->found, false, memory_order_relaxed);
		adv_progress_polled(p, now);
	}
	atomic_store_explicit(&p->last_post, now, memory_order_relaxed);
}

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
