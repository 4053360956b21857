/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of cables while the fabric runs. A cable is named by one of its ends: "h3", the cable of
 * a host, or "s1:4", the cable at port 4 of a switch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "emulator/emulator_internal.h"

#define MILLION 1000000u

/* Reads a number at *text and moves *text behind it. UINT32_MAX: there is none. */
static uint32_t read_number(const char **text)
{
	unsigned long n;
	char *end;

	if (**text < '0' || **text > '9')
		return UINT32_MAX;
	n = strtoul(*text, &end, 10);
	*text = end;
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Reads an end of a cable at *text. False: it is not one of the topology's. */
static bool read_end(const struct adv_topology *t, const char **text, struct adv_link_end *end)
{
	char kind = **text;
	uint32_t node, port = 0;

	if (kind != 'h' && kind != 's')
		return false;
	++*text;
	node = read_number(text);
	if (kind == 's') {
		if (*(*text)++ != ':')
			return false;
		port = read_number(text);
	}
	if (node >= (kind == 'h' ? t->hosts : t->switches))
		return false;
	end->node = kind == 'h' ? node : t->hosts + node;
	end->port = (uint16_t)port;
	return port < t->ports[end->node];
}

/* Returns the cable at *end, and sets which of its ends that is. UINT32_MAX: none. */
static uint32_t cable_at(const struct adv_topology *t, const struct adv_link_end *end,
			 unsigned *side)
{
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (t->link[i].end[k].node == end->node &&
			    t->link[i].end[k].port == end->port) {
				*side = k;
				return i;
			}
	return UINT32_MAX;
}

/* Finds the cable that the first word of m->text names, and its end. *rest: the text behind the
 * word. UINT32_MAX: there is none, and m->text has the reason. */
static uint32_t named_cable(const struct adv_emulator *e, struct adv_port_message *m,
			    const char **rest, unsigned *side)
{
	const struct adv_topology *t = e->config.topology;
	struct adv_link_end end;
	uint32_t cable = UINT32_MAX;

	*rest = m->text;
	if (read_end(t, rest, &end) && (**rest == ' ' || !**rest))
		cable = cable_at(t, &end, side);
	if (cable == UINT32_MAX)
		snprintf(m->text, sizeof(m->text),
			 "no such cable: expected h0 to h%u, or s0:0 to s%u:PORT", t->hosts - 1,
			 t->switches ? t->switches - 1 : 0);
	return cable;
}

int adv_emulator_find_cable(const struct adv_emulator *e, struct adv_port_message *m,
			    uint32_t *cable, unsigned *end)
{
	const char *rest;

	*cable = named_cable(e, m, &rest, end);
	return *cable == UINT32_MAX ? ENOENT : 0;
}

/* Reads "up", "down", "loss=0.1%", or "drop=0.1%" as in fault plans, as a probability in
 * millionths. */
static bool read_change(const char *text, uint32_t *per_million)
{
	char why[ADV_UNITS_WHY];
	uint64_t ratio;

	*per_million = strcmp(text, "down") == 0 ? MILLION : 0;
	if (strcmp(text, "down") == 0 || strcmp(text, "up") == 0)
		return true;
	if ((strncmp(text, "loss=", 5) != 0 && strncmp(text, "drop=", 5) != 0) ||
	    !adv_units_parse(ADV_UNIT_RATIO, text + 5, strlen(text + 5), &ratio, why) ||
	    ratio > ADV_RATIO_ONE)
		return false;
	*per_million = (uint32_t)(ratio / (ADV_RATIO_ONE / MILLION));
	return true;
}

int adv_emulator_change_cable(struct adv_emulator *e, struct adv_port_message *m)
{
	uint32_t cable, per_million;
	const char *rest;
	unsigned side;

	cable = named_cable(e, m, &rest, &side);
	if (cable == UINT32_MAX)
		return ENOENT;
	if (*rest != ' ' || !read_change(rest + 1, &per_million)) {
		snprintf(m->text, sizeof(m->text), "expected up, down or loss=PERCENT%%");
		return EINVAL;
	}
	adv_fabric_lose(e->config.fabric, cable, per_million);
	return 0;
}
