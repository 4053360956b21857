/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels: deliver completion events of CQs to ibv_get_cq_event(). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sys.h"
#include "abi/verbs/cq_part.h"
#include "abi/verbs/wait.h"

#define NS_PER_MS 1000000ull

_Static_assert(ADV_IBV_WAIT_ROOM == ADV_DEVICE_WAIT_ROOM, "adv_ibv_wait() passes descriptors on");

static struct adv_ibv_channel *channel_of(struct ibv_comp_channel *channel)
{
	return (struct adv_ibv_channel *)channel;
}

ADV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct adv_ibv_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return NULL;
	err = adv_ibv_event_queue_init(&ch->events);
	if (err) {
		free(ch);
		return adv_ibv_refuse_object(err, "ibv_create_comp_channel()");
	}
	ch->ibv.context = context;
	ch->ibv.fd = ch->events.fd;
	adv_debug("completion channel, fd %d: created", ch->ibv.fd);
	adv_ibv_watch_created(ADV_CHECK_CHANNEL, &ch->ibv, context, NULL);
	return &ch->ibv;
}

static int destroy_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *context = channel->context;
	int users;

	pthread_mutex_lock(&context->mutex);
	users = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (users > 0)
		return adv_ibv_refuse(
			adv_reason(EBUSY, "CQs that use it: %d; destroy them first", users),
			"ibv_destroy_comp_channel(fd %d)", channel->fd);
	adv_device_settle(adv_ibv_context_of(context)->device);
	adv_ibv_event_queue_destroy(&channel_of(channel)->events);
	free(channel);
	return 0;
}

ADV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_CHANNEL, channel);
	int err = destroy_channel(channel);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

void adv_ibv_channel_hold(struct ibv_comp_channel *channel, struct adv_device *device)
{
	atomic_store(&channel_of(channel)->device, device);
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt++;
	pthread_mutex_unlock(&channel->context->mutex);
}

void adv_ibv_channel_release(struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt--;
	pthread_mutex_unlock(&channel->context->mutex);
}

int adv_ibv_channel_completion(void *user, struct adv_cq *engine_cq)
{
	struct adv_ibv_cq *cq = adv_cq_user(engine_cq);

	if (!cq->ibv.channel || !adv_ibv_cq_takes_event(cq))
		return -1;
	return adv_ibv_event_push(&channel_of(cq->ibv.channel)->events, &cq->comp_node);
}

static bool has_event(void *user)
{
	return !adv_ibv_event_queue_empty(user);
}

/* Returns the device whose packets a thread that waits for the channel receives. If the channel has
 * CQs of several devices, their background threads receive for the others. */
static struct adv_device *device_of(struct ibv_comp_channel *channel)
{
	struct adv_device *device = atomic_load(&channel_of(channel)->device);

	return device ? device : adv_ibv_context_of(channel->context)->device;
}

/* Blocks until an event is queued, unless fd is non-blocking. Makes progress meanwhile. *mine: see
 * adv_device_wait(). 0, or -1 with EINTR. */
static int wait_for_event(struct ibv_comp_channel *channel, bool *mine)
{
	struct adv_device *device = device_of(channel);
	struct adv_ibv_event_queue *q = &channel_of(channel)->events;
	struct pollfd fds[1 + ADV_DEVICE_WAIT_ROOM] = {{.fd = q->fd, .events = POLLIN}};
	struct adv_device_wait wait = {
		.fds = fds,
		.count = 1,
		.event_fd = q->fd,
		.come = has_event,
		.user = q,
		.until = ADV_NEVER,
		.restarts = true,
	};
	int err;

	*mine = false;
	if (has_event(q) || adv_device_is_foreign(device) ||
	    adv_sys_fcntl(q->fd, F_GETFL, 0) & O_NONBLOCK)
		return 0;
	err = adv_device_wait(device, &wait);
	*mine = wait.mine;
	errno = err ? err : errno;
	return err ? -1 : 0;
}

ADV_EXPORT int adv_ibv_wait(struct ibv_comp_channel *channel, struct pollfd *fds, unsigned count,
			    int timeout_ms, struct ibv_cq **cq)
{
	struct adv_device *device = device_of(channel);
	struct adv_ibv_event_queue *q = &channel_of(channel)->events;
	struct adv_device_wait wait = {
		.fds = fds,
		.count = count,
		.event_fd = q->fd,
		.come = has_event,
		.user = q,
		.until = timeout_ms < 0 ? ADV_NEVER
					: adv_clock_ns() + (uint64_t)timeout_ms * NS_PER_MS,
	};
	struct adv_ibv_event_node *n = NULL;
	int err;

	*cq = NULL;
	if (has_event(q))
		return 0;
	if (adv_device_is_foreign(device))
		return poll(fds, count, timeout_ms) < 0 ? -1 : 0;
	err = adv_device_wait(device, &wait);
	if (wait.mine)
		n = adv_ibv_event_dequeue(q);
	*cq = n ? n->object : NULL;
	errno = err ? err : errno;
	return err ? -1 : 0;
}

ADV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				void **cq_context)
{
	struct adv_ibv_event_queue *q = &channel_of(channel)->events;
	struct adv_ibv_event_node *n;
	bool mine;

	if (adv_ibv_observer)
		adv_ibv_observer->cq_wait(channel);
	do {
		if (wait_for_event(channel, &mine))
			return -1;
		n = mine ? adv_ibv_event_dequeue(q) : adv_ibv_event_wait(q);
	} while (mine && !n); /* n is NULL if the event's CQ was destroyed */
	if (!n)
		return -1;
	*cq = n->object;
	*cq_context = (*cq)->cq_context;
	if (adv_ibv_observer)
		adv_ibv_observer->cq_event(*cq);
	return 0;
}

ADV_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (adv_ibv_observer)
		adv_ibv_observer->cq_acked(cq, nevents);
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
