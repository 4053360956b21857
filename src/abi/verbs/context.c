/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens and closes the device for a context. */
#include <stdlib.h>

#include "abi/verbs/absent.h"
#include "abi/verbs/device.h"
#include "abi/verbs/kind.h"
#include "abi/verbs/objects.h"

static const struct adv_device_callbacks callbacks = {
	.completion = adv_ibv_channel_completion,
	.async = adv_ibv_async_object,
	.port = adv_ibv_async_port,
};

/* Fills in the table of operations. */
static void fill_operations(struct verbs_context *v)
{
	adv_ibv_absent_fill(v);
	v->query_port = adv_ibv_query_port;
	v->query_device_ex = adv_ibv_query_device_ex;
	v->query_rt_values = adv_ibv_query_rt_values;
	v->create_cq_ex = adv_ibv_create_cq_ex;
	v->modify_cq = adv_ibv_modify_cq;
	v->create_qp_ex = adv_ibv_create_qp_ex;
	v->create_srq_ex = adv_ibv_create_srq_ex;
	if (adv_ibv_kind()->datagrams) {
		v->get_srq_num = adv_ibv_get_srq_num;
		v->open_xrcd = adv_ibv_open_xrcd;
		v->close_xrcd = adv_ibv_close_xrcd;
		v->open_qp = adv_ibv_open_qp;
	}
	v->alloc_td = adv_ibv_alloc_td;
	v->dealloc_td = adv_ibv_dealloc_td;
	v->alloc_parent_domain = adv_ibv_alloc_parent_domain;
	v->alloc_dm = adv_ibv_alloc_dm;
	v->free_dm = adv_ibv_free_dm;
	v->reg_dm_mr = adv_ibv_reg_dm_mr;
	v->advise_mr = adv_ibv_advise_mr;
	v->context.ops.alloc_mw = adv_ibv_alloc_mw;
	v->context.ops.dealloc_mw = adv_ibv_dealloc_mw;
	v->context.ops.bind_mw = adv_ibv_bind_mw;
	v->context.ops.poll_cq = adv_ibv_poll_cq;
	v->context.ops.req_notify_cq = adv_ibv_req_notify_cq;
	v->context.ops.post_send = adv_ibv_post_send;
	v->context.ops.post_recv = adv_ibv_post_recv;
	v->context.ops.post_srq_recv = adv_ibv_post_srq_recv;
}

ADV_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct adv_ibv_context *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return NULL;
	err = adv_ibv_event_queue_init(&c->async);
	if (err)
		goto free_context;
	for (unsigned i = 0; i < ADV_EVENT_TYPES; i++)
		adv_ibv_event_node_init(&c->port_node[i], NULL, (int)i);

	pthread_mutex_init(&c->mcast_lock, NULL);
	adv_list_init(&c->memberships);
	adv_list_init(&c->xrc_domains);
	fill_operations(&c->verbs);
	c->verbs.sz = sizeof(c->verbs);
	c->verbs.context.device = device;
	/* The device has no command channel. But some programs duplicate cmd_fd before they check
	 * the device, so it must be a valid descriptor. */
	c->verbs.context.cmd_fd = c->async.fd;
	c->verbs.context.async_fd = c->async.fd;
	c->verbs.context.num_comp_vectors = ADV_COMP_VECTORS;
	c->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&c->verbs.context.mutex, NULL);

	c->device = adv_device_open(&callbacks, c, adv_ibv_rail(device));
	if (c->device) {
		adv_ibv_watch_context(&c->verbs.context);
		return &c->verbs.context;
	}
	err = errno;
	pthread_mutex_destroy(&c->verbs.context.mutex);
	pthread_mutex_destroy(&c->mcast_lock);
	adv_ibv_event_queue_destroy(&c->async);
free_context:
	free(c);
	return adv_ibv_refuse_object(err, "ibv_open_device(%s)", device->name);
}

ADV_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct adv_ibv_context *c = adv_ibv_context_of(context);
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_CONTEXT, context);

	adv_ibv_mcast_leave_groups(c);
	adv_device_close(c->device, c);
	adv_ibv_xrcd_forget_all(c);
	adv_ibv_event_queue_destroy(&c->async);
	pthread_mutex_destroy(&context->mutex);
	pthread_mutex_destroy(&c->mcast_lock);
	free(c);
	adv_ibv_watch_destroyed(watch, 0);
	return 0;
}
