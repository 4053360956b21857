/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames from one part to another. They are copied, so that each part has the memory of its own
 * frames only. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/network/flying.h"
#include "base/grow.h"
#include "fabric/parts/part.h"

static bool add_telemetry(struct adv_outbox *box, const struct adv_packet_telemetry *t)
{
	if (!adv_grow(&box->telemetry, box->telemetries, &box->telemetry_room, sizeof(*t)))
		return false;
	box->telemetry[box->telemetries++] = *t;
	return true;
}

static bool add_frame(const struct adv_fabric *f, struct adv_outbox *box, uint32_t wire,
		      const struct adv_packet *p)
{
	struct adv_crossing *c;

	if (!adv_grow(&box->frame, box->frames, &box->frame_room, sizeof(*c)))
		return false;
	if (p->has_telemetry && !add_telemetry(box, p->telemetry))
		return false;
	c = &box->frame[box->frames++];
	memcpy(c->packet, p, sizeof(*p));
	c->offset = p->kind == ADV_PACKET_DATA ? (uint64_t)(p->payload - f->memory) : 0;
	c->wire = wire;
	return true;
}

void adv_part_cross(struct adv_fabric *f, uint32_t wire, struct adv_packet *p)
{
	struct adv_part *part = f->part;
	uint8_t to = part->all->of_node[f->wire[wire].to.node];
	uint64_t *first = &part->state[part->parity].first[to];

	assert(!p->external);
	f->no_memory |= !add_frame(f, &part->out[part->parity][to], wire, p);
	if (p->at < *first)
		*first = p->at;
	adv_packet_give_back(&f->pool, p);
}

void adv_part_cross_failure(struct adv_fabric *f, uint32_t job)
{
	struct adv_part *part = f->part;
	uint8_t to = adv_part_of_waiters(f, job);
	struct adv_outbox *box = &part->out[part->parity][to];
	uint64_t *first = &part->state[part->parity].first[to];
	uint64_t at = f->now + ADV_FAILED_AFTER;

	if (to == part->index)
		return;
	if (!adv_grow(&box->failure, box->failures, &box->failure_room, sizeof(*box->failure))) {
		f->no_memory = true;
		return;
	}
	box->failure[box->failures++] =
		(struct adv_crossing_failure){at, job, (uint32_t)f->job[job].state.status};
	if (at < *first)
		*first = at;
}

/* Puts a frame on the receiving end of its wire. */
static void land_frame(struct adv_fabric *f, const struct adv_crossing *c,
		       const struct adv_packet_telemetry **telemetry)
{
	struct adv_packet *p = adv_packet_take(&f->pool);
	bool has;

	if (!p)
		return;
	memcpy(p, c->packet, sizeof(*p));
	has = p->has_telemetry;
	p->has_telemetry = false;
	p->payload = f->memory + c->offset;
	if (has && adv_packet_take_telemetry(&f->pool, p, &(*telemetry)->of))
		p->telemetry->echo = (*telemetry)->echo;
	*telemetry += has;
	adv_fabric_fly(f, c->wire, p);
}

static void receive_box(struct adv_fabric *f, const struct adv_outbox *box)
{
	const struct adv_packet_telemetry *telemetry = box->telemetry;

	for (uint32_t i = 0; i < box->frames; i++)
		land_frame(f, &box->frame[i], &telemetry);
	for (uint32_t i = 0; i < box->failures; i++)
		adv_fabric_at(f, box->failure[i].at, ADV_DUE_FAILED, box->failure[i].job);
}

void adv_part_receive(struct adv_part *p, unsigned parity)
{
	for (uint32_t i = 0; i < p->all->count; i++)
		receive_box(&p->fabric, &p->all->part[i]->out[parity][p->index]);
}

void adv_part_clear(struct adv_part *p, unsigned parity)
{
	for (uint32_t i = 0; i < p->all->count; i++) {
		struct adv_outbox *box = &p->out[parity][i];

		box->frames = box->telemetries = box->failures = 0;
		p->state[parity].first[i] = ADV_CALENDAR_NEVER;
	}
}
