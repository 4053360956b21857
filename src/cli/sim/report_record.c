/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/report_record.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

#define COLUMNS ADV_RECORD_COLUMNS
/* The first columns last 1 / FINEST of the duration. They are short, since a run may end long
 * before its duration. */
#define FINEST	 (1u << 16)
#define SHORTEST (100 * ADV_PS_PER_NS) /* shortest column; a frame takes longer */

/* ---- create and free ---- */

/* Returns the priorities of flows and storms, and priority 6 for CNPs. */
static uint8_t priorities_of(const struct adv_sim *sim)
{
	const struct adv_scenario_list *flows = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_list *storms = &sim->scenario.list[ADV_SCENARIO_STORMS];
	uint8_t result = 1u << 6;

	for (uint32_t i = 0; i < flows->count; i++)
		result |= (uint8_t)(1u
				    << ((const struct adv_scenario_flow *)flows->item)[i].dscp / 8);
	for (uint32_t i = 0; i < storms->count; i++)
		result |=
			(uint8_t)(1u
				  << ((const struct adv_scenario_storm *)storms->item)[i].priority);
	return result;
}

/* Sets the flow of each connection. */
static bool sort_connections(struct adv_record *r, const struct adv_sim *sim)
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;

	while (adv_fabric_get_connection(sim->fabric, r->connections))
		r->connections++;
	r->flow_of = malloc((r->connections + 1ul) * sizeof(*r->flow_of));
	if (!r->flow_of)
		return false;
	memset(r->flow_of, 0xff, r->connections * sizeof(*r->flow_of));
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t k = 0; k < flow[i].jobs; k++) {
			uint32_t c = adv_fabric_get_transfer(sim->fabric, flow[i].first_job + k)
					     ->connection;

			if (c != ADV_FABRIC_COMPUTATION)
				r->flow_of[c] = i;
		}
	return true;
}

static bool make_flows(struct adv_record *r, const struct adv_sim *sim)
{
	bool each;

	if (!sort_connections(r, sim))
		return false;
	each = r->connections <= ADV_RECORD_CONNECTIONS;
	r->flows = each ? r->connections : sim->scenario.list[ADV_SCENARIO_FLOWS].count;
	/* If there are more [flow] sections, the last series includes all further ones. */
	if (r->flows > ADV_RECORD_CONNECTIONS)
		r->flows = ADV_RECORD_CONNECTIONS;
	r->flow = calloc(r->flows + 1ul, sizeof(*r->flow));
	if (!r->flow)
		return false;
	for (uint32_t i = 0; i < r->flows; i++) {
		r->flow[i].flow = each ? r->flow_of[i] : i;
		r->flow[i].connection = each ? i : UINT32_MAX;
	}
	return true;
}

struct adv_record *adv_record_create(const struct adv_sim *sim)
{
	struct adv_record *r = calloc(1, sizeof(*r));
	const struct adv_topology *t = &sim->topology;

	if (!r)
		return NULL;
	r->queues = t->switches * ADV_PRIORITIES;
	r->interval = sim->scenario.run.duration / FINEST;
	if (r->interval < SHORTEST)
		r->interval = SHORTEST;
	r->priorities = priorities_of(sim);
	r->ports = t->hosts;
	for (uint32_t s = 0; s < t->switches; s++)
		r->ports += t->ports[t->hosts + s];
	r->queue = calloc(r->queues + 1ul, sizeof(*r->queue));
	r->pause = calloc((size_t)r->ports * ADV_PRIORITIES, sizeof(*r->pause));
	if (!r->queue || !r->pause || !make_flows(r, sim)) {
		adv_record_free(r);
		return NULL;
	}
	adv_fabric_count_received(sim->fabric);
	return r;
}

void adv_record_free(struct adv_record *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->pause && i < (size_t)r->ports * ADV_PRIORITIES; i++)
		free(r->pause[i]);
	for (uint32_t i = 0; r->queue && i < r->queues; i++)
		free(r->queue[i]);
	free(r->pause);
	free(r->queue);
	free(r->flow);
	free(r->flow_of);
	free(r);
}

/* ---- columns ---- */

uint64_t adv_record_next(const struct adv_record *r)
{
	uint64_t end = (r->columns + 1ull) * r->interval;

	return r->end && r->end < end ? r->end : end;
}

static void merge_most(uint64_t column[COLUMNS])
{
	for (unsigned i = 0; i < COLUMNS / 2; i++)
		column[i] = column[2 * i] > column[2 * i + 1] ? column[2 * i] : column[2 * i + 1];
	memset(column + COLUMNS / 2, 0, COLUMNS / 2 * sizeof(*column));
}

static void merge_least(uint64_t column[COLUMNS])
{
	for (unsigned i = 0; i < COLUMNS / 2; i++)
		column[i] = column[2 * i] < column[2 * i + 1] ? column[2 * i] : column[2 * i + 1];
	memset(column + COLUMNS / 2, 0, COLUMNS / 2 * sizeof(*column));
}

static void merge_sums(uint64_t column[COLUMNS])
{
	for (unsigned i = 0; i < COLUMNS / 2; i++)
		column[i] = column[2 * i] + column[2 * i + 1];
	memset(column + COLUMNS / 2, 0, COLUMNS / 2 * sizeof(*column));
}

/* Merges every two neighbouring columns. */
static void merge_columns(struct adv_record *r)
{
	for (uint32_t i = 0; i < r->queues; i++)
		if (r->queue[i]) {
			merge_most(r->queue[i]->most);
			merge_least(r->queue[i]->least);
			merge_most(r->queue[i]->input);
			merge_least(r->queue[i]->limit);
		}
	for (size_t i = 0; i < (size_t)r->ports * ADV_PRIORITIES; i++)
		if (r->pause[i])
			merge_sums(r->pause[i]->time);
	for (uint32_t i = 0; i < r->flows; i++)
		merge_sums(r->flow[i].bytes);
	for (unsigned i = 0; i < ADV_RECORD_COUNTERS; i++)
		merge_sums(r->counter[i]);
	r->columns = COLUMNS / 2;
	r->interval *= 2;
}

/* ---- sample ---- */

static struct adv_record_queue *queue_of(struct adv_record *r, uint32_t s, unsigned priority)
{
	struct adv_record_queue **q = &r->queue[s * ADV_PRIORITIES + priority];

	if (!*q) {
		*q = calloc(1, sizeof(**q));
		r->no_memory |= !*q;
		if (*q) {
			(*q)->sw = s;
			(*q)->priority = (uint8_t)priority;
		}
	}
	return *q;
}

static void sample_queue(struct adv_record *r, struct adv_switch *sw, uint32_t s, unsigned priority)
{
	uint64_t most = 0, longest = 0, input = 0;
	struct adv_record_queue *q;
	unsigned at = 0;

	for (unsigned port = 0; port < adv_switch_ports(sw); port++) {
		uint64_t peak = adv_switch_take_peak(sw, port, priority);
		uint64_t bytes = adv_switch_egress(sw, port)->queue[priority].bytes;
		const struct adv_ingress *in = adv_switch_ingress(sw, port, priority);
		uint64_t used = (uint64_t)in->used + in->headroom_used;

		if (peak > most) {
			most = peak;
			at = port;
		}
		longest = bytes > longest ? bytes : longest;
		input = used > input ? used : input;
	}
	q = most || r->queue[s * ADV_PRIORITIES + priority] ? queue_of(r, s, priority) : NULL;
	if (!q)
		return;
	if (most > q->peak) {
		q->peak = most;
		q->port = (uint16_t)at;
	}
	q->most[r->columns] = most;
	q->least[r->columns] = longest;
	q->input[r->columns] = input;
	q->limit[r->columns] = adv_switch_limit(sw, priority);
}

static void sample_pause(struct adv_record *r, const struct adv_egress *e, uint64_t now,
			 size_t index, struct adv_record_pause where)
{
	struct adv_record_pause **p = &r->pause[index];
	uint64_t paused;

	if (!*p && !e->pauses[where.priority].count)
		return;
	if (!*p) {
		*p = malloc(sizeof(**p));
		r->no_memory |= !*p;
		if (!*p)
			return;
		**p = where;
		(*p)->first = now;
	}
	paused = adv_egress_paused_for(e, where.priority, now);
	(*p)->time[r->columns] = paused - (*p)->before;
	(*p)->before = paused;
	(*p)->count = e->pauses[where.priority].count;
}

static void sample_pauses(struct adv_record *r, const struct adv_sim *sim, uint64_t now)
{
	const struct adv_topology *t = &sim->topology;
	size_t index = 0;

	for (uint32_t n = 0; n < t->hosts + t->switches; n++)
		for (uint16_t port = 0; port < (n < t->hosts ? 1 : t->ports[n]); port++) {
			const struct adv_egress *e =
				n < t->hosts ? adv_fabric_egress(sim->fabric, n)
					     : adv_switch_egress(
						       adv_fabric_switch(sim->fabric, n - t->hosts),
						       port);

			for (uint8_t p = 0; p < ADV_PRIORITIES; p++, index++)
				if (r->priorities & (1u << p))
					sample_pause(r, e, now, index,
						     (struct adv_record_pause){.node = n,
									       .port = port,
									       .priority = p});
		}
}

static void sample_counters(struct adv_record *r, const struct adv_sim *sim)
{
	const struct adv_topology *t = &sim->topology;
	uint64_t now[ADV_RECORD_COUNTERS] = {[ADV_RECORD_DROPS] = adv_fabric_lost(sim->fabric)};

	for (uint32_t s = 0; s < t->switches; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(sim->fabric, s));

		now[ADV_RECORD_MARKS] += c->ecn_marked;
		for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
			now[ADV_RECORD_DROPS] += c->drops[i];
	}
	for (uint32_t h = 0; h < t->hosts; h++) {
		const struct adv_engine_counters *c = adv_fabric_engine_counters(sim->fabric, h);

		now[ADV_RECORD_CNPS_SENT] += c->np_cnp_sent;
		now[ADV_RECORD_CNPS_HANDLED] += c->rp_cnp_handled;
		now[ADV_RECORD_DROPS] += adv_fabric_host_counters(sim->fabric, h)->rx_dropped;
	}
	for (unsigned i = 0; i < ADV_RECORD_COUNTERS; i++) {
		r->counter[i][r->columns] = now[i] - r->before[i];
		r->before[i] = now[i];
	}
}

/* Returns the series of a connection; NULL: none. */
static struct adv_record_flow *series_of(struct adv_record *r, uint32_t connection)
{
	uint32_t flow = r->flow_of[connection];

	if (r->connections <= ADV_RECORD_CONNECTIONS)
		return &r->flow[connection];
	if (flow == UINT32_MAX)
		return NULL;
	return &r->flow[flow < r->flows ? flow : r->flows - 1];
}

static void sample_flows(struct adv_record *r, const struct adv_sim *sim)
{
	for (uint32_t c = 0; c < r->connections; c++) {
		struct adv_record_flow *f = series_of(r, c);

		if (f)
			f->total += adv_fabric_received(sim->fabric, c);
	}
	for (uint32_t i = 0; i < r->flows; i++) {
		struct adv_record_flow *f = &r->flow[i];
		uint64_t all = f->total;

		f->bytes[r->columns] = all - f->before;
		f->before = all;
		f->total = 0;
	}
}

static void sample_column(struct adv_record *r, const struct adv_sim *sim)
{
	uint64_t now = adv_fabric_now(sim->fabric);

	for (uint32_t s = 0; s < sim->topology.switches; s++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (r->priorities & (1u << p))
				sample_queue(r, adv_fabric_switch(sim->fabric, s), s, p);
	sample_pauses(r, sim, now);
	sample_counters(r, sim);
	sample_flows(r, sim);
	r->columns++;
}

void adv_record_sample(struct adv_record *r, const struct adv_sim *sim)
{
	sample_column(r, sim);
	if (r->columns == COLUMNS)
		merge_columns(r);
}

void adv_record_finish(struct adv_record *r, const struct adv_sim *sim)
{
	uint64_t now = adv_fabric_now(sim->fabric);

	if (now > r->columns * r->interval)
		sample_column(r, sim);
	r->end = now;
	for (uint32_t i = 0; i < r->flows; i++)
		r->flow[i].total = r->flow[i].before;
}
