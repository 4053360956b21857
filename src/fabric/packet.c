/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>

#include "fabric/packet.h"

#define CHUNK 1023

struct adv_packet_chunk {
	struct adv_packet_chunk *next;
	struct adv_packet packet[CHUNK];
};

struct adv_packet *adv_packet_take(struct adv_packet_pool *pool)
{
	struct adv_packet *p;

	if (!pool->unused) {
		struct adv_packet_chunk *c = aligned_alloc(64, sizeof(*c));

		if (!c) {
			pool->failed = true;
			return NULL;
		}
		c->next = pool->chunks;
		pool->chunks = c;
		pool->room += CHUNK;
		for (unsigned i = CHUNK; i-- > 0;) {
			c->packet[i].next = pool->unused;
			pool->unused = &c->packet[i];
		}
	}
	p = pool->unused;
	pool->unused = p->next;
	pool->out++;
	return p;
}

void adv_packet_give_back(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	assert(pool->out > 0);
	pool->out--;
	packet->next = pool->unused;
	pool->unused = packet;
}

void adv_packet_pool_free(struct adv_packet_pool *pool)
{
	while (pool->chunks) {
		struct adv_packet_chunk *c = pool->chunks;

		pool->chunks = c->next;
		free(c);
	}
	*pool = (struct adv_packet_pool){0};
}
