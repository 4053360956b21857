/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/parts/part.h"

struct adv_fabric *adv_part_of(struct adv_fabric *f, uint32_t node)
{
	return f->parts ? &f->parts->part[f->parts->of_node[node]]->fabric : f;
}

uint8_t adv_part_of_waiters(const struct adv_fabric *f, uint32_t job)
{
	const struct adv_parts *all = f->part ? f->part->all : f->parts;
	uint32_t c = f->job[job].state.connection;

	if (!all)
		return 0;
	if (c == ADV_FABRIC_COMPUTATION || f->peer[c].config.operation == ADV_FABRIC_READ)
		return f->job[job].part;
	return all->of_node[f->peer[c].config.target];
}

struct adv_fabric *adv_parts_owner(struct adv_fabric *f, enum adv_due kind, uint32_t index)
{
	switch (kind) {
	case ADV_DUE_SENT:
		return adv_part_of(f, f->wire[index].from.node);
	case ADV_DUE_ARRIVE:
	case ADV_DUE_PAUSE:
		return adv_part_of(f, f->wire[index].to.node);
	case ADV_DUE_SWITCH:
	case ADV_DUE_SETTLE:
		return adv_part_of(f, f->config.topology->hosts + index);
	case ADV_DUE_HOST:
	case ADV_DUE_DRAIN:
	case ADV_DUE_REPEAT:
		return adv_part_of(f, index);
	case ADV_DUE_STORM:
		return adv_part_of(f, f->storm[index].host);
	case ADV_DUE_START:
	case ADV_DUE_FAILED:
		return &f->parts->part[f->job[index].part]->fabric;
	case ADV_DUE_CABLE:
	case ADV_DUE_CHECK:
	case ADV_DUE_SAMPLE:
		break;
	}
	return f;
}

uint8_t adv_part_number(const struct adv_fabric *f, uint32_t node)
{
	return f->parts ? f->parts->of_node[node] : 0;
}

struct adv_fabric *adv_part_numbered(struct adv_fabric *f, uint8_t number)
{
	return f->parts ? &f->parts->part[number]->fabric : f;
}

bool adv_part_is(const struct adv_fabric *f, uint8_t number)
{
	return !f->part || f->part->index == number;
}

static bool is_here(const struct adv_parts *all, uint8_t part)
{
	return !all || (part >= all->begin && part < all->end);
}

bool adv_part_has_node(const struct adv_fabric *f, uint32_t node)
{
	return is_here(f->parts, adv_part_number(f, node));
}

bool adv_part_has_job(const struct adv_fabric *f, uint32_t job)
{
	return is_here(f->parts, f->job[job].part);
}

bool adv_part_follows(const struct adv_fabric *f)
{
	return f->parts && f->parts->ranks && f->parts->ranks->of->rank != 0;
}

const struct adv_engine_counters *adv_fabric_engine_counters(const struct adv_fabric *f,
							     uint32_t host)
{
	if (!adv_part_has_node(f, host))
		return &f->parts->ranks->engine[host];
	return adv_engine_counters(f->host[host].engine);
}

uint64_t adv_parts_events(const struct adv_fabric *f)
{
	uint64_t sum = f->events;

	for (uint32_t i = 0; f->parts && i < f->parts->count; i++)
		sum += f->parts->part[i]->fabric.events;
	return sum;
}

uint64_t adv_parts_lost(const struct adv_fabric *f)
{
	uint64_t sum = f->lost;

	for (uint32_t i = 0; f->parts && i < f->parts->count; i++)
		sum += f->parts->part[i]->fabric.lost;
	return sum;
}
