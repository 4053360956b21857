/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events on their way to the application: a queue behind a descriptor that it may poll and set to
 * O_NONBLOCK. An event that waits is a count in a node of the object it is about, so that queueing
 * one needs no memory and never fails.
 */
#ifndef ADV_VERBS_EVENT_QUEUE_H
#define ADV_VERBS_EVENT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"

struct adv_ibv_event_queue {
	int fd; /* an eventfd of semaphore kind: readable while events wait */
	pthread_mutex_t lock;
	struct adv_list nodes; /* those with events, oldest first */
};

/* One kind of event of one object. */
struct adv_ibv_event_node {
	struct adv_list link; /* queue->nodes while waiting > 0 */
	unsigned waiting;
	unsigned taken; /* how many the application has got */
	int type;	/* enum ibv_event_type, of asynchronous events */
	void *object;
};

void adv_ibv_event_node_init(struct adv_ibv_event_node *n, void *object, int type);

/* 0 or errno. */
int adv_ibv_event_queue_init(struct adv_ibv_event_queue *q);
void adv_ibv_event_queue_destroy(struct adv_ibv_event_queue *q);

/* Queues one event. Any thread; does not block. Returns the eventfd to which the caller, or the
 * device for it, is to add 1: nobody sees the event before. */
int adv_ibv_event_push(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n);

/* False: an event waits, or is about to. */
bool adv_ibv_event_queue_empty(struct adv_ibv_event_queue *q);

/* Takes the oldest event, and waits for one unless the descriptor says O_NONBLOCK. NULL with errno:
 * EAGAIN, EINTR. A cancellation point, as reading the kernel's descriptor is. */
struct adv_ibv_event_node *adv_ibv_event_pop(struct adv_ibv_event_queue *q);

/* The same for who has an event of the descriptor's without having read it. NULL: the object that
 * it was about is gone. */
struct adv_ibv_event_node *adv_ibv_event_take(struct adv_ibv_event_queue *q);

/* Drops what waits in n, whose object goes away; returns how many the application has got. */
unsigned adv_ibv_event_forget(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n);

/* Adds to *taken how many the application has got; false where others wait. */
bool adv_ibv_event_none_waits(struct adv_ibv_event_queue *q, const struct adv_ibv_event_node *n,
			      unsigned *taken);

#endif
