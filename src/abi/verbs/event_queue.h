/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of events for the application. It has a descriptor that the application may poll and set
 * to O_NONBLOCK. A queued event is a count in a node of the object that the event concerns, so
 * queueing needs no memory and never fails.
 */
#ifndef ADV_ABI_VERBS_EVENT_QUEUE_H
#define ADV_ABI_VERBS_EVENT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"

struct adv_ibv_event_queue {
	int fd; /* an eventfd with EFD_SEMAPHORE: readable while events are queued */
	pthread_mutex_t lock;
	struct adv_list nodes; /* nodes with queued events, oldest first */
};

/* One event type of one object. */
struct adv_ibv_event_node {
	struct adv_list link; /* queue->nodes while queued > 0 */
	unsigned queued;
	unsigned dequeued; /* number of events that the application has received */
	int type;	   /* enum ibv_event_type, for asynchronous events */
	void *object;
};

void adv_ibv_event_node_init(struct adv_ibv_event_node *n, void *object, int type);

/* Initializes an empty queue and creates its descriptor. 0 or errno. */
int adv_ibv_event_queue_init(struct adv_ibv_event_queue *q);
void adv_ibv_event_queue_destroy(struct adv_ibv_event_queue *q);

/* Queues one event. Any thread may call it; it does not block. Returns the eventfd. The caller or
 * the device must add 1 to the eventfd; until then the application does not see the event. */
int adv_ibv_event_push(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n);

/* True if no event is queued. An event counts as queued even if the descriptor is not signalled
 * yet. */
bool adv_ibv_event_queue_empty(struct adv_ibv_event_queue *q);

/* Returns a bit mask of the types of the queued events of an object; NULL: of all objects. */
uint64_t adv_ibv_event_types(struct adv_ibv_event_queue *q, const void *object);

/* Reads the descriptor and dequeues the oldest event. Blocks until an event is queued, unless the
 * descriptor is O_NONBLOCK. NULL with errno: EAGAIN, EINTR. It is a cancellation point, like
 * reading the kernel's descriptor. */
struct adv_ibv_event_node *adv_ibv_event_wait(struct adv_ibv_event_queue *q);

/* Dequeues the oldest event without reading the descriptor, for an event that was not signalled on
 * it. NULL if the object of that event was destroyed. */
struct adv_ibv_event_node *adv_ibv_event_dequeue(struct adv_ibv_event_queue *q);

/* Drops the queued events of n, whose object is being destroyed. Returns the number of events of n
 * that the application has received. */
unsigned adv_ibv_event_drop(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n);

/* Sets *dequeued to its old value plus the number of events of n that the application has received.
 * True if no further event of n is queued. */
bool adv_ibv_event_none_queued(struct adv_ibv_event_queue *q, const struct adv_ibv_event_node *n,
			       unsigned *dequeued);

#endif
