/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listeners, the events of connections, and devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/endpoint_internal.h"

enum { BACKLOG = 128, PRIVATE_MAX = 256 };

struct adv_listener {
	struct adv_loop *loop;
	const struct adv_listener_ops *ops;
	void *user;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct adv_watch watch;
	struct adv_list devices;
};

/* --- devices --- */

static void device_ready(struct adv_watch *w, uint32_t events)
{
	adv_device_events(adv_container_of(w, struct adv_device, watch));
}

static void free_device(struct adv_device *d)
{
	if (d->channel)
		ibv_destroy_comp_channel(d->channel);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	free(d);
}

/* Returns the device of an id, and makes it first if it is new. NULL: errno. */
static struct adv_device *device_of(struct adv_listener *l, struct ibv_context *verbs)
{
	struct adv_device *d;

	adv_list_for_each(struct adv_device, known, &l->devices, link) {
		if (known->verbs == verbs)
			return known;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->verbs = verbs;
	d->watch.ready = device_ready;
	d->pd = ibv_alloc_pd(verbs);
	d->channel = ibv_create_comp_channel(verbs);
	if (d->pd && d->channel && fcntl(d->channel->fd, F_SETFL, O_NONBLOCK) == 0 &&
	    l->ops->device(l->user, d)) {
		d->watch.fd = d->channel->fd;
		if (adv_loop_watch(l->loop, &d->watch, EPOLLIN) == 0) {
			adv_list_add_tail(&l->devices, &d->link);
			return d;
		}
		l->ops->device_gone(l->user, d);
	}
	free_device(d);
	return NULL;
}

/* --- events --- */

static void handle_request(struct adv_listener *l, struct rdma_cm_id *id,
			   const struct rdma_conn_param *param)
{
	struct adv_device *d = device_of(l, id->verbs);

	id->context = NULL;
	if (d)
		l->ops->request(l->user, d, id, param);
	if (id->context)
		return;
	fprintf(stderr, "a connection is refused: %s\n", strerror(errno));
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

static void handle_event(struct adv_listener *l, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = event->param.conn;
	enum rdma_cm_event_type type = event->event;
	struct rdma_cm_id *id = event->id;
	uint8_t private_data[PRIVATE_MAX];

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && param.private_data)
		memcpy(private_data, param.private_data, param.private_data_len);
	else
		param.private_data_len = 0;
	param.private_data = private_data;
	/* An id may be destroyed only after its event. */
	rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		handle_request(l, id, &param);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (id->context && id != l->id)
			adv_endpoint_close(id->context);
		break;
	default:
		break;
	}
}

static void channel_ready(struct adv_watch *w, uint32_t events)
{
	struct adv_listener *l = adv_container_of(w, struct adv_listener, watch);
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(l->channel, &event) == 0)
		handle_event(l, event);
}

/* --- create and destroy --- */

struct adv_listener *adv_listener_create(struct adv_loop *loop, const struct sockaddr *at,
					 const struct adv_listener_ops *ops, void *user)
{
	struct adv_listener *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return NULL;
	l->loop = loop;
	l->ops = ops;
	l->user = user;
	adv_list_init(&l->devices);
	l->watch.ready = channel_ready;
	l->channel = rdma_create_event_channel();
	if (l->channel && fcntl(l->channel->fd, F_SETFL, O_NONBLOCK) == 0 &&
	    rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP) == 0) {
		l->watch.fd = l->channel->fd;
		if (rdma_bind_addr(l->id, (struct sockaddr *)(uintptr_t)at) == 0 &&
		    rdma_listen(l->id, BACKLOG) == 0 &&
		    adv_loop_watch(loop, &l->watch, EPOLLIN) == 0)
			return l;
	}
	err = errno;
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->channel)
		rdma_destroy_event_channel(l->channel);
	free(l);
	errno = err;
	return NULL;
}

void adv_listener_destroy(struct adv_listener *l)
{
	adv_loop_unwatch(l->loop, &l->watch);
	rdma_destroy_id(l->id);
	adv_list_for_each_safe(struct adv_device, d, &l->devices, link) {
		adv_list_del(&d->link);
		adv_loop_unwatch(l->loop, &d->watch);
		l->ops->device_gone(l->user, d);
		free_device(d);
	}
	rdma_destroy_event_channel(l->channel);
	free(l);
}
