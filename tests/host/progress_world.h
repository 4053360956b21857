/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A world in virtual time for src/host/progress.c: a device whose packets arrive at planned times,
 * its background thread, and threads of a program. The world feeds the machine as device.c,
 * device_thread.c and device_wait.c do, carries out its actions, and counts wake-ups and what they
 * cost. Nothing here sleeps; a second takes a moment.
 */
#ifndef ADV_TESTS_HOST_PROGRESS_WORLD_H
#define ADV_TESTS_HOST_PROGRESS_WORLD_H

#include "host/progress.h"

#define US 1000ull
#define MS (1000 * US)
#define S  (1000 * MS)

/* Prices, ns: docs/performance.md and the comments in src/host have their origin. */
#define PRICE_WAKE_UP	(20 * US) /* from a signal until the woken thread runs */
#define PRICE_SIGNAL	(7 * US)  /* what the thread pays that wakes another one */
#define PRICE_LOOK	(5 * US)  /* of a processor, for each wake-up */
#define PRICE_EPOLL_CTL (1 * US)

#define WORLD_THREADS	4
#define WORLD_PACKETS	64 /* on the way or in the socket */

struct world;

/* A thread of the program runs, and returns when it runs next. Or it ends with world_wait(). */
typedef uint64_t world_step_fn(struct world *w, unsigned thread);

struct world_counts {
	unsigned by_packet; /* wake-ups of the background thread ... */
	unsigned by_kick;
	unsigned by_time;
	unsigned waiter;   /* of the waiting thread */
	unsigned takes;	   /* the background thread received */
	unsigned switches; /* sockets armed or disarmed */
	unsigned packets;  /* received */
	uint64_t lay;	   /* ns that they lay in the socket */
	uint64_t lay_longest;
	uint64_t price; /* ns of all processors for all of this */
};

struct world_thread {
	world_step_fn *step;
	uint64_t at;	/* when it runs next */
	bool waits;	/* in adv_device_wait(), and sleeps until `at` */
	bool polls;	/* in a polling loop: mostly with the lock held */
	unsigned stage; /* for the step function */
	uint64_t until;
};

struct world {
	struct adv_progress p;
	uint64_t now;
	struct world_thread thread[WORLD_THREADS];
	unsigned threads;
	uint64_t arrival[WORLD_PACKETS]; /* rising: those not received */
	unsigned arrivals;
	uint64_t announced; /* arrivals up to this time have woken sleeping threads */
	bool armed;
	bool ready;	     /* the socket, for epoll: edge-triggered */
	uint64_t background; /* when the background thread runs next */
	unsigned sources;    /* what woke it */
	bool asleep;	     /* it has not been woken yet */
	unsigned received;   /* packets, ever: what a program sees in its memory */
	unsigned activity;
	uint64_t deadline; /* of one timer; the next progress after it runs it */
	struct world_counts count;
	struct world_counts settled; /* as `count` was at world_settled() */
};

void world_init(struct world *w);
void world_add(struct world *w, world_step_fn *step);
/* Runs until the time is `until`. */
void world_run(struct world *w, uint64_t until);
/* Starts the period that world_since() counts. */
void world_settled(struct world *w);
struct world_counts world_since(const struct world *w);
/* Prints one line of what world_since() counts, for people who change the policy. */
void world_print(const struct world *w, const char *name, unsigned rounds);

/* ---- what a program does in a step ---- */

/* Lets a packet of the peer arrive `later` ns from now. */
void world_send_back(struct world *w, uint64_t later);
/* ibv_poll_cq() that looks for packets: returns how many it received. */
unsigned world_poll(struct world *w);
/* ibv_poll_cq() that finds a completion before it looks. */
void world_poll_found(struct world *w);
/* ibv_post_send() of a packet. */
void world_post(struct world *w);
/* ibv_req_notify_cq() */
void world_request_event(struct world *w);
/* ibv_get_cq_event(): the step function is called again when there was a packet. */
uint64_t world_wait(struct world *w, unsigned thread);

#endif
