/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is the text of a scenario. Checks that an error is a printable line, that a scenario
 * that can be built runs, and that the counters account for every frame.
 */
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/scenario/scenario.h"
#include "fuzz.h"

#define RUN (20 * ADV_PS_PER_US)

static void check_error(const char *why)
{
	FUZZ_CHECK(why[0]);
	for (const char *p = why; *p; p++)
		FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

/* True if the scenario is small enough to be built and run thousands of times a minute. */
static bool is_small(const struct adv_scenario *s)
{
	const struct adv_scenario_network *n = &s->network;
	const struct adv_scenario_list *l = &s->list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;
	uint64_t nodes = n->topology == ADV_SCENARIO_LEAF_SPINE ? n->leaves : n->switches;

	if (n->hosts > 8 || (n->topology == ADV_SCENARIO_INCAST && n->senders > 16) ||
	    (n->topology == ADV_SCENARIO_FAT_TREE && n->ports > 4) ||
	    (n->topology == ADV_SCENARIO_LEAF_SPINE && n->spines > 8) ||
	    (n->topology >= ADV_SCENARIO_PARKING_LOT && n->topology != ADV_SCENARIO_FAT_TREE &&
	     nodes > 8))
		return false;
	for (uint32_t i = 0; i < l->count; i++)
		if (flow[i].count > 8 || flow[i].depth > 64)
			return false;
	return l->count <= 4;
}

static void check_frames_counted(const struct adv_fabric *f, const struct adv_topology *t)
{
	uint64_t sent = 0, received = 0, inside = 0, outside, bytes;

	for (uint32_t h = 0; h < t->hosts; h++) {
		const struct adv_fabric_host_counters *c = adv_fabric_host_counters(f, h);

		sent += c->tx_frames;
		received += c->rx_frames + c->rx_dropped;
	}
	for (uint32_t i = 0; i < t->switches; i++) {
		const struct adv_switch *s = adv_fabric_switch(f, i);
		const struct adv_switch_counters *c = adv_switch_counters(s);

		inside += c->rx_frames - c->tx_frames;
		FUZZ_CHECK(c->rx_bytes - c->tx_bytes - c->dropped_bytes == adv_switch_used(s));
	}
	adv_fabric_outside(f, &outside, &bytes);
	FUZZ_CHECK(sent == received + inside + outside + adv_fabric_lost(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f;

	if (!adv_scenario_read(&s, "x", (const char *)data, size, why)) {
		check_error(why);
	} else if (is_small(&s)) {
		if (!adv_scenario_build(&s, &t, &f, why)) {
			check_error(why);
		} else {
			adv_fabric_run(f, RUN);
			adv_fabric_run(f, 2 * RUN);
			check_frames_counted(f, &t);
			adv_fabric_destroy(f);
			adv_topology_free(&t);
		}
	}
	adv_scenario_free(&s);
	return 0;
}
