/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buffers of a gateway, on each device, and the turns of sessions that wait for one. */
#ifndef ADV_STORAGE_GATEWAY_MEMORY_H
#define ADV_STORAGE_GATEWAY_MEMORY_H

#include "storage/gateway/gateway.h"
#include "storage/kit/buffers.h"
#include "storage/kit/turn.h"

/* Memory that sessions share. A session that finds too little waits for its turn. */
struct adv_gateway_pool {
	struct adv_gateway_buffers *buffers;
	struct adv_kit_buffers *memory;
	struct adv_list turns;
};

/* The buffers of a device; the user of a struct adv_kit_device. Calls and replies have separate
 * ones: calls that wait for replies cannot take the memory that the replies need. */
struct adv_gateway_buffers {
	struct adv_gateway *gateway;
	struct adv_gateway_pool calls, replies;
	struct adv_task serve; /* the turns: memory was freed */
};

/* largest: bytes of a buffer. NULL: errno. */
struct adv_gateway_buffers *adv_gateway_buffers_create(struct adv_gateway *g, struct ibv_pd *pd,
						       size_t largest);
void adv_gateway_buffers_destroy(struct adv_gateway_buffers *b);
/* Returns memory. NULL: there is too little, or others were first; the turn waits. */
uint8_t *adv_gateway_get(struct adv_gateway_pool *p, struct adv_kit_turn *t, size_t size);
/* Frees it; those who wait get it soon. */
void adv_gateway_put(struct adv_gateway_pool *p, uint8_t *buffer, size_t size);
/* Serves those who wait soon: memory was freed, or a turn has ended. */
void adv_gateway_serve_turns(struct adv_gateway_buffers *b);

#endif
