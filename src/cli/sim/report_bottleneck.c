/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/report_bottleneck.h"

#include "fabric/switch/egress.h"

#define MILLION 1000000

const char *adv_report_node(const struct adv_sim *sim, uint32_t node, char text[ADV_NODE_TEXT])
{
	uint32_t hosts = sim->topology.hosts;

	snprintf(text, ADV_NODE_TEXT, "%c%u", node < hosts ? 'h' : 's',
		 node < hosts ? node : node - hosts);
	return text;
}

const struct adv_egress *adv_report_egress(const struct adv_sim *sim, struct adv_link_end end)
{
	uint32_t hosts = sim->topology.hosts;

	if (end.node < hosts)
		return adv_fabric_egress(sim->fabric, end.node);
	return adv_switch_egress(adv_fabric_switch(sim->fabric, end.node - hosts), end.port);
}

uint32_t adv_report_busy(const struct adv_sim *sim, struct adv_link_end end, uint32_t ps_per_byte)
{
	const struct adv_egress *e = adv_report_egress(sim, end);
	uint64_t bytes = 0, now = adv_fabric_now(sim->fabric), share;

	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		bytes += e->queue[i].sent_bytes + ADV_WIRE_OVERHEAD * e->queue[i].sent;
	share = now ? (uint64_t)((unsigned __int128)bytes * ps_per_byte * MILLION / now) : 0;
	return share < MILLION ? (uint32_t)share : MILLION;
}

static uint32_t port_busy(const struct adv_sim *sim, uint32_t node, uint16_t port)
{
	const struct adv_topology *t = &sim->topology;

	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node == node && t->link[i].end[k].port == port)
				return adv_report_busy(sim, t->link[i].end[k],
						       t->link[i].cable.ps_per_byte);
	return 0;
}

static uint64_t sum_of(const uint64_t *column, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += column[i];
	return sum;
}

struct adv_report_bottleneck adv_report_find_bottleneck(const struct adv_sim *sim,
							const struct adv_record *record)
{
	struct adv_report_bottleneck best = {.found = false};
	uint64_t now = adv_fabric_now(sim->fabric);
	unsigned __int128 most = 0;
	uint32_t node;

	if (adv_fabric_deadlock(sim->fabric, NULL, 0))
		return best;
	for (uint32_t i = 0; i < record->queues; i++) {
		const struct adv_record_queue *q = record->queue[i];
		unsigned __int128 weight;
		uint64_t paused;

		if (!q)
			continue;
		paused = adv_egress_paused_for(
			adv_switch_egress(adv_fabric_switch(sim->fabric, q->sw), q->port),
			q->priority, now);
		weight = (unsigned __int128)sum_of(q->most, record->columns) * (now - paused);
		if (weight <= most)
			continue;
		most = weight;
		best = (struct adv_report_bottleneck){.found = true,
						      .sw = q->sw,
						      .port = q->port,
						      .priority = q->priority,
						      .peak = q->peak};
	}
	if (!best.found)
		return best;
	node = sim->topology.hosts + best.sw;
	best.peer = adv_topology_peer(&sim->topology, node, best.port);
	best.busy = port_busy(sim, node, best.port);
	return best;
}
