/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the sums of a run, and prints its results as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/sim/run.h"
#include "fabric/network/calendar.h"

#define CYCLE_MAX 4096

/* ---- adding up ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool adv_sim_flow_result(const struct adv_sim *sim, const struct adv_scenario_flow *flow,
			 struct adv_sim_flow *r)
{
	uint64_t *took = calloc(flow->transfers + 1ul, sizeof(*took));
	uint64_t begin = UINT64_MAX, end = 0, now = adv_fabric_now(sim->fabric);

	*r = (struct adv_sim_flow){.done = 0};
	if (!took)
		return false;
	for (uint32_t i = 0; i < flow->jobs; i++) {
		const struct adv_fabric_transfer_state *t =
			adv_fabric_get_transfer(sim->fabric, flow->first_job + i);
		uint64_t last;

		if (t->connection == ADV_FABRIC_COMPUTATION)
			continue;
		last = t->end == ADV_CALENDAR_NEVER ? now : t->end;

		r->bytes += adv_fabric_acknowledged(sim->fabric, flow->first_job + i);
		begin = t->start < begin ? t->start : begin;
		end = last > end ? last : end;
		if (t->end == ADV_CALENDAR_NEVER)
			continue;
		if (t->status == IBV_WC_SUCCESS)
			took[r->done++] = t->end - t->start;
		else
			r->failed++;
	}
	qsort(took, r->done, sizeof(*took), by_value);
	if (r->done) {
		r->least = took[0];
		r->median = took[adv_sim_rank(r->done, 50)];
		r->p99 = took[adv_sim_rank(r->done, 99)];
		r->most = took[r->done - 1];
	}
	if (end > begin) {
		r->time = end - begin;
		r->rate = (uint64_t)((unsigned __int128)r->bytes * 8 * ADV_PS_PER_S / r->time);
	}
	free(took);
	return true;
}

static void add_host(const struct adv_sim *sim, uint32_t h, struct adv_sim_totals *t)
{
	const struct adv_engine_counters *c = adv_fabric_engine_counters(sim->fabric, h);

	t->engine.tx_packets += c->tx_packets;
	t->engine.out_of_sequence += c->out_of_sequence;
	t->engine.packet_seq_err += c->packet_seq_err;
	t->engine.local_ack_timeout_err += c->local_ack_timeout_err;
	t->engine.np_ecn_marked_roce_packets += c->np_ecn_marked_roce_packets;
	t->engine.np_cnp_sent += c->np_cnp_sent;
	t->engine.rp_cnp_handled += c->rp_cnp_handled;
	t->host_pauses += adv_fabric_host_counters(sim->fabric, h)->rx_pause;
	t->rx_dropped += adv_fabric_host_counters(sim->fabric, h)->rx_dropped;
}

struct adv_sim_totals adv_sim_add_up(const struct adv_sim *sim)
{
	struct adv_sim_totals t = {.host_pauses = 0};

	for (uint32_t s = 0; s < sim->topology.switches; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(sim->fabric, s));

		t.sw.tx_frames += c->tx_frames;
		t.sw.tx_bytes += c->tx_bytes;
		t.sw.ecn_marked += c->ecn_marked;
		t.sw.rx_pause += c->rx_pause;
		t.sw.tx_pause += c->tx_pause;
		t.sw.storms += c->storms;
		if (c->most_used > t.sw.most_used)
			t.sw.most_used = c->most_used;
		for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
			t.sw.drops[i] += c->drops[i];
	}
	for (uint32_t h = 0; h < sim->topology.hosts; h++)
		add_host(sim, h, &t);
	return t;
}

const char *adv_sim_stop_name(const struct adv_sim *sim)
{
	switch (sim->stop) {
	case ADV_FABRIC_DONE:
		return "all transfers ended";
	case ADV_FABRIC_DEADLOCK:
		return "deadlock";
	default:
		return sim->interrupted ? "interrupted" : "the duration is over";
	}
}

/* ---- text ---- */

static bool print_flows(const struct adv_sim *sim)
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	char a[ADV_UNITS_TEXT], b[ADV_UNITS_TEXT], c[ADV_UNITS_TEXT], d[ADV_UNITS_TEXT],
		e[ADV_UNITS_TEXT];

	printf("\n%-6s %9s %9s %7s %12s %12s %12s %12s %12s\n", "flow", "transfers", "done",
	       "failed", "time", "rate", "median", "p99", "longest");
	for (uint32_t i = 0; i < l->count; i++) {
		struct adv_sim_flow r;

		if (!adv_sim_flow_result(sim, &flow[i], &r))
			return false;
		printf("%-6u %9u %9u %7u %12s %12s %12s %12s %12s\n", i, flow[i].transfers, r.done,
		       r.failed, adv_units_print(ADV_UNIT_TIME, r.time, e),
		       adv_units_print(ADV_UNIT_RATE, r.rate, a),
		       r.done ? adv_units_print(ADV_UNIT_TIME, r.median, b) : "-",
		       r.done ? adv_units_print(ADV_UNIT_TIME, r.p99, c) : "-",
		       r.done ? adv_units_print(ADV_UNIT_TIME, r.most, d) : "-");
	}
	return true;
}

/* Prints the slowdowns of transfers by size, if there are any. */
static bool print_slowdown(const struct adv_sim *sim)
{
	struct adv_sim_bucket bucket[ADV_SIM_BUCKETS];
	char to[ADV_UNITS_TEXT];
	bool first = true;

	if (!adv_sim_slowdown(sim, bucket))
		return false;
	for (unsigned i = 0; i < ADV_SIM_BUCKETS; i++) {
		const struct adv_sim_bucket *b = &bucket[i];

		if (b->count == 0)
			continue;
		if (first)
			printf("\n%-18s %9s %9s %9s %9s %9s\n", "slowdown, bytes to", "transfers",
			       "mean", "median", "p95", "p99");
		first = false;
		printf("%-18s %9" PRIu64 " %9.2f %9.2f %9.2f %9.2f\n",
		       b->to == UINT64_MAX ? "more" : adv_units_print(ADV_UNIT_BYTES, b->to, to),
		       b->count, (double)b->mean / ADV_RATIO_ONE, (double)b->median / ADV_RATIO_ONE,
		       (double)b->p95 / ADV_RATIO_ONE, (double)b->p99 / ADV_RATIO_ONE);
	}
	return true;
}

static void print_deadlock(const struct adv_sim *sim)
{
	struct adv_fabric_wait cycle[CYCLE_MAX];
	unsigned n = adv_fabric_deadlock(sim->fabric, cycle, CYCLE_MAX);

	if (n == 0)
		return;
	printf("\ndeadlock: each of these queues waits for the next, the last for the first\n");
	for (unsigned i = 0; i < n && i < CYCLE_MAX; i++)
		printf("  switch %u, port %u (to switch %u), priority %u\n", cycle[i].sw,
		       cycle[i].port,
		       adv_topology_peer(&sim->topology, sim->topology.hosts + cycle[i].sw,
					 cycle[i].port) -
			       sim->topology.hosts,
		       cycle[i].priority);
}

bool adv_sim_print_text(const struct adv_sim *sim)
{
	struct adv_sim_totals t = adv_sim_add_up(sim);
	char text[ADV_UNITS_TEXT];

	printf("%s: hosts %u, switches %u, seed %" PRIu64 "\n", sim->file, sim->topology.hosts,
	       sim->topology.switches, sim->scenario.run.seed);
	printf("%s of virtual time, %" PRIu64 " events: %s\n",
	       adv_units_print(ADV_UNIT_TIME, adv_fabric_now(sim->fabric), text),
	       adv_fabric_events(sim->fabric), adv_sim_stop_name(sim));
	if (!print_flows(sim) || !print_slowdown(sim))
		return false;
	printf("\nswitches  %" PRIu64 " frames sent, %" PRIu64 " marked, %" PRIu64
	       " pause frames sent, %" PRIu64 " storms, buffer used at most %s\n",
	       t.sw.tx_frames, t.sw.ecn_marked, t.sw.tx_pause, t.sw.storms,
	       adv_units_print(ADV_UNIT_BYTES, t.sw.most_used, text));
	printf("hosts     %" PRIu64 " packets sent, %" PRIu64 " pause frames obeyed, %" PRIu64
	       " CNPs sent, %" PRIu64 " handled, %" PRIu64 " timeouts, %" PRIu64
	       " sequence errors\n",
	       t.engine.tx_packets, t.host_pauses, t.engine.np_cnp_sent, t.engine.rp_cnp_handled,
	       t.engine.local_ack_timeout_err, t.engine.packet_seq_err);
	printf("lost     ");
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		printf(" %s %" PRIu64 ",", adv_drop_name(i), t.sw.drops[i]);
	printf(" slow host %" PRIu64 ", cable %" PRIu64 "\n", t.rx_dropped,
	       adv_fabric_lost(sim->fabric));
	print_deadlock(sim);
	return true;
}
