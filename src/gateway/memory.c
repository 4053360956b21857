/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buffers of a device, and what calls have. */
#include <errno.h>
#include <stdlib.h>

#include "gateway/session_internal.h"

struct adv_gateway_buffers *adv_gateway_buffers_create(struct adv_gateway *g, struct ibv_pd *pd,
						       size_t largest,
						       void (*retry)(struct adv_task *t))
{
	struct adv_gateway_buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->gateway = g;
	adv_task_init(&b->retry, retry);
	b->calls = adv_nvme_buffers_create(pd, g->buffer_bytes, largest);
	if (b->calls)
		b->replies = adv_nvme_buffers_create(pd, g->buffer_bytes, largest);
	if (b->replies)
		return b;
	adv_gateway_buffers_destroy(b);
	return NULL;
}

void adv_gateway_buffers_destroy(struct adv_gateway_buffers *b)
{
	int err = errno;

	adv_task_cancel(&b->retry);
	if (b->calls)
		adv_nvme_buffers_destroy(b->calls);
	if (b->replies)
		adv_nvme_buffers_destroy(b->replies);
	free(b);
	errno = err;
}

void adv_gateway_put_reply(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size)
{
	adv_nvme_buffers_put(b->replies, buffer, size);
	adv_loop_defer(b->gateway->loop, &b->retry);
}

void adv_gateway_put_call(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size)
{
	adv_nvme_buffers_put(b->calls, buffer, size);
	adv_loop_defer(b->gateway->loop, &b->retry);
}

void adv_gateway_call_free(struct adv_gateway_call *c)
{
	struct adv_gateway_session *s = c->session;

	adv_list_del(&c->link);
	s->call_count--;
	if (c->fetched)
		adv_gateway_put_call(s->buffers, c->fetched, c->fetched_length);
	if (c->reply)
		adv_gateway_put_reply(s->buffers, c->reply, c->reply_size);
	free(c->header);
	free(c->wr);
	free(c->sge);
	free(c);
}
