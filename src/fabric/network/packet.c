/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <sys/mman.h>

#include "fabric/network/packet.h"

/* A huge page: its packets need one entry of the TLB. */
#define CHUNK_BYTES (2u << 20)
#define CHUNK	    (CHUNK_BYTES / sizeof(struct adv_packet) - 1)

struct adv_packet_chunk {
	struct adv_packet_chunk *next;
	struct adv_packet packet[CHUNK];
};

_Static_assert(sizeof(struct adv_packet_chunk) <= CHUNK_BYTES, "a chunk is one huge page");

/* An unused body. */
struct adv_packet_body {
	struct adv_packet_body *next;
};

struct adv_packet *adv_packet_take_fresh(struct adv_packet_pool *pool)
{
	struct adv_packet *p;

	if (pool->fresh == 0) {
		struct adv_packet_chunk *c = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);

		if (!c) {
			pool->failed = true;
			return NULL;
		}
		madvise(c, CHUNK_BYTES, MADV_HUGEPAGE);
		c->next = pool->chunks;
		pool->chunks = c;
		pool->room += CHUNK;
		pool->fresh = CHUNK;
	}
	p = &pool->chunks->packet[CHUNK - pool->fresh--];
	pool->out++;
	p->external = false;
	p->has_telemetry = false;
	return p;
}

bool adv_packet_take_body(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	struct adv_packet_body *body = pool->bodies;

	if (body) {
		pool->bodies = body->next;
	} else {
		body = malloc(ADV_PACKET_BODY);
		if (!body) {
			pool->failed = true;
			adv_packet_give_back(pool, packet);
			return false;
		}
	}
	pool->contents = true;
	packet->external = true;
	packet->body = (uint8_t *)body;
	return true;
}

static void give_back_body(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	struct adv_packet_body *body = (struct adv_packet_body *)packet->body;

	packet->external = false;
	body->next = pool->bodies;
	pool->bodies = body;
}

bool adv_packet_take_telemetry(struct adv_packet_pool *pool, struct adv_packet *packet,
			       const struct adv_telemetry *echo)
{
	struct adv_packet_telemetry *t = pool->telemetries;

	if (t)
		pool->telemetries = t->next;
	else
		t = malloc(sizeof(*t));
	pool->failed |= !t;
	if (!t)
		return false;
	t->echo = echo != NULL;
	if (echo)
		t->of = *echo;
	else
		t->of.hops = 0;
	pool->contents = true;
	packet->telemetry = t;
	packet->has_telemetry = true;
	return true;
}

static void give_back_telemetry(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	packet->telemetry->next = pool->telemetries;
	pool->telemetries = packet->telemetry;
	packet->has_telemetry = false;
}

void adv_packet_strip(struct adv_packet_pool *pool, struct adv_packet *packet)
{
	if (packet->external)
		give_back_body(pool, packet);
	if (packet->has_telemetry)
		give_back_telemetry(pool, packet);
}

/* Frees the bodies and the telemetry of those of a chunk's first packets that are in use. */
static void free_contents(struct adv_packet_chunk *c, size_t packets)
{
	for (size_t i = 0; i < packets; i++) {
		if (c->packet[i].external)
			free(c->packet[i].body);
		if (c->packet[i].has_telemetry)
			free(c->packet[i].telemetry);
	}
}

void adv_packet_pool_free(struct adv_packet_pool *pool)
{
	while (pool->bodies) {
		struct adv_packet_body *body = pool->bodies;

		pool->bodies = body->next;
		free(body);
	}
	while (pool->telemetries) {
		struct adv_packet_telemetry *t = pool->telemetries;

		pool->telemetries = t->next;
		free(t);
	}
	while (pool->chunks) {
		struct adv_packet_chunk *c = pool->chunks;

		pool->chunks = c->next;
		if (pool->contents)
			free_contents(c, CHUNK - pool->fresh);
		pool->fresh = 0; /* only the newest chunk has packets that were never used */
		free(c);
	}
	*pool = (struct adv_packet_pool){0};
}
