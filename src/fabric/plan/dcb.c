/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/dcb.h"

#include "base/units.h"
#include "fabric/network/external.h"

/* Divides 100 % among the used ETS priorities by their weights: whole percent, by the largest
 * remainders, of equal ones the lower priority. False: one would have none. */
static bool divide_shares(const struct adv_scenario *s, struct adv_plan_dcb *plan)
{
	uint64_t remainder[ADV_PRIORITIES] = {0}, sum = 0;
	unsigned left = 100;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		if (plan->used & ~plan->strict & (1u << p))
			sum += s->priority[p].weight;
	for (unsigned p = 0; sum && p < ADV_PRIORITIES; p++) {
		if (!(plan->used & ~plan->strict & (1u << p)))
			continue;
		plan->percent[p] = (uint8_t)(100 * s->priority[p].weight / sum);
		remainder[p] = 100 * s->priority[p].weight % sum;
		plan->rounded |= remainder[p] != 0;
		left -= plan->percent[p];
	}
	for (; sum && left > 0; left--) {
		unsigned best = 0;

		for (unsigned p = 1; p < ADV_PRIORITIES; p++)
			if (remainder[p] > remainder[best])
				best = p;
		plan->percent[best]++;
		remainder[best] = 0;
	}
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		if ((plan->used & ~plan->strict & (1u << p)) && plan->percent[p] == 0)
			return false;
	return true;
}

static int8_t nearest_power(uint64_t alpha)
{
	int8_t log2 = 0;

	/* compares alpha with the geometric mean of two powers: 1.4142 x the lower one */
	while (alpha && alpha * 10000 > ADV_RATIO_ONE * 14142ull && log2 < 8) {
		alpha /= 2;
		log2++;
	}
	while (alpha && alpha * 14142 <= ADV_RATIO_ONE * 10000ull && log2 > -8) {
		alpha *= 2;
		log2--;
	}
	return log2;
}

static void add_port(struct adv_plan_dcb *plan, const struct adv_plan_dcb_port *port)
{
	for (unsigned i = 0; i < plan->ports; i++) {
		struct adv_plan_dcb_port *have = &plan->port[i];

		if (have->to_host == port->to_host && have->headroom == port->headroom &&
		    have->cable.delay == port->cable.delay &&
		    have->cable.ps_per_byte == port->cable.ps_per_byte) {
			have->count++;
			return;
		}
	}
	if (plan->ports == ADV_PLAN_DCB_PORTS)
		plan->more_ports = true;
	else
		plan->port[plan->ports++] = *port;
}

/* Returns the largest headroom of a lossless priority at a port with this cable. */
static uint64_t headroom_of(const struct adv_scenario *s, const struct adv_plan_dcb *plan,
			    struct adv_cable cable)
{
	uint64_t computed = adv_fabric_headroom(cable, (uint32_t)s->host.mtu, s->sw.pause_response);
	uint64_t most = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		uint64_t given = s->priority[p].headroom;

		if ((plan->lossless & (1u << p)) && (given ? given : computed) > most)
			most = given ? given : computed;
	}
	return most;
}

static void add_ports(const struct adv_scenario *s, const struct adv_topology *t,
		      struct adv_plan_dcb *plan)
{
	for (uint32_t i = 0; i < 2 * t->links; i++) {
		const struct adv_topology_link *l = &t->link[i / 2];
		struct adv_plan_dcb_port port = {
			.cable = l->cable,
			.to_host = l->end[1 - i % 2].node < t->hosts,
			.count = 1,
			.headroom = headroom_of(s, plan, l->cable),
		};

		if (l->end[i % 2].node >= t->hosts)
			add_port(plan, &port);
	}
}

const char *adv_plan_dcb(const struct adv_scenario *s, const struct adv_topology *t,
			 const struct adv_fabric *f, struct adv_plan_dcb *plan)
{
	*plan = (struct adv_plan_dcb){.lossless = 0};
	if (t->switches == 0)
		return "the network has no switch";
	for (unsigned d = 0; d < 64; d++) {
		plan->priority_of_dscp[d] = adv_fabric_priority(f, (uint8_t)(d << 2));
		plan->used |= (uint8_t)(1u << plan->priority_of_dscp[d]);
	}
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		plan->lossless |= (uint8_t)(s->priority[p].lossless ? 1u << p : 0);
		plan->marked |= (uint8_t)(s->priority[p].ecn_max ? 1u << p : 0);
		plan->strict |= (uint8_t)(s->priority[p].weight ? 0 : 1u << p);
		plan->alpha_log2[p] = nearest_power(s->priority[p].alpha);
	}
	if (!divide_shares(s, plan))
		return "a priority would have less than 1 % of the link: ETS takes whole percent";
	add_ports(s, t, plan);
	return NULL;
}
