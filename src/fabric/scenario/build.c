/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds the topology and the fabric of a scenario. */
#include "fabric/scenario/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MILLIONTH (ADV_RATIO_ONE / 1000000)

/* Fails because a section's host is not given or does not exist. */
static bool no_host(struct adv_scenario_builder *b, uint64_t line, const char *section,
		    uint64_t host)
{
	if (host == UINT64_MAX)
		return adv_scenario_fail(b, line, "[%s] needs `host`", section);
	return adv_scenario_fail(b, line,
				 "[%s] host %" PRIu64 " does not exist: the last one is %u",
				 section, host, b->t->hosts - 1);
}

static bool add_storms(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_STORMS];
	const struct adv_scenario_storm *storm = l->item;
	char from[ADV_UNITS_TEXT], to[ADV_UNITS_TEXT];

	for (uint32_t i = 0; i < l->count; i++) {
		if (storm[i].host >= b->t->hosts)
			return no_host(b, l->line[i], "storm", storm[i].host);
		if (storm[i].to <= storm[i].from)
			return adv_scenario_fail(
				b, l->line[i], "[storm] to = %s: expected a time after `from`, %s",
				adv_units_print(ADV_UNIT_TIME, storm[i].to, to),
				adv_units_print(ADV_UNIT_TIME, storm[i].from, from));
		if (adv_fabric_storm(b->f, (uint32_t)storm[i].host,
				     (uint8_t)(1u << storm[i].priority), storm[i].from,
				     storm[i].to))
			return adv_scenario_fail(b, l->line[i], "no memory");
	}
	return true;
}

static bool add_loss(struct adv_scenario_builder *b, const struct adv_scenario_loss *loss,
		     uint64_t line, bool *said)
{
	if (loss->link == UINT64_MAX || loss->probability == UINT64_MAX)
		return adv_scenario_fail(b, line, "[loss] needs `probability` and `link`");
	if (loss->link >= b->t->links)
		return adv_scenario_fail(
			b, line, "[loss] link = %" PRIu64 ": the network has %u cables, from 0",
			loss->link, b->t->links);
	if (loss->probability && loss->probability < MILLIONTH)
		return adv_scenario_fail(b, line,
					 "[loss] probability = %g: expected 0, or 0.000001 or more",
					 (double)loss->probability / ADV_RATIO_ONE);
	if (said[loss->link])
		return adv_scenario_fail(
			b, line, "[loss] link = %" PRIu64 ": the cable has a [loss] already",
			loss->link);
	said[loss->link] = true;
	adv_fabric_lose(b->f, (uint32_t)loss->link, (uint32_t)(loss->probability / MILLIONTH));
	return true;
}

static bool add_losses(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_LOSSES];
	const struct adv_scenario_loss *loss = l->item;
	bool *said = calloc(b->t->links + 1ul, sizeof(*said));
	bool good = said || adv_scenario_fail(b, 0, "no memory");

	for (uint32_t i = 0; good && i < l->count; i++)
		good = add_loss(b, &loss[i], l->line[i], said);
	free(said);
	return good;
}

/* Routes that a scenario states cannot be computed again. */
static bool check_failures(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_FAILURES];
	const struct adv_scenario_network *network = &b->s->network;

	if (l->count == 0 && network->reroute != UINT64_MAX)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &network->reroute),
			"[network] reroute-delay has an effect only with a [failure]");
	if (l->count && network->routes == ADV_SCENARIO_ONE_WAY)
		return adv_scenario_fail(
			b, l->line[0], "[failure]: with routes = one-way there is no other route");
	if (l->count && b->s->list[ADV_SCENARIO_ROUTE_LIST].count)
		return adv_scenario_fail(b, l->line[0],
					 "[failure]: routes are computed again, so [route] is not "
					 "supported with it");
	return true;
}

static bool add_failures(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_FAILURES];
	const struct adv_scenario_failure *x = l->item;
	char from[ADV_UNITS_TEXT], to[ADV_UNITS_TEXT];
	int err;

	if (!check_failures(b))
		return false;
	for (uint32_t i = 0; i < l->count; i++) {
		if (x[i].link == UINT64_MAX)
			return adv_scenario_fail(b, l->line[i], "[failure] needs `link`");
		if (x[i].link >= b->t->links)
			return adv_scenario_fail(b, l->line[i],
						 "[failure] link = %" PRIu64
						 ": the network has %u cables, from 0",
						 x[i].link, b->t->links);
		if (x[i].to <= x[i].from)
			return adv_scenario_fail(
				b, l->line[i],
				"[failure] to = %s: expected a time after `from`, %s",
				adv_units_print(ADV_UNIT_TIME, x[i].to, to),
				adv_units_print(ADV_UNIT_TIME, x[i].from, from));
		err = adv_fabric_fail(b->f, (uint32_t)x[i].link, x[i].from, x[i].to);
		if (err)
			return adv_scenario_fail(b, l->line[i], "%s", strerror(err));
	}
	return true;
}

static bool add_slow(struct adv_scenario_builder *b, const struct adv_scenario_slow *slow,
		     uint64_t line, bool *said)
{
	struct adv_fabric_slow c = {.xoff = (uint32_t)slow->xoff,
				    .xon = (uint32_t)slow->xon,
				    .room = (uint32_t)slow->room};
	char xon[ADV_UNITS_TEXT], xoff[ADV_UNITS_TEXT], room[ADV_UNITS_TEXT];
	struct adv_cable cable = {0, 0};
	int err;

	if (slow->speed == UINT64_MAX)
		return adv_scenario_fail(b, line, "[slow] needs `speed`");
	if (slow->host >= b->t->hosts)
		return no_host(b, line, "slow", slow->host);
	if (said[slow->host])
		return adv_scenario_fail(b, line,
					 "[slow] host = %" PRIu64 ": the host has a [slow] already",
					 slow->host);
	said[slow->host] = true;
	if (!adv_scenario_cable(b, line, slow->speed, 0, &cable))
		return false;
	c.ps_per_byte = cable.ps_per_byte;
	err = adv_fabric_slow_host(b->f, (uint32_t)slow->host, &c);
	if (err == 0)
		return true;
	if (err != EINVAL)
		return adv_scenario_fail(b, line, "%s", strerror(err));
	return adv_scenario_fail(
		b, line, "[slow] xon = %s, xoff = %s, room = %s: expected xon <= xoff <= room",
		adv_units_print(ADV_UNIT_BYTES, slow->xon, xon),
		adv_units_print(ADV_UNIT_BYTES, slow->xoff, xoff),
		adv_units_print(ADV_UNIT_BYTES, slow->room, room));
}

static bool add_slows(struct adv_scenario_builder *b)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_SLOWS];
	const struct adv_scenario_slow *slow = l->item;
	bool *said = calloc(b->t->hosts, sizeof(*said));
	bool good = said || adv_scenario_fail(b, 0, "no memory");

	for (uint32_t i = 0; good && i < l->count; i++)
		good = add_slow(b, &slow[i], l->line[i], said);
	free(said);
	return good;
}

bool adv_scenario_build(struct adv_scenario *s, struct adv_topology *t, struct adv_fabric **f,
			char why[ADV_SCENARIO_WHY])
{
	struct adv_scenario_builder b = {.s = s, .t = t, .why = why};
	bool ok;

	*t = (struct adv_topology){.hosts = 0};
	adv_rng_seed(&b.rng, s->run.seed ^ 0x666c6f7773u);
	ok = adv_scenario_build_network(&b) && adv_scenario_build_fabric(&b) && add_slows(&b) &&
	     add_storms(&b) && add_losses(&b) && add_failures(&b) && adv_scenario_build_flows(&b);
	free(b.permutation);
	free(b.pair);
	if (!ok) {
		adv_fabric_destroy(b.f);
		adv_topology_free(t);
		return false;
	}
	*f = b.f;
	return true;
}
