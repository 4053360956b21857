/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A loop of one thread: descriptors, timers, and tasks that run before the thread sleeps.
 * Everything is called from the thread of adv_loop_run(). The structures belong to the caller.
 */
#ifndef ADV_STORAGE_KIT_LOOP_H
#define ADV_STORAGE_KIT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/list.h"

struct adv_loop;

struct adv_watch {
	int fd;
	void (*ready)(struct adv_watch *w, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
};

struct adv_task {
	struct adv_list link; /* alone: the task does not wait */
	void (*run)(struct adv_task *t);
};

struct adv_kit_timer {
	struct adv_list link; /* alone: the timer does not run */
	uint64_t due;	      /* ms */
	void (*run)(struct adv_kit_timer *t);
};

/* How a loop sleeps. */
struct adv_sleeper {
	/* Returns when the descriptor `epoll` can be read, when the time is over (-1: never), or
	 * when it has deferred a task. False: it is known that the descriptor cannot be read. */
	bool (*sleep)(struct adv_sleeper *s, int epoll, int timeout_ms);
};

/* NULL and errno. */
struct adv_loop *adv_loop_create(void);
/* Nothing is watched any more, and no task waits. */
void adv_loop_destroy(struct adv_loop *l);

/* Calls w->ready when a descriptor has one of the events. 0, or -1 and errno. */
int adv_loop_watch(struct adv_loop *l, struct adv_watch *w, uint32_t events);
/* Changes the events. */
void adv_loop_change(struct adv_loop *l, struct adv_watch *w, uint32_t events);
/* w->ready is not called any more, not even for events that have been fetched. */
void adv_loop_unwatch(struct adv_loop *l, struct adv_watch *w);

void adv_task_init(struct adv_task *t, void (*run)(struct adv_task *t));
/* Runs a task once before the thread sleeps. */
void adv_loop_defer(struct adv_loop *l, struct adv_task *t);
void adv_task_cancel(struct adv_task *t);

void adv_kit_timer_init(struct adv_kit_timer *t, void (*run)(struct adv_kit_timer *t));
/* Starts a timer, or starts it again. */
void adv_loop_start_timer(struct adv_loop *l, struct adv_kit_timer *t, unsigned ms);
void adv_kit_timer_cancel(struct adv_kit_timer *t);

/* Lets the loop sleep by a function. NULL: by epoll_wait(2), as at first. */
void adv_loop_sleep_by(struct adv_loop *l, struct adv_sleeper *s);
/* Runs until adv_loop_stop(). */
void adv_loop_run(struct adv_loop *l);
void adv_loop_stop(struct adv_loop *l);

#endif
