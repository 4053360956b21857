/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds switches, priorities and hosts of a scenario. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/scenario/builder.h"

#define LOOKS_MIN ADV_PS_PER_US
/* Default of [network] reroute-delay. */
#define REROUTE	  ADV_PS_PER_MS
#define MILLIONTH (ADV_RATIO_ONE / 1000000)

static void set_class(const struct adv_scenario_priority *p, struct adv_class *c)
{
	*c = (struct adv_class){
		.lossless = p->lossless,
		.weight = (uint8_t)p->weight,
		.reserved = (uint32_t)p->reserved,
		.headroom = (uint32_t)p->headroom,
		.xoff = (uint32_t)p->xoff,
		.xon_offset = (uint32_t)p->xon_offset,
		.alpha_1024 = (uint32_t)(p->alpha * 1024 / ADV_RATIO_ONE),
		.ecn_min = (uint32_t)p->ecn_min,
		.ecn_max = (uint32_t)p->ecn_max,
		.ecn_ppm = (uint32_t)(p->ecn_probability / MILLIONTH),
	};
}

/* Checks the fixed limit of a lossless priority. */
static bool check_xoff(struct adv_scenario_builder *b, unsigned p)
{
	const struct adv_scenario_priority *c = &b->s->priority[p];
	char xoff[ADV_UNITS_TEXT], other[ADV_UNITS_TEXT];

	if (!c->lossless || c->xoff == 0)
		return true;
	adv_units_print(ADV_UNIT_BYTES, c->xoff, xoff);
	if (c->xoff > b->s->sw.buffer)
		return adv_scenario_fail(b, adv_scenario_line(b, &c->xoff),
					 "[priority %u] xoff = %s is more than [switch] buffer = "
					 "%s: no pause would prevent a loss",
					 p, xoff,
					 adv_units_print(ADV_UNIT_BYTES, b->s->sw.buffer, other));
	if (c->xoff <= c->xon_offset)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &c->xoff),
			"[priority %u] xoff = %s: expected more than xon-offset = %s, otherwise a "
			"pause lasts until the port has no frame left, and costs throughput",
			p, xoff, adv_units_print(ADV_UNIT_BYTES, c->xon_offset, other));
	return true;
}

static bool check_priorities(struct adv_scenario_builder *b)
{
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_scenario_priority *c = &b->s->priority[p];
		uint64_t line = adv_scenario_line(b, &c->ecn_min);
		char least[ADV_UNITS_TEXT], most[ADV_UNITS_TEXT];

		if (c->ecn_max < c->ecn_min)
			return adv_scenario_fail(
				b, line ? line : adv_scenario_line(b, &c->ecn_max),
				"[priority %u] ecn-min = %s is more than ecn-max = %s", p,
				adv_units_print(ADV_UNIT_BYTES, c->ecn_min, least),
				adv_units_print(ADV_UNIT_BYTES, c->ecn_max, most));
		/* alpha is stored in units of 1/1024 */
		if (c->alpha && c->alpha * 1024 < ADV_RATIO_ONE)
			return adv_scenario_fail(
				b, adv_scenario_line(b, &c->alpha),
				"[priority %u] alpha = %g: expected 0, or 1/1024 or more", p,
				(double)c->alpha / ADV_RATIO_ONE);
		if (c->ecn_probability && c->ecn_probability < MILLIONTH)
			return adv_scenario_fail(b, adv_scenario_line(b, &c->ecn_probability),
						 "[priority %u] ecn-probability = %g: expected 0, "
						 "or 0.000001 or more",
						 p, (double)c->ecn_probability / ADV_RATIO_ONE);
		if (!check_xoff(b, p))
			return false;
	}
	return true;
}

/* Checks that a pause lasts until it is repeated. The repetition is due at half of the pause's
 * time, and may wait for a frame that has just begun. */
static bool check_quanta(struct adv_scenario_builder *b)
{
	uint64_t bytes = b->s->host.mtu + ADV_FRAME_OVERHEAD + ADV_HEADERS_MAX + ADV_PAUSE_FRAME +
			 2 * ADV_WIRE_OVERHEAD;
	uint64_t least = 2 * bytes / ADV_QUANTUM_BYTES + 1;

	if (b->s->sw.pause_quanta >= least)
		return true;
	return adv_scenario_fail(b, adv_scenario_line(b, &b->s->sw.pause_quanta),
				 "[switch] pause-quanta = %" PRIu64 ": expected %" PRIu64
				 " or more, otherwise a pause ends before it can be repeated",
				 b->s->sw.pause_quanta, least);
}

static bool check_values(struct adv_scenario_builder *b)
{
	const struct adv_scenario_switch *sw = &b->s->sw;
	const struct adv_scenario_run *run = &b->s->run;
	char value[ADV_UNITS_TEXT], poll[ADV_UNITS_TEXT];

	if (!check_priorities(b))
		return false;
	/* If the switches were checked more often, the checks would cost more than the events. */
	if (sw->watchdog_poll && sw->watchdog_poll < LOOKS_MIN)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &sw->watchdog_poll),
			"[switch] watchdog-poll = %s: expected 0s, or 1us and more",
			adv_units_print(ADV_UNIT_TIME, sw->watchdog_poll, value));
	if (run->deadlock_check && run->deadlock_check < LOOKS_MIN)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &run->deadlock_check),
			"[run] deadlock-check = %s: expected 0s, or 1us and more",
			adv_units_print(ADV_UNIT_TIME, run->deadlock_check, value));
	if (run->sample && run->sample < LOOKS_MIN / 10)
		return adv_scenario_fail(b, adv_scenario_line(b, &run->sample),
					 "[run] sample = %s: expected 0s, or 100ns and more",
					 adv_units_print(ADV_UNIT_TIME, run->sample, value));
	if (sw->watchdog_poll && sw->watchdog_detect < sw->watchdog_poll)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &sw->watchdog_poll),
			"[switch] watchdog-detect = %s is less than watchdog-poll = %s",
			adv_units_print(ADV_UNIT_TIME, sw->watchdog_detect, value),
			adv_units_print(ADV_UNIT_TIME, sw->watchdog_poll, poll));
	if (b->s->host.mtu & (b->s->host.mtu - 1))
		return adv_scenario_fail(b, adv_scenario_line(b, &b->s->host.mtu),
					 "[host] mtu = %" PRIu64
					 "B: expected 256B, 512B, 1024B, 2048B or 4096B",
					 (uint64_t)b->s->host.mtu);
	return check_quanta(b);
}

/* Checks that each switch has room for the reserved bytes and headroom of its ports. */
static bool check_buffer(struct adv_scenario_builder *b, const struct adv_fabric_config *c)
{
	const struct adv_topology *t = b->t;
	uint64_t *need = calloc(t->switches + 1ul, sizeof(*need)), most = 0;
	char need_text[ADV_UNITS_TEXT], have_text[ADV_UNITS_TEXT];
	uint32_t worst = 0;

	if (!need)
		return adv_scenario_fail(b, 0, "no memory");
	for (uint32_t i = 0; i < 2 * t->links; i++) {
		uint32_t node = t->link[i / 2].end[i % 2].node;

		if (node >= t->hosts)
			need[node - t->hosts] += adv_fabric_dedicated(c, t->link[i / 2].cable);
	}
	for (uint32_t s = 0; s < t->switches; s++)
		if (need[s] > most) {
			most = need[s];
			worst = s;
		}
	free(need);
	if (most <= c->buffer)
		return true;
	return adv_scenario_fail(b, adv_scenario_line(b, &b->s->sw.buffer),
				 "[switch] buffer = %s: expected %s or more: the reserve and the "
				 "headroom of all ports of switch %u",
				 adv_units_print(ADV_UNIT_BYTES, c->buffer, have_text),
				 adv_units_print(ADV_UNIT_BYTES, most, need_text), worst);
}

/* Applies [map]: priorities of DSCPs that differ from DSCP / 8. */
static bool set_map(struct adv_scenario_builder *b, struct adv_fabric_config *c)
{
	const struct adv_scenario_list *l = &b->s->list[ADV_SCENARIO_MAPS];
	const struct adv_scenario_map *map = l->item;
	uint64_t said = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		if (map[i].dscp == UINT64_MAX || map[i].priority == UINT64_MAX)
			return adv_scenario_fail(b, l->line[i],
						 "[map] needs `dscp` and `priority`");
		if (said & 1ull << map[i].dscp)
			return adv_scenario_fail(b, l->line[i],
						 "[map] dscp = %" PRIu64
						 ": the DSCP has a priority already",
						 map[i].dscp);
		said |= 1ull << map[i].dscp;
		c->priority_of_dscp[map[i].dscp] = (uint8_t)map[i].priority;
	}
	return true;
}

bool adv_scenario_build_fabric(struct adv_scenario_builder *b)
{
	struct adv_cc_config cc;
	struct adv_fabric_config c;

	if (!check_values(b))
		return false;
	adv_fabric_defaults(&c);
	c.topology = b->t;
	c.buffer = b->s->sw.buffer;
	c.pause_quanta = (uint16_t)b->s->sw.pause_quanta;
	c.pause_response = b->s->sw.pause_response;
	c.watchdog = (struct adv_watchdog){.poll = b->s->sw.watchdog_poll,
					   .detect = b->s->sw.watchdog_detect,
					   .restore = b->s->sw.watchdog_restore,
					   .forward = b->s->sw.watchdog_forward};
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		set_class(&b->s->priority[p], &c.class[p]);
	c.balance = (enum adv_balance)b->s->sw.balance;
	c.routing = b->s->network.routes == ADV_SCENARIO_UP_DOWN ? ADV_ROUTES_UP_DOWN
								 : ADV_ROUTES_SHORTEST;
	c.reroute = b->s->network.reroute == UINT64_MAX ? REROUTE : b->s->network.reroute;
	c.mtu = (uint32_t)b->s->host.mtu;
	c.engine.cc = &cc;
	if (b->s->host.ack_priority != UINT64_MAX) {
		c.acks_apart = true;
		c.ack_priority = (uint8_t)b->s->host.ack_priority;
	}
	c.check_deadlock = b->s->run.deadlock_check;
	c.seed = b->s->run.seed;
	if (!adv_scenario_recovery(b, &c) || !adv_scenario_congestion(b, &c, &cc) ||
	    !set_map(b, &c) || !check_buffer(b, &c))
		return false;
	b->f = adv_fabric_create(&c);
	return b->f || adv_scenario_fail(b, 0, "%s", strerror(errno));
}
