/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CSV tables of connections, cables and pauses, with both ends by name: h3 is a host, s1 a switch.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/sim_run.h"
#include "fabric/calendar.h"
#include "fabric/egress.h"

#define NAME 16

static const char *node_name(const struct adv_sim *sim, uint32_t node, char name[NAME])
{
	uint32_t hosts = sim->topology.hosts;

	snprintf(name, NAME, "%c%u", node < hosts ? 'h' : 's', node < hosts ? node : node - hosts);
	return name;
}

/* Returns the sending side of one end of a cable. */
static const struct adv_egress *egress_of(const struct adv_sim *sim, struct adv_link_end end)
{
	uint32_t hosts = sim->topology.hosts;

	if (end.node < hosts)
		return adv_fabric_egress(sim->fabric, end.node);
	return adv_switch_egress(adv_fabric_switch(sim->fabric, end.node - hosts), end.port);
}

void adv_sim_write_connections(const struct adv_sim *sim, FILE *f)
{
	static const char *const operations[] = {"write", "send", "read"};
	const struct adv_fabric_connection *c;

	for (uint32_t i = 0; (c = adv_fabric_get_connection(sim->fabric, i)); i++)
		fprintf(f, "%u,%u,%u,%s,%u\n", i, c->initiator, c->target, operations[c->operation],
			c->dscp);
}

void adv_sim_write_pauses(const struct adv_sim *sim, FILE *f)
{
	const struct adv_topology *t = &sim->topology;
	uint64_t now = adv_fabric_now(sim->fabric);
	char paused[NAME], by[NAME];

	for (uint32_t i = 0; i < 2 * t->links; i++) {
		struct adv_link_end end = t->link[i / 2].end[i % 2];
		const struct adv_egress *e = egress_of(sim, end);

		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (e->queue[p].pauses)
				fprintf(f, "%u,%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", i / 2,
					node_name(sim, end.node, paused),
					node_name(sim, t->link[i / 2].end[1 - i % 2].node, by), p,
					e->queue[p].pauses, adv_egress_paused_for(e, p, now));
	}
}

void adv_sim_write_cables(struct adv_sim *sim, FILE *f)
{
	const struct adv_topology *t = &sim->topology;
	uint64_t now = adv_fabric_now(sim->fabric);
	char from[NAME], to[NAME];

	for (uint32_t i = 0; i < 2 * t->links; i++) {
		struct adv_link_end end = t->link[i / 2].end[i % 2];
		const struct adv_egress *e = egress_of(sim, end);
		uint64_t bytes = 0, frames = 0, waiting = 0;

		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			bytes += e->queue[p].sent_bytes;
			frames += e->queue[p].sent;
			waiting += e->queue[p].bytes;
		}
		if (bytes == sim->sent[i] && waiting == 0)
			continue;
		fprintf(f, "%" PRIu64 ",%u,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", now, i / 2,
			node_name(sim, end.node, from),
			node_name(sim, t->link[i / 2].end[1 - i % 2].node, to),
			bytes - sim->sent[i], frames, waiting);
		sim->sent[i] = bytes;
	}
}

void adv_sim_write_slowdown(const struct adv_sim_bucket bucket[ADV_SIM_BUCKETS], FILE *f)
{
	for (unsigned i = 0; i < ADV_SIM_BUCKETS; i++) {
		const struct adv_sim_bucket *b = &bucket[i];

		if (b->count == 0)
			continue;
		fprintf(f, "%" PRIu64 ",", b->above);
		if (b->to != UINT64_MAX)
			fprintf(f, "%" PRIu64, b->to);
		fprintf(f, ",%" PRIu64 ",%.6f,%.6f,%.6f,%.6f\n", b->count,
			(double)b->mean / ADV_RATIO_ONE, (double)b->median / ADV_RATIO_ONE,
			(double)b->p95 / ADV_RATIO_ONE, (double)b->p99 / ADV_RATIO_ONE);
	}
}
