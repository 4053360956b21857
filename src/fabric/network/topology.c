/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/switch/switch.h"
#include "base/grow.h"
#include "fabric/network/topology.h"

#define HOSTS_MAX (1u << 24)

int adv_topology_init(struct adv_topology *t, uint32_t hosts, uint32_t switches)
{
	memset(t, 0, sizeof(*t));
	if (hosts == 0 || hosts > HOSTS_MAX || switches > ADV_TOPOLOGY_SWITCHES)
		return EINVAL;
	t->hosts = hosts;
	t->ports = calloc(hosts + switches, sizeof(*t->ports));
	t->level = calloc(switches ? switches : 1, sizeof(*t->level));
	t->routes = calloc(switches ? switches : 1, sizeof(*t->routes));
	if (!t->ports || !t->level || !t->routes)
		return ENOMEM;
	for (; t->switches < switches; t->switches++)
		if (adv_route_table_init(&t->routes[t->switches], hosts))
			return ENOMEM;
	return 0;
}

void adv_topology_free(struct adv_topology *t)
{
	for (uint32_t i = 0; i < t->switches; i++)
		adv_route_table_free(&t->routes[i]);
	free(t->ports);
	free(t->level);
	free(t->link);
	free(t->routes);
	memset(t, 0, sizeof(*t));
}

static bool has_port_free(const struct adv_topology *t, uint32_t node)
{
	return node < t->hosts + t->switches &&
	       t->ports[node] < (node < t->hosts ? 1 : ADV_SWITCH_PORTS);
}

int adv_topology_link(struct adv_topology *t, uint32_t a, uint32_t b, struct adv_cable cable)
{
	if (a == b || !has_port_free(t, a) || !has_port_free(t, b) || cable.ps_per_byte == 0)
		return EINVAL;
	if (!adv_grow(&t->link, t->links, &t->link_room, sizeof(*t->link)))
		return ENOMEM;
	t->link[t->links++] = (struct adv_topology_link){
		.end = {{a, t->ports[a]++}, {b, t->ports[b]++}}, .cable = cable};
	return 0;
}

uint32_t adv_topology_peer(const struct adv_topology *t, uint32_t node, uint16_t port)
{
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node == node && t->link[i].end[k].port == port)
				return t->link[i].end[1 - k].node;
	return UINT32_MAX;
}

int adv_topology_route_by(struct adv_topology *t, uint32_t sw, uint32_t host, uint32_t next)
{
	uint16_t port[ADV_SWITCH_PORTS];
	uint32_t count = 0;

	if (sw < t->hosts || sw - t->hosts >= t->switches || host >= t->hosts)
		return EINVAL;
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node == sw && t->link[i].end[1 - k].node == next)
				port[count++] = t->link[i].end[k].port;
	if (count == 0)
		return EINVAL;
	return adv_route_set(&t->routes[sw - t->hosts], host, port, count);
}
