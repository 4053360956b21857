/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts the results of a run to JSON. */
#include "cli/command/json.h"
#include "cli/sim/run.h"

#define CYCLE_MAX 4096

static struct json_object *flow_to_json(const struct adv_scenario_flow *flow,
					const struct adv_sim_flow *r)
{
	struct json_object *o = adv_json_object(), *fct;

	adv_json_add_number(o, "transfers", flow->transfers);
	adv_json_add_number(o, "done", r->done);
	adv_json_add_number(o, "failed", r->failed);
	adv_json_add_number(o, "bytes", r->bytes);
	adv_json_add_number(o, "time_ps", r->time);
	adv_json_add_number(o, "rate_bps", r->rate);
	fct = adv_json_add_object(o, "fct_ps");
	adv_json_add_number(fct, "min", r->least);
	adv_json_add_number(fct, "median", r->median);
	adv_json_add_number(fct, "p99", r->p99);
	adv_json_add_number(fct, "max", r->most);
	return o;
}

/* Adds the results of all flows. False: no memory. */
static bool add_flows(const struct adv_sim *sim, struct json_object *to)
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	struct json_object *flows = adv_json_add_array(to, "flows");

	for (uint32_t i = 0; i < l->count; i++) {
		struct adv_sim_flow r;

		if (!adv_sim_flow_result(sim, &flow[i], &r))
			return false;
		adv_json_append(flows, flow_to_json(&flow[i], &r));
	}
	return true;
}

/* Adds the slowdowns by size. False: no memory. */
static bool add_slowdown(const struct adv_sim *sim, struct json_object *to)
{
	struct json_object *list = adv_json_add_array(to, "slowdown");
	struct adv_sim_bucket bucket[ADV_SIM_BUCKETS];

	if (!adv_sim_slowdown(sim, bucket))
		return false;
	for (unsigned i = 0; i < ADV_SIM_BUCKETS; i++) {
		const struct adv_sim_bucket *b = &bucket[i];
		struct json_object *o;

		if (b->count == 0)
			continue;
		o = adv_json_object();
		adv_json_add_number(o, "bytes_above", b->above);
		adv_json_add(o, "bytes_to", b->to == UINT64_MAX ? NULL : adv_json_number(b->to));
		adv_json_add_number(o, "count", b->count);
		adv_json_add(o, "mean", adv_json_ratio(b->mean));
		adv_json_add(o, "median", adv_json_ratio(b->median));
		adv_json_add(o, "p95", adv_json_ratio(b->p95));
		adv_json_add(o, "p99", adv_json_ratio(b->p99));
		adv_json_append(list, o);
	}
	return true;
}

static void add_counters(const struct adv_sim *sim, struct json_object *to)
{
	struct adv_sim_totals t = adv_sim_add_up(sim);
	struct json_object *lost;

	adv_json_add_number(to, "tx_frames", t.sw.tx_frames);
	adv_json_add_number(to, "ecn_marked", t.sw.ecn_marked);
	adv_json_add_number(to, "pause_frames", t.sw.tx_pause);
	adv_json_add_number(to, "storms", t.sw.storms);
	adv_json_add_number(to, "buffer_most", t.sw.most_used);
	adv_json_add_number(to, "tx_packets", t.engine.tx_packets);
	adv_json_add_number(to, "np_cnp_sent", t.engine.np_cnp_sent);
	adv_json_add_number(to, "rp_cnp_handled", t.engine.rp_cnp_handled);
	adv_json_add_number(to, "local_ack_timeout_err", t.engine.local_ack_timeout_err);
	adv_json_add_number(to, "packet_seq_err", t.engine.packet_seq_err);
	lost = adv_json_add_object(to, "lost");
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		adv_json_add_number(lost, adv_drop_name(i), t.sw.drops[i]);
	adv_json_add_number(lost, "slow host", t.rx_dropped);
	adv_json_add_number(lost, "cable", adv_fabric_lost(sim->fabric));
}

static void add_deadlock(const struct adv_sim *sim, struct json_object *to)
{
	struct json_object *list = adv_json_add_array(to, "deadlock");
	struct adv_fabric_wait cycle[CYCLE_MAX];
	unsigned n = adv_fabric_deadlock(sim->fabric, cycle, CYCLE_MAX);

	for (unsigned i = 0; i < n && i < CYCLE_MAX; i++) {
		struct json_object *o = adv_json_object();

		adv_json_add_number(o, "switch", cycle[i].sw);
		adv_json_add_number(o, "port", cycle[i].port);
		adv_json_add_number(o, "priority", cycle[i].priority);
		adv_json_append(list, o);
	}
}

struct json_object *adv_sim_to_json(const struct adv_sim *sim)
{
	struct json_object *o = adv_json_object();

	adv_json_add_text(o, "file", sim->file);
	adv_json_add_number(o, "seed", sim->scenario.run.seed);
	adv_json_add_number(o, "hosts", sim->topology.hosts);
	adv_json_add_number(o, "switches", sim->topology.switches);
	adv_json_add_number(o, "time_ps", adv_fabric_now(sim->fabric));
	adv_json_add_number(o, "events", adv_fabric_events(sim->fabric));
	adv_json_add_text(o, "end", adv_sim_stop_name(sim));
	if (!add_flows(sim, o) || !add_slowdown(sim, o)) {
		json_object_put(o);
		return NULL;
	}
	add_counters(sim, o);
	add_deadlock(sim, o);
	return o;
}

bool adv_sim_print_json(const struct adv_sim *sim)
{
	struct json_object *o = adv_sim_to_json(sim);

	if (o)
		adv_json_print(stdout, o);
	return o != NULL;
}
