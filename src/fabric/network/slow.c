/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts that send PAUSE frames: slow hosts, and hosts whose NIC fails in a storm. */
#include <errno.h>
#include <stdlib.h>

#include "fabric/network/internal.h"
#include "base/grow.h"

/* Returns the duration of a PFC pause of this host, in quanta. The host repeats the PAUSE frame
 * at half of that time. */
static uint16_t pause_quanta_of(const struct adv_fabric *f)
{
	return f->config.pause_quanta ? f->config.pause_quanta : ADV_QUANTA_MAX;
}

static uint64_t repeat_time(const struct adv_fabric *f, const struct adv_fabric_host *h)
{
	return (uint64_t)pause_quanta_of(f) * ADV_QUANTUM_BYTES * h->egress.ps_per_byte / 2;
}

struct adv_packet *adv_fabric_input_pause(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_packet *p = adv_packet_take(&f->pool);
	uint8_t on = h->told | h->stormy;

	if (!p)
		return NULL;
	p->kind = ADV_PACKET_PAUSE;
	p->bytes = ADV_PAUSE_FRAME;
	p->pause_mask = h->to_tell | on;
	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		p->quanta[i] = on & (1u << i) ? pause_quanta_of(f) : 0;
	h->to_tell = 0;
	h->counters.tx_pause++;
	if (on && !h->repeating) {
		h->repeating = true;
		adv_fabric_at(f, f->now + repeat_time(f, h), ADV_DUE_REPEAT, h->index);
	}
	return p;
}

void adv_fabric_input_repeat(struct adv_fabric_host *h)
{
	h->repeating = false;
	h->to_tell |= h->told | h->stormy;
}

/* ---- slow hosts ---- */

int adv_fabric_slow_host(struct adv_fabric *f, uint32_t host, const struct adv_fabric_slow *slow)
{
	struct adv_fabric_host *h = &f->host[host];

	if (slow->ps_per_byte == 0 || slow->xon > slow->xoff || slow->xoff > slow->room)
		return EINVAL;
	if (!h->input)
		h->input = calloc(1, sizeof(*h->input));
	if (!h->input)
		return ENOMEM;
	h->slow = true;
	h->input->slow = *slow;
	return 0;
}

/* Schedules the time at which the host has processed the first waiting frame. */
static void schedule_drain(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_fabric_input *in = h->input;

	adv_fabric_at(f, f->now + (uint64_t)in->waiting.head->bytes * in->slow.ps_per_byte,
		      ADV_DUE_DRAIN, h->index);
}

bool adv_fabric_input_rx(struct adv_fabric *f, struct adv_fabric_host *h, struct adv_packet *p)
{
	struct adv_fabric_input *in = h->input;
	uint8_t bit = (uint8_t)(1u << p->priority);
	bool idle = !in->waiting.head;

	if (in->bytes + p->bytes > in->slow.room) {
		h->counters.rx_dropped++;
		adv_packet_give_back(&f->pool, p);
		return false;
	}
	in->bytes += p->bytes;
	in->of[p->priority] += p->bytes;
	adv_packet_list_push(&in->waiting, p);
	if (idle)
		schedule_drain(f, h);
	if (in->of[p->priority] <= in->slow.xoff || h->told & bit ||
	    !f->config.class[p->priority].lossless)
		return false;
	h->told |= bit;
	h->to_tell |= bit;
	return true;
}

struct adv_packet *adv_fabric_input_pop(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct adv_fabric_input *in = h->input;
	struct adv_packet *p = adv_packet_list_pop(&in->waiting);

	in->bytes -= p->bytes;
	in->of[p->priority] -= p->bytes;
	if (in->waiting.head)
		schedule_drain(f, h);
	return p;
}

bool adv_fabric_input_resume(struct adv_fabric_host *h, uint8_t priority)
{
	uint8_t bit = (uint8_t)(1u << priority);

	if (h->input->of[priority] > h->input->slow.xon || !(h->told & bit))
		return false;
	h->told &= (uint8_t)~bit;
	h->to_tell |= bit;
	return true;
}

/* ---- storms ---- */

int adv_fabric_storm(struct adv_fabric *f, uint32_t host, uint8_t priorities, uint64_t from,
		     uint64_t to)
{
	if (!adv_grow_to(&f->storm, f->storms + 1ul, sizeof(*f->storm)))
		return ENOMEM;
	f->storm[f->storms] = (struct adv_fabric_storm_plan){host, priorities, from, to};
	adv_fabric_at(f, from, ADV_DUE_STORM, f->storms);
	adv_fabric_at(f, to, ADV_DUE_STORM, f->storms);
	f->storms++;
	return f->no_memory ? ENOMEM : 0;
}

void adv_fabric_storm_event(struct adv_fabric *f, const struct adv_fabric_storm_plan *s)
{
	struct adv_fabric_host *h = &f->host[s->host];

	/* Other storms of the host may have some of the same priorities. */
	h->stormy = 0;
	for (uint32_t i = 0; i < f->storms; i++)
		if (f->storm[i].host == s->host && f->storm[i].from <= f->now &&
		    f->now < f->storm[i].to)
			h->stormy |= f->storm[i].priorities;
	h->to_tell |= s->priorities;
}
