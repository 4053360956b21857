/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of connections, devices, and an address that is listened at. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/kit/endpoint_internal.h"
#include "abi/verbs/wait.h"

/* The libibverbs of another device does not have it. */
#pragma weak adv_ibv_wait

enum {
	BACKLOG = 128,
	AT_ONCE = 16, /* events, before the loop handles other things */
	PRIVATE_MAX = 256,
	RETRY_MS = 100,
};

struct adv_connections {
	struct adv_loop *loop;
	const struct adv_connections_ops *ops;
	void *user;
	struct rdma_event_channel *channel; /* NULL: there is none now */
	bool hung_up;			    /* no event of the channel will follow */
	struct adv_watch watch;
	bool listens; /* at `at` */
	struct sockaddr_storage at;
	struct rdma_cm_id *id; /* NULL: does not listen now */
	struct adv_list devices;
	struct adv_task renew;	    /* the channel, and listening */
	struct adv_kit_timer retry; /* likewise */
	uint64_t lost_since;	    /* ms; 0: all is well */
};

/* --- devices --- */

static void device_ready(struct adv_watch *w, uint32_t events)
{
	struct adv_kit_device *d = adv_container_of(w, struct adv_kit_device, watch);

	/* The loop calls this again as long as there are events: one look is one system call. */
	adv_kit_device_event(d);
	if (events & (EPOLLERR | EPOLLHUP)) /* the device is gone: no event will follow */
		adv_loop_unwatch(d->loop, w);
}

/* Receives for the device while the loop sleeps: otherwise a thread of libibverbs receives, which
 * has to be woken, and has to wake this one. */
static bool device_sleep(struct adv_sleeper *s, int epoll, int timeout_ms)
{
	struct adv_kit_device *d = adv_container_of(s, struct adv_kit_device, sleeper);
	struct pollfd fds[2 + ADV_IBV_WAIT_ROOM] = {{.fd = epoll, .events = POLLIN},
						    {.fd = d->channel->fd, .events = POLLIN}};
	struct ibv_cq *cq;

	if (adv_ibv_wait(d->channel, fds, 2, timeout_ms, &cq) != 0)
		return true;
	if (cq)
		adv_endpoint_cq_event(cq);
	return !cq || fds[0].revents || fds[1].revents;
}

static void free_device(struct adv_kit_device *d)
{
	if (d->channel)
		ibv_destroy_comp_channel(d->channel);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	free(d);
}

static void drop_devices(struct adv_connections *c)
{
	adv_loop_sleep_by(c->loop, NULL);
	adv_list_for_each_safe(struct adv_kit_device, d, &c->devices, link) {
		adv_list_del(&d->link);
		adv_loop_unwatch(c->loop, &d->watch);
		c->ops->device_gone(c->user, d);
		free_device(d);
	}
}

/* Returns the device of an id, and makes it first if it is new. NULL: errno. */
static struct adv_kit_device *device_of(struct adv_connections *c, struct ibv_context *verbs)
{
	struct adv_kit_device *d;

	adv_list_for_each(struct adv_kit_device, known, &c->devices, link) {
		if (known->verbs == verbs)
			return known;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->loop = c->loop;
	d->verbs = verbs;
	d->watch.ready = device_ready;
	d->pd = ibv_alloc_pd(verbs);
	d->channel = ibv_create_comp_channel(verbs);
	if (d->pd && d->channel && fcntl(d->channel->fd, F_SETFL, O_NONBLOCK) == 0 &&
	    c->ops->device(c->user, d)) {
		d->watch.fd = d->channel->fd;
		if (adv_loop_watch(c->loop, &d->watch, EPOLLIN) == 0) {
			adv_list_add_tail(&c->devices, &d->link);
			d->sleeper.sleep = device_sleep;
			if (adv_ibv_wait)
				adv_loop_sleep_by(c->loop, &d->sleeper);
			return d;
		}
		c->ops->device_gone(c->user, d);
	}
	free_device(d);
	return NULL;
}

/* --- losses --- */

/* Continues soon: after the ends of the endpoints that have been told so far. */
static void renew_soon(struct adv_connections *c)
{
	adv_task_cancel(&c->renew);
	adv_loop_defer(c->loop, &c->renew);
	if (c->lost_since)
		return;
	c->lost_since = adv_clock_ms();
	c->ops->changed(c->user, ADV_CONNECTIONS_LOST, 0);
}

/* The connection manager has ended. Each id of the channel has got its DEVICE_REMOVAL. */
static void hang_up(struct adv_connections *c)
{
	adv_loop_unwatch(c->loop, &c->watch);
	c->hung_up = true;
	renew_soon(c);
}

/* The device of the address is gone. */
static void stop_listening(struct adv_connections *c)
{
	rdma_destroy_id(c->id);
	c->id = NULL;
	renew_soon(c);
}

static bool open_channel(struct adv_connections *c)
{
	int err;

	c->channel = rdma_create_event_channel();
	if (c->channel && fcntl(c->channel->fd, F_SETFL, O_NONBLOCK) == 0) {
		c->watch.fd = c->channel->fd;
		if (adv_loop_watch(c->loop, &c->watch, EPOLLIN) == 0)
			return true;
	}
	err = errno;
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
	c->channel = NULL;
	errno = err;
	return false;
}

static bool start_listening(struct adv_connections *c)
{
	int err;

	if (rdma_create_id(c->channel, &c->id, NULL, RDMA_PS_TCP) != 0) {
		c->id = NULL;
		return false;
	}
	if (rdma_bind_addr(c->id, (struct sockaddr *)&c->at) == 0 &&
	    rdma_listen(c->id, BACKLOG) == 0)
		return true;
	err = errno;
	rdma_destroy_id(c->id);
	c->id = NULL;
	errno = err;
	return false;
}

/* Frees what belongs to a channel that has hung up. Its endpoints have ended. */
static void drop_channel(struct adv_connections *c)
{
	drop_devices(c);
	if (c->id)
		rdma_destroy_id(c->id);
	c->id = NULL;
	rdma_destroy_event_channel(c->channel);
	c->channel = NULL;
	c->hung_up = false;
}

static void renew_channel(struct adv_connections *c)
{
	adv_kit_timer_cancel(&c->retry);
	if (c->hung_up)
		drop_channel(c);
	if ((c->channel || open_channel(c)) && (!c->listens || c->id || start_listening(c))) {
		c->lost_since = 0;
		c->ops->changed(c->user, ADV_CONNECTIONS_AGAIN, 0);
	} else if (adv_clock_ms() - c->lost_since < c->ops->patience_ms) {
		adv_loop_start_timer(c->loop, &c->retry, RETRY_MS);
	} else {
		c->ops->changed(c->user, ADV_CONNECTIONS_FAILED, errno);
	}
}

static void run_renew(struct adv_task *t)
{
	renew_channel(adv_container_of(t, struct adv_connections, renew));
}

static void retry_renew(struct adv_kit_timer *t)
{
	renew_channel(adv_container_of(t, struct adv_connections, retry));
}

/* --- events --- */

static void handle_request(struct adv_connections *c, struct rdma_cm_id *id,
			   const struct rdma_conn_param *param)
{
	struct adv_kit_device *d = device_of(c, id->verbs);

	id->context = NULL;
	if (d)
		c->ops->request(c->user, d, id, param);
	if (id->context)
		return;
	c->ops->refused(c->user, id, errno);
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

static void handle_event(struct adv_connections *c, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = event->param.conn;
	enum rdma_cm_event_type type = event->event;
	struct rdma_cm_id *id = event->id;
	uint8_t private_data[PRIVATE_MAX];

	if ((type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_ESTABLISHED) &&
	    param.private_data)
		memcpy(private_data, param.private_data, param.private_data_len);
	else
		param.private_data_len = 0;
	param.private_data = private_data;
	/* An id may be destroyed only after its event. */
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		handle_request(c, id, &param);
	else if (id == c->id && type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		stop_listening(c);
	else if (!id->context || id == c->id)
		return;
	else if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
		adv_endpoint_resolved(id->context, device_of(c, id->verbs));
	else
		adv_endpoint_event(id->context, type, &param);
}

static void channel_ready(struct adv_watch *w, uint32_t events)
{
	struct adv_connections *c = adv_container_of(w, struct adv_connections, watch);
	struct rdma_cm_event *event;

	/* The loop calls this again as long as there are events. */
	for (unsigned i = 0; i < AT_ONCE; i++) {
		if (rdma_get_cm_event(c->channel, &event) == 0) {
			handle_event(c, event);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			hang_up(c);
		return;
	}
}

/* --- create and destroy --- */

struct adv_connections *adv_connections_create(struct adv_loop *loop,
					       const struct adv_connections_ops *ops, void *user)
{
	struct adv_connections *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return NULL;
	c->loop = loop;
	c->ops = ops;
	c->user = user;
	adv_list_init(&c->devices);
	c->watch.ready = channel_ready;
	adv_task_init(&c->renew, run_renew);
	adv_kit_timer_init(&c->retry, retry_renew);
	if (open_channel(c))
		return c;
	err = errno;
	free(c);
	errno = err;
	return NULL;
}

int adv_connections_listen(struct adv_connections *c, const struct sockaddr *at)
{
	memcpy(&c->at, at,
	       at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in));
	c->listens = start_listening(c);
	return c->listens ? 0 : -1;
}

bool adv_connections_connect(struct adv_connections *c, const struct sockaddr *to,
			     const struct adv_endpoint_config *config, struct adv_endpoint **out)
{
	struct rdma_cm_id *id;
	int err;

	if (!c->channel || c->hung_up) {
		errno = ENODEV;
		return false;
	}
	if (rdma_create_id(c->channel, &id, NULL, RDMA_PS_TCP) != 0)
		return false;
	*out = adv_endpoint_create(c->loop, id, config);
	if (*out && rdma_resolve_addr(id, NULL, (struct sockaddr *)(uintptr_t)to,
				      ADV_ENDPOINT_RESOLVE_MS) == 0)
		return true;
	err = errno;
	rdma_destroy_id(id);
	free(*out); /* it has nothing yet */
	errno = err;
	return false;
}

void adv_connections_destroy(struct adv_connections *c)
{
	adv_task_cancel(&c->renew);
	adv_kit_timer_cancel(&c->retry);
	if (c->channel)
		adv_loop_unwatch(c->loop, &c->watch);
	if (c->id)
		rdma_destroy_id(c->id);
	drop_devices(c);
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
	free(c);
}
