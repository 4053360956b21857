/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/loop.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	BATCH = 32,
	/* Of tasks, before other things are done: a task may make a stream's that sends. */
	ROUNDS = 2,
};

struct adv_loop {
	int epoll;
	bool stop;
	struct adv_list tasks, timers;
	struct adv_sleeper *sleeper;	  /* or NULL */
	struct epoll_event events[BATCH]; /* fetched */
	int event_count, event_next;
};

struct adv_loop *adv_loop_create(void)
{
	struct adv_loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	adv_list_init(&l->tasks);
	adv_list_init(&l->timers);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll >= 0)
		return l;
	free(l);
	return NULL;
}

void adv_loop_destroy(struct adv_loop *l)
{
	close(l->epoll);
	free(l);
}

int adv_loop_watch(struct adv_loop *l, struct adv_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &e);
}

void adv_loop_change(struct adv_loop *l, struct adv_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

void adv_loop_unwatch(struct adv_loop *l, struct adv_watch *w)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = l->event_next; i < l->event_count; i++) {
		if (l->events[i].data.ptr == w)
			l->events[i].data.ptr = NULL;
	}
}

void adv_task_init(struct adv_task *t, void (*run)(struct adv_task *t))
{
	adv_list_init(&t->link);
	t->run = run;
}

void adv_loop_defer(struct adv_loop *l, struct adv_task *t)
{
	if (adv_list_empty(&t->link))
		adv_list_add_tail(&l->tasks, &t->link);
}

void adv_task_cancel(struct adv_task *t)
{
	adv_list_del(&t->link);
}

void adv_kit_timer_init(struct adv_kit_timer *t, void (*run)(struct adv_kit_timer *t))
{
	adv_list_init(&t->link);
	t->run = run;
}

void adv_loop_start_timer(struct adv_loop *l, struct adv_kit_timer *t, unsigned ms)
{
	adv_kit_timer_cancel(t);
	t->due = adv_clock_ms() + ms;
	adv_list_add_tail(&l->timers, &t->link);
}

void adv_kit_timer_cancel(struct adv_kit_timer *t)
{
	adv_list_del(&t->link);
}

/* Runs the tasks that wait now; those that they add wait for the next round. */
static void run_tasks(struct adv_loop *l)
{
	struct adv_list now;

	adv_list_init(&now);
	adv_list_move_tail(&now, &l->tasks);
	while (!adv_list_empty(&now)) {
		struct adv_task *t = adv_container_of(now.next, struct adv_task, link);

		adv_list_del(&t->link);
		t->run(t);
	}
}

/* Runs the first timer that is due. False: there is none; `wait` gets the ms until the next one,
 * -1: no timer runs. */
static bool run_timer(struct adv_loop *l, int *wait)
{
	uint64_t now = adv_clock_ms();

	*wait = -1;
	adv_list_for_each(struct adv_kit_timer, t, &l->timers, link) {
		if (t->due <= now) {
			adv_list_del(&t->link);
			t->run(t);
			return true;
		}
		if (*wait < 0 || t->due - now < (uint64_t)*wait)
			*wait = (int)(t->due - now);
	}
	return false;
}

static void run_events(struct adv_loop *l, int wait)
{
	if (wait != 0 && l->sleeper) {
		if (!l->sleeper->sleep(l->sleeper, l->epoll, wait))
			return;
		wait = 0;
	}
	l->event_count = epoll_wait(l->epoll, l->events, BATCH, wait);
	for (l->event_next = 0; l->event_next < l->event_count;) {
		struct epoll_event *e = &l->events[l->event_next++];
		struct adv_watch *w = e->data.ptr;

		if (w)
			w->ready(w, e->events);
	}
}

void adv_loop_sleep_by(struct adv_loop *l, struct adv_sleeper *s)
{
	l->sleeper = s;
}

void adv_loop_run(struct adv_loop *l)
{
	int wait;

	while (!l->stop) {
		for (unsigned i = 0; i < ROUNDS && !adv_list_empty(&l->tasks); i++)
			run_tasks(l);
		while (run_timer(l, &wait))
			;
		/* A task or a timer may have stopped the loop. */
		if (!l->stop)
			run_events(l, adv_list_empty(&l->tasks) ? wait : 0);
	}
	run_tasks(l);
}

void adv_loop_stop(struct adv_loop *l)
{
	l->stop = true;
}
