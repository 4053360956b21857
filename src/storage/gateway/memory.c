/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buffers of a device. */
#include <errno.h>
#include <stdlib.h>

#include "storage/gateway/memory.h"

static void serve_waiting_turns(struct adv_task *t)
{
	struct adv_gateway_buffers *b = adv_container_of(t, struct adv_gateway_buffers, serve);

	adv_kit_turn_serve(&b->gateway->message_turns);
	adv_kit_turn_serve(&b->calls.turns);
	adv_kit_turn_serve(&b->replies.turns);
}

static bool fill_pool(struct adv_gateway_pool *p, struct adv_gateway_buffers *b, struct ibv_pd *pd,
		      size_t largest)
{
	p->buffers = b;
	adv_list_init(&p->turns);
	p->memory = adv_kit_buffers_create(pd, b->gateway->buffer_bytes, largest);
	return p->memory;
}

struct adv_gateway_buffers *adv_gateway_buffers_create(struct adv_gateway *g, struct ibv_pd *pd,
						       size_t largest)
{
	struct adv_gateway_buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->gateway = g;
	adv_task_init(&b->serve, serve_waiting_turns);
	if (fill_pool(&b->calls, b, pd, largest) && fill_pool(&b->replies, b, pd, largest))
		return b;
	adv_gateway_buffers_destroy(b);
	return NULL;
}

void adv_gateway_buffers_destroy(struct adv_gateway_buffers *b)
{
	int err = errno;

	adv_task_cancel(&b->serve);
	if (b->calls.memory)
		adv_kit_buffers_destroy(b->calls.memory);
	if (b->replies.memory)
		adv_kit_buffers_destroy(b->replies.memory);
	free(b);
	errno = err;
}

uint8_t *adv_gateway_get(struct adv_gateway_pool *p, struct adv_kit_turn *t, size_t size)
{
	uint8_t *buffer = NULL;

	if (adv_kit_turn_has_come(&p->turns, t))
		buffer = adv_kit_buffers_get(p->memory, size);
	if (!buffer)
		adv_kit_turn_wait(&p->turns, t);
	return buffer;
}

void adv_gateway_put(struct adv_gateway_pool *p, uint8_t *buffer, size_t size)
{
	adv_kit_buffers_put(p->memory, buffer, size);
	adv_gateway_serve_turns(p->buffers);
}

void adv_gateway_serve_turns(struct adv_gateway_buffers *b)
{
	adv_loop_defer(b->gateway->loop, &b->serve);
}
