/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buffers of a device. */
#include <errno.h>
#include <stdlib.h>

#include "storage/gateway/memory.h"

static void serve_waiting_turns(struct adv_task *t)
{
	struct adv_gateway_buffers *b = adv_container_of(t, struct adv_gateway_buffers, serve);

	adv_kit_turn_serve(&b->gateway->message_turns);
	adv_kit_turn_serve(&b->call_turns);
	adv_kit_turn_serve(&b->reply_turns);
}

struct adv_gateway_buffers *adv_gateway_buffers_create(struct adv_gateway *g, struct ibv_pd *pd,
						       size_t largest)
{
	struct adv_gateway_buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->gateway = g;
	adv_list_init(&b->call_turns);
	adv_list_init(&b->reply_turns);
	adv_task_init(&b->serve, serve_waiting_turns);
	b->calls = adv_kit_buffers_create(pd, g->buffer_bytes, largest);
	if (b->calls)
		b->replies = adv_kit_buffers_create(pd, g->buffer_bytes, largest);
	if (b->replies)
		return b;
	adv_gateway_buffers_destroy(b);
	return NULL;
}

void adv_gateway_buffers_destroy(struct adv_gateway_buffers *b)
{
	int err = errno;

	adv_task_cancel(&b->serve);
	if (b->calls)
		adv_kit_buffers_destroy(b->calls);
	if (b->replies)
		adv_kit_buffers_destroy(b->replies);
	free(b);
	errno = err;
}

static uint8_t *get_in_turn(struct adv_kit_buffers *from, struct adv_list *queue,
			    struct adv_kit_turn *t, size_t size)
{
	uint8_t *buffer = adv_kit_turn_has_come(queue, t) ? adv_kit_buffers_get(from, size) : NULL;

	if (!buffer)
		adv_kit_turn_wait(queue, t);
	return buffer;
}

uint8_t *adv_gateway_get_call(struct adv_gateway_buffers *b, struct adv_kit_turn *t, size_t size)
{
	return get_in_turn(b->calls, &b->call_turns, t, size);
}

uint8_t *adv_gateway_get_reply(struct adv_gateway_buffers *b, struct adv_kit_turn *t, size_t size)
{
	return get_in_turn(b->replies, &b->reply_turns, t, size);
}

void adv_gateway_put_reply(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size)
{
	adv_kit_buffers_put(b->replies, buffer, size);
	adv_gateway_serve_turns(b);
}

void adv_gateway_put_call(struct adv_gateway_buffers *b, uint8_t *buffer, size_t size)
{
	adv_kit_buffers_put(b->calls, buffer, size);
	adv_gateway_serve_turns(b);
}

void adv_gateway_serve_turns(struct adv_gateway_buffers *b)
{
	adv_loop_defer(b->gateway->loop, &b->serve);
}
