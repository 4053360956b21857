/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See event_queue.h. The descriptor counts tokens, one an event. */
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verbs/event_queue.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

void adv_ibv_event_node_init(struct adv_ibv_event_node *n, void *object, int type)
{
	adv_list_init(&n->link);
	n->waiting = 0;
	n->taken = 0;
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
	if (n->waiting++ == 0)
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

struct adv_ibv_event_node *adv_ibv_event_take(struct adv_ibv_event_queue *q)
{
	struct adv_ibv_event_node *n = NULL;

	pthread_mutex_lock(&q->lock);
	if (!adv_list_empty(&q->nodes)) {
		n = adv_container_of(q->nodes.next, struct adv_ibv_event_node, link);
		adv_list_del(&n->link);
		n->taken++;
		if (--n->waiting > 0)
			adv_list_add_tail(&q->nodes, &n->link);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

struct adv_ibv_event_node *adv_ibv_event_pop(struct adv_ibv_event_queue *q)
{
	struct adv_ibv_event_node *n = NULL;
	uint64_t token;

	while (!n) {
		/* Through libc: programs cancel threads that wait here, and SA_RESTART must
		 * work. The libraries that interpose read() hand this descriptor on as it is. */
		if (read(q->fd, &token, sizeof(token)) != sizeof(token))
			return NULL;
		/* NULL: the token was that of an object destroyed since. */
		n = adv_ibv_event_take(q);
	}
	return n;
}

/* Takes a token back. Where another thread has it already, that one finds the queue empty and
 * waits on; a kernel without RWF_NOWAIT here costs the application one wake-up for nothing. */
static void drop_token(int fd)
{
	uint64_t token;
	struct iovec iov = {.iov_base = &token, .iov_len = sizeof(token)};

	syscall(SYS_preadv2, (long)fd, &iov, 1L, -1L, -1L, (long)RWF_NOWAIT);
}

unsigned adv_ibv_event_forget(struct adv_ibv_event_queue *q, struct adv_ibv_event_node *n)
{
	unsigned taken;

	pthread_mutex_lock(&q->lock);
	if (n->waiting > 0)
		adv_list_del(&n->link);
	for (; n->waiting > 0; n->waiting--)
		drop_token(q->fd);
	taken = n->taken;
	pthread_mutex_unlock(&q->lock);
	return taken;
}

bool adv_ibv_event_none_waits(struct adv_ibv_event_queue *q, const struct adv_ibv_event_node *n,
			      unsigned *taken)
{
	bool none;

	pthread_mutex_lock(&q->lock);
	none = n->waiting == 0;
	*taken += n->taken;
	pthread_mutex_unlock(&q->lock);
	return none;
}
