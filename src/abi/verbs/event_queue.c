/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue of events, see event_queue.h. The descriptor's count is the number of queued events. */
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/verbs/event_queue.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

void adv_ibv_event_node_init(struct adv_ibv_event_node *n, void *object, int type)
{
	adv_list_init(&n->link);
	n->queued = 0;
	n->dequeued = 0;
	n->type = type;
	n->object = object;
}

int adv_ibv_event_queue_init(struct adv_ibv_event_queue *q)
{
	q->fd = (int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (q->fd < 0)
		return errno;
	pthread_mutex_init(&q->lock, NULL);
	adv_list_init(&q->nodes);
	return 0;
}

void adv_ibv_event_queue_destroy(struct adv_ibv_event_queue *q)
{
	syscall(SYS_close, q->fd);
	pthread_mutex_destroy(&q->lock);
}

int adv_ibv_event_push(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n)
{
	pthread_mutex_lock(&q->lock);
	if (n->queued++ == 0)
		adv_list_add_tail(&q->nodes, &n->link);
	pthread_mutex_unlock(&q->lock);
	return q->fd;
}

bool adv_ibv_event_queue_empty(struct adv_ibv_event_queue *q)
{
	bool empty;

	pthread_mutex_lock(&q->lock);
	empty = adv_list_empty(&q->nodes);
	pthread_mutex_unlock(&q->lock);
	return empty;
}

uint64_t adv_ibv_event_types(struct adv_ibv_event_queue *q, const void *object)
{
	uint64_t types = 0;

	pthread_mutex_lock(&q->lock);
	adv_list_for_each(const struct adv_ibv_event_node, n, &q->nodes, link)
		if (!object || n->object == object)
			types |= 1ull << n->type;
	pthread_mutex_unlock(&q->lock);
	return types;
}

struct adv_ibv_event_node *adv_ibv_event_dequeue(struct adv_ibv_event_queue *q)
{
	struct adv_ibv_event_node *n = NULL;

	pthread_mutex_lock(&q->lock);
	if (!adv_list_empty(&q->nodes)) {
		n = adv_container_of(q->nodes.next, struct adv_ibv_event_node, link);
		adv_list_del(&n->link);
		n->dequeued++;
		if (--n->queued > 0)
			adv_list_add_tail(&q->nodes, &n->link);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

struct adv_ibv_event_node *adv_ibv_event_wait(struct adv_ibv_event_queue *q)
{
	struct adv_ibv_event_node *n = NULL;
	uint64_t count;

	while (!n) {
		/* Calls read() of libc: programs cancel threads that block here, and SA_RESTART
		 * must work. Libraries that replace read() pass this descriptor on unchanged. */
		if (read(q->fd, &count, sizeof(count)) != sizeof(count))
			return NULL;
		/* NULL if the event's object was destroyed after the descriptor was signalled. */
		n = adv_ibv_event_dequeue(q);
	}
	return n;
}

/* Subtracts a dropped event from the descriptor's count. If another thread has already read the
 * event from the descriptor, that thread finds the queue empty and blocks again. On a kernel
 * without RWF_NOWAIT for eventfds, the count stays and costs the application one useless wake-up.
 */
static void decrement_eventfd(int fd)
{
	uint64_t count;
	struct iovec iov = {.iov_base = &count, .iov_len = sizeof(count)};

	syscall(SYS_preadv2, (long)fd, &iov, 1L, -1L, -1L, (long)RWF_NOWAIT);
}

unsigned adv_ibv_event_drop(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n)
{
	unsigned dequeued;

	pthread_mutex_lock(&q->lock);
	if (n->queued > 0)
		adv_list_del(&n->link);
	for (; n->queued > 0; n->queued--)
		decrement_eventfd(q->fd);
	dequeued = n->dequeued;
	pthread_mutex_unlock(&q->lock);
	return dequeued;
}

bool adv_ibv_event_none_queued(struct adv_ibv_event_queue *q, const struct adv_ibv_event_node *n,
			       unsigned *dequeued)
{
	bool none;

	pthread_mutex_lock(&q->lock);
	none = n->queued == 0;
	*dequeued += n->dequeued;
	pthread_mutex_unlock(&q->lock);
	return none;
}
