/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CSV tables of connections, cables and pauses, with both ends by name: h3 is a host, s1 a switch.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/sim/report_bottleneck.h"
#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

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
	char paused[ADV_NODE_TEXT], by[ADV_NODE_TEXT];

	for (uint32_t i = 0; i < 2 * t->links; i++) {
		struct adv_link_end end = t->link[i / 2].end[i % 2];
		const struct adv_egress *e = adv_report_egress(sim, end);

		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (e->pauses[p].count)
				fprintf(f, "%u,%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", i / 2,
					adv_report_node(sim, end.node, paused),
					adv_report_node(sim, t->link[i / 2].end[1 - i % 2].node,
							by),
					p, e->pauses[p].count, adv_egress_paused_for(e, p, now));
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
