/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A world in virtual time for src/runtime/progress/progress.c: a device whose packets arrive at
 * planned times, its background thread, and threads of a program. The world reports events to the
 * machine as device.c, runtime/device/thread.c and runtime/device/wait.c do. It carries out the
 * machine's actions, and counts wake-ups and their cost. No function sleeps, so a second of virtual
 * time takes a moment.
 */
#ifndef ADV_TESTS_RUNTIME_PROGRESS_WORLD_H
#define ADV_TESTS_RUNTIME_PROGRESS_WORLD_H

#include "runtime/progress/progress.h"

#define US 1000ull
#define MS (1000 * US)
#define S  (1000 * MS)

/* Costs, ns. docs/performance.md and the comments in src/runtime/device give their origin. */
#define PRICE_WAKE_UP	(20 * US) /* time from a signal until the woken thread runs */
#define PRICE_SIGNAL	(7 * US)  /* cost for the thread that wakes another one */
#define PRICE_LOOK	(5 * US)  /* processor time of each wake-up */
#define PRICE_EPOLL_CTL (1 * US)

#define WORLD_THREADS	4
#define WORLD_PACKETS	64 /* most packets in flight or in the socket */

struct world;

/* Runs one step of a thread of the program. Returns the time of the thread's next step, or the
 * result of world_wait(). */
typedef uint64_t world_step_fn(struct world *w, unsigned thread);

struct world_counts {
	unsigned by_packet; /* wake-ups of the background thread by a packet */
	unsigned by_kick;
	unsigned by_time;
	unsigned waiter;   /* wake-ups of the waiting thread */
	unsigned takes;	   /* number of times that the background thread received */
	unsigned switches; /* number of times that the sockets were armed or disarmed */
	unsigned packets;  /* received */
	uint64_t lay;	   /* ns; sum of the packets' times in the socket */
	uint64_t lay_longest;
	uint64_t price; /* processor time of all these events, ns */
};

struct world_thread {
	world_step_fn *step;
	uint64_t at;	/* time of the thread's next step */
	bool waits;	/* the thread sleeps in adv_device_wait() until `at` */
	bool polls;	/* the thread is in a polling loop: mostly with the lock held */
	unsigned stage; /* used by the step function */
	uint64_t until;
};

struct world {
	struct adv_progress p;
	uint64_t now;
	struct world_thread thread[WORLD_THREADS];
	unsigned threads;
	uint64_t arrival[WORLD_PACKETS]; /* arrival times of packets that are not received yet,
					    rising */
	unsigned arrivals;
	uint64_t announced; /* arrivals up to this time have woken sleeping threads */
	bool armed;
	bool ready;	     /* the socket is ready for epoll, edge-triggered */
	uint64_t background; /* time of the background thread's next step */
	unsigned sources;    /* sources of its wake-up */
	bool asleep;	     /* the background thread sleeps and has not been woken */
	unsigned received; /* number of packets received since the start: a program sees them in its
			      memory */
	unsigned activity;
	uint64_t deadline; /* deadline of one timer; the next progress after it runs the timer */
	struct world_counts count;
	struct world_counts settled; /* value of `count` at world_settled() */
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

/* ---- calls of a program in a step ---- */

/* Lets a packet of the peer arrive `later` ns from now. */
void world_send_back(struct world *w, uint64_t later);
/* Models ibv_poll_cq() that receives. Returns the number of received packets. */
unsigned world_poll(struct world *w);
/* Models ibv_poll_cq() that finds a completion before it receives. */
void world_poll_found(struct world *w);
/* Models ibv_post_send() of a packet. */
void world_post(struct world *w);
/* Models ibv_req_notify_cq(). */
void world_request_event(struct world *w);
/* Models ibv_get_cq_event(): the step function is called again after a packet was received. */
uint64_t world_wait(struct world *w, unsigned thread);

#endif
