/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/settle.h"

#include <errno.h>

#include "fabric/switch_internal.h"

void adv_fabric_sent(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire)
{
	const struct adv_wire *w = &f->wire[wire];

	adv_switch_sent(n->sw, f->now, w->from.port, w->sending);
	adv_fabric_finish_sending(f, wire);
	adv_fabric_serve(f, n->index);
}

void adv_fabric_settle_departures(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to)
{
	uint64_t now = f->now;

	while (adv_departures_next(&n->departures) <= to) {
		struct adv_departure d = adv_departures_take(&n->departures);

		f->now = d.at;
		f->events++;
		adv_fabric_sent(f, n, d.wire);
	}
	f->now = now;
}

void adv_fabric_settle_due(struct adv_fabric *f, struct adv_fabric_node *n)
{
	if (n->settle_at != f->now)
		return;
	n->settle_at = ADV_CALENDAR_NEVER;
	adv_fabric_settle(f, n, f->now);
	adv_fabric_plan_settle(f, n);
}

void adv_fabric_settle_all(const struct adv_fabric *f, uint64_t to)
{
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		adv_fabric_settle(f->node[s].fabric, &f->node[s], to);
}

int adv_fabric_settle_open(struct adv_fabric *f, struct adv_fabric_node *n)
{
	if (!adv_departures_init(&n->departures, adv_switch_ports(n->sw)))
		return ENOMEM;
	adv_fabric_set_slack(f, n);
	return 0;
}
