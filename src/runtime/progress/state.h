/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state machine of progress.h: its states and its memory. Locking is as described there. */
#ifndef ADV_RUNTIME_PROGRESS_STATE_H
#define ADV_RUNTIME_PROGRESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/progress/hold.h"
#include "runtime/progress/nap.h"
#include "runtime/progress/spin.h"

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

static inline enum adv_progress_state adv_progress_state(const struct adv_progress *p)
{
	return atomic_load_explicit(&p->state, memory_order_relaxed);
}

/* True if a packet wakes the background thread. UNLOCKED */
static inline bool adv_progress_is_armed(const struct adv_progress *p)
{
	return adv_progress_state(p) <= ADV_PROGRESS_LEAVING;
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

#endif
