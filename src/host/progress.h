/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who receives the packets of a device: its background thread, a polling program, or a program that
 * waits for an event. One state machine decides; the table of its transitions is in progress.c.
 *
 * The machine makes no system call, takes no lock and reads no clock. Each function is an event.
 * Times are in ns of one monotonic clock. The result of an event is a set of actions that the
 * caller carries out at once (device_actions.c). device.c feeds the program's calls,
 * device_thread.c feeds the background thread, device_wait.c feeds waiting programs.
 * tests/host/test_progress*.c replay histories of programs in virtual time and count wake-ups.
 *
 * Locking: the caller holds the device's lock, except where a function is marked UNLOCKED. Those
 * are called by the background thread, which must not wait for a lock that a polling program holds.
 */
#ifndef ADV_HOST_PROGRESS_H
#define ADV_HOST_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ADV_PROGRESS_NEVER	UINT64_MAX
#define ADV_PROGRESS_PAUSE	2000  /* ns between polls of a loop: another process may have run */
#define ADV_PROGRESS_SPINS	8     /* polls that find nothing before a polling program sleeps */
#define ADV_PROGRESS_WAKE_SLACK 50000 /* ns: a timer may be that late */

/*
 * In the first three states the sockets are armed: a packet wakes the background thread. In the
 * first six, the receiving thread may sleep and has to be woken for timers.
 */
enum adv_progress_state {
	ADV_PROGRESS_THREAD = 1,   /* the background thread receives */
	ADV_PROGRESS_LEFT,	   /* it woke, and left the packets to the polling program */
	ADV_PROGRESS_LEAVING,	   /* likewise, too often: the program's next call disarms */
	ADV_PROGRESS_WAITER,	   /* a waiting program receives; the thread looks at it */
	ADV_PROGRESS_WAITER_ALONE, /* a waiting program receives; the thread sleeps */
	ADV_PROGRESS_BACKOFF, /* a polling program receives, and sleeps until a packet arrives */
	ADV_PROGRESS_POLLER,  /* the program receives by polling; the thread looks at it */
	ADV_PROGRESS_BETWEEN, /* likewise, between two waits of the program */
	ADV_PROGRESS_NOBODY,  /* the program sleeps; the thread is kicked, to receive */
	ADV_PROGRESS_STATES,
};

/* What the caller of an event does at once. */
enum adv_progress_action {
	ADV_PROGRESS_ARM = 1,	      /* put the sockets into the thread's epoll set */
	ADV_PROGRESS_DISARM = 2,      /* remove them */
	ADV_PROGRESS_KICK = 4,	      /* wake the background thread */
	ADV_PROGRESS_WAKE_WAITER = 8, /* wake the waiting thread that receives */
};

/* What woke the background thread. None of these: its time had come. */
enum adv_progress_source {
	ADV_PROGRESS_BY_KICK = 1,
	ADV_PROGRESS_BY_PACKET = 2, /* the sockets, or the bell of shared memory */
	ADV_PROGRESS_BY_NOTICE = 4, /* adverbd has a notification */
	ADV_PROGRESS_BY_ROOM = 8,   /* a full send socket has room */
};

/* What the background thread does after it woke. */
enum adv_progress_choice {
	ADV_PROGRESS_SLEEP_ON, /* sleep again, without the lock */
	ADV_PROGRESS_TRY,      /* get the lock if it is free; else adv_progress_missed() */
	ADV_PROGRESS_ENTER,    /* get the lock */
};

/* One wake-up of the background thread: its caller keeps it until the thread sleeps again. */
struct adv_progress_wakeup {
	unsigned sources; /* enum adv_progress_source */
	bool after_short; /* the time before it, without the thread, was short */
};

enum adv_progress_kick { ADV_PROGRESS_NO_KICK, ADV_PROGRESS_KICK_REST, ADV_PROGRESS_KICK_FULL };

struct adv_progress {
	/* Changed with the lock, and by the background thread without it: by compare and exchange.
	 */
	_Atomic enum adv_progress_state state;

	/* Written by the program's calls, read by the background thread without the lock. */
	atomic_uint_fast64_t last_poll; /* 0: the program said that it will sleep */
	atomic_uint_fast64_t last_post; /* when its packets were sent */
	atomic_bool found;		/* a later poll found completions and read no clock */
	atomic_bool asked;		/* an event was requested since the last disarming */
	atomic_uint wakeups;		/* of waiting threads that received */

	/* Changed with the lock. The background thread, which alone writes the first two and
	 * wake_at, reads them without it. */
	unsigned useless_limit;		     /* useless wake-ups that end the thread's turn */
	_Atomic enum adv_progress_kick kick; /* the last kick, until the thread has the lock */
	uint64_t wake_at;      /* when the thread runs timers at the latest; 0: at once */
	uint64_t waiter_at;    /* when the waiting thread runs timers; 0: at once */
	uint64_t idle;	       /* longest sleep of the thread while it receives */
	uint64_t trial;	       /* when the thread last received; 0: a call has ended since */
	unsigned useless;      /* recent useless wake-ups, less some for each useful one */
	unsigned activity;     /* counter of packets when the thread planned its last sleep */
	bool acks_wait;	       /* ACKs were delayed since that plan */
	unsigned vain;	       /* polls in a row that found no packet */
	uint64_t vain_since;   /* the first of them */
	uint64_t paused_at;    /* the last poll that came late */
	uint64_t crowded_till; /* until then other processes are assumed to want the processor */
	uint64_t crowded_for;  /* how long that was assumed the last time */
	unsigned hold_off;     /* number of next small requests that are not held */
	unsigned hold_cost;    /* what hold_off becomes when a request was held too long */

	/* The background thread's own. */
	unsigned left;		/* wake-ups in a row that the thread left to the program */
	unsigned wakeups_seen;	/* value of `wakeups` at the last look */
	uint64_t look_interval; /* ns between looks at the program */
};

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

/* A polling loop looks for packets. */
static inline void adv_progress_polled(struct adv_progress *p, uint64_t now)
{
	atomic_store_explicit(&p->last_poll, now, memory_order_relaxed);
}

/* `now`, a poll of a loop, came long after the last poll. */
void adv_progress_paused(struct adv_progress *p, uint64_t last, uint64_t now);
/* That poll found packets. */
void adv_progress_found_after_pause(struct adv_progress *p, uint64_t now);

/* As adv_progress_polled(), before a poll that adv_progress_poll_ends() follows. */
static inline void adv_progress_poll_begins(struct adv_progress *p, uint64_t now)
{
	uint64_t last = atomic_load_explicit(&p->last_poll, memory_order_relaxed);

	adv_progress_polled(p, now);
	if (now - last > ADV_PROGRESS_PAUSE && p->vain > ADV_PROGRESS_SPINS)
		adv_progress_paused(p, last, now);
}

/* Returns true if the program should sleep before it polls again: adv_progress_backs_off(). */
static inline bool adv_progress_poll_ends(struct adv_progress *p, uint64_t now, unsigned packets)
{
	if (packets) {
		if (p->paused_at == now)
			adv_progress_found_after_pause(p, now);
		p->vain = 0;
		return false;
	}
	if (p->vain++ == 0)
		p->vain_since = now;
	return now < p->crowded_till && p->vain > ADV_PROGRESS_SPINS;
}

/* A polling loop found completions before it looked for packets. */
static inline void adv_progress_found(struct adv_progress *p)
{
	atomic_store_explicit(&p->found, true, memory_order_relaxed);
}

/* A call has sent packets. */
static inline void adv_progress_posted(struct adv_progress *p, uint64_t now)
{
	atomic_store_explicit(&p->last_post, now, memory_order_relaxed);
}

/* True if the next call decides whether the thread's last wake-up was useful: then
 * adv_progress_judge() follows. */
static inline bool adv_progress_on_trial(const struct adv_progress *p)
{
	return p->trial != 0;
}

/* Judges the last wake-up at the first call since the thread received. posted: the call had packets
 * to send. */
void adv_progress_judge(struct adv_progress *p, uint64_t now, bool posted);

/* True if adv_progress_call_ends() has to be called also after a call that was not cut. */
static inline bool adv_progress_heeds_calls(const struct adv_progress *p)
{
	return adv_progress_state(p) <= ADV_PROGRESS_BACKOFF;
}

/* What a call leaves behind. */
struct adv_progress_rest {
	uint64_t deadline; /* the earliest deadline that is worth a wake-up */
	uint64_t cut_at;   /* when the call stopped sending, to release the lock; 0: it sent all */
	bool full;	   /* the send socket is full ... */
	bool full_unseen;  /* ... and the thread will not wake when the socket has room */
	bool acks_wait;	   /* ACKs are delayed */
};

/* True if a thread that wakes at wake_at has to be woken for the deadline. */
static inline bool adv_progress_is_too_late(uint64_t wake_at, uint64_t deadline)
{
	return deadline < wake_at && wake_at - deadline > ADV_PROGRESS_WAKE_SLACK;
}

/* True if adv_progress_call_ends() would do nothing: the usual end of a call that leaves no packet
 * to send, while the background thread receives. */
static inline bool adv_progress_is_covered(const struct adv_progress *p, uint64_t deadline,
					   bool acks_wait)
{
	return adv_progress_state(p) <= ADV_PROGRESS_LEFT && (p->acks_wait || !acks_wait) &&
	       !adv_progress_is_too_late(p->wake_at, deadline);
}

/* A call ends: the receiving thread must run timers and send in time. */
unsigned adv_progress_call_ends(struct adv_progress *p, const struct adv_progress_rest *rest);

/* The program requests an event and may sleep. */
unsigned adv_progress_arms(struct adv_progress *p);

/* True if a small request may be held, so that one system call sends several. */
bool adv_progress_may_hold(struct adv_progress *p);

/* Held requests are sent; the first one was held for `ns`. */
void adv_progress_held(struct adv_progress *p, uint64_t ns);

/* ---- a thread of the program that waits for an event, the first of several ---- */

/* The thread begins to wait. */
unsigned adv_progress_waits(struct adv_progress *p);
/* The waiting thread receives from now on. */
unsigned adv_progress_wait_receives(struct adv_progress *p);
/* The waiting thread sleeps next, and runs timers at `deadline`. */
void adv_progress_wait_sleeps(struct adv_progress *p, uint64_t deadline);
/* The waiting thread woke. UNLOCKED */
void adv_progress_wait_woken(struct adv_progress *p);
/* The wait is over. others: another thread still waits and does not receive. */
unsigned adv_progress_wait_ends(struct adv_progress *p, bool others);
/* True if a waiting thread receives. UNLOCKED */
bool adv_progress_waiter_receives(const struct adv_progress *p);

/* ---- a polling program that sleeps ---- */

/* The program sleeps next, at most until *deadline, which may become earlier. False: it must not
 * sleep. */
bool adv_progress_backs_off(struct adv_progress *p, uint64_t now, uint64_t *deadline);
/* The program woke at `now`. others: another thread waits and does not receive. */
unsigned adv_progress_backoff_ends(struct adv_progress *p, uint64_t now, bool others);

/* ---- the background thread ---- */

/* The background thread woke. locked: a thread holds the device's lock. UNLOCKED */
enum adv_progress_choice adv_progress_woken(struct adv_progress *p, uint64_t now, unsigned sources,
					    bool locked);
/* The lock was not free: the program is in a call. UNLOCKED */
void adv_progress_missed(struct adv_progress *p);
/* The background thread got the lock. If the sockets are armed afterwards, it receives. */
unsigned adv_progress_enters(struct adv_progress *p, uint64_t now, struct adv_progress_wakeup *w);
/* The background thread received `packets` packets. */
unsigned adv_progress_received(struct adv_progress *p, uint64_t now, unsigned packets,
			       const struct adv_progress_wakeup *w);

/* What the background thread knows before it sleeps. */
struct adv_progress_plan {
	uint64_t deadline; /* the earliest deadline */
	unsigned activity; /* a counter of packets */
	bool more;	   /* there is more to receive */
};

/* The background thread plans its sleep, and releases the lock next. */
void adv_progress_sleeps(struct adv_progress *p, uint64_t now,
			 const struct adv_progress_plan *plan);
/* Returns when the background thread wakes if nothing wakes it before; ADV_PROGRESS_NEVER.
 * UNLOCKED */
uint64_t adv_progress_sleep_until(const struct adv_progress *p, uint64_t now);

#endif
