/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of cables while the fabric runs: what disturbs them. A cable is named by one of its ends:
 * "h3", the cable of a host, or "s1:4", the cable at port 4 of a switch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "base/units.h"
#include "fabric/emulator/internal.h"

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

void adv_emulator_name_end(const struct adv_topology *t, const struct adv_link_end *end,
			   char name[EMULATOR_END_NAME])
{
	if (end->node < t->hosts)
		snprintf(name, EMULATOR_END_NAME, "h%u", end->node);
	else
		snprintf(name, EMULATOR_END_NAME, "s%u:%u", end->node - t->hosts, end->port);
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

/* Reads a probability in millionths. */
static bool read_ratio(const char *text, size_t len, uint32_t *per_million)
{
	char why[ADV_UNITS_WHY];
	uint64_t ratio;

	if (!adv_units_parse(ADV_UNIT_RATIO, text, len, &ratio, why) || ratio > ADV_RATIO_ONE)
		return false;
	*per_million = (uint32_t)(ratio / (ADV_RATIO_ONE / MILLION));
	return true;
}

static bool read_delay(const char *text, size_t len, uint64_t *delay)
{
	char why[ADV_UNITS_WHY];

	return adv_units_parse(ADV_UNIT_TIME, text, len, delay, why) &&
	       *delay <= ADV_FABRIC_TROUBLE_DELAY;
}

/* Reads a rule such as "drop=0.1%" (or "loss="), "corrupt=0.1%" or "delay=2us". */
static bool read_rule(const char *text, size_t len, struct adv_fabric_trouble *t)
{
	const char *value = memchr(text, '=', len);
	size_t name = value ? (size_t)(value - text) : 0;

	if (!value)
		return false;
	value++;
	len -= name + 1;
	if (name == 4 && (memcmp(text, "loss", 4) == 0 || memcmp(text, "drop", 4) == 0))
		return read_ratio(value, len, &t->lose);
	if (name == 7 && memcmp(text, "corrupt", 7) == 0)
		return read_ratio(value, len, &t->corrupt);
	if (name == 5 && memcmp(text, "delay", 5) == 0)
		return read_delay(value, len, &t->delay);
	return false;
}

/* Reads "up", "down", or rules between semicolons, as fault plans have them. */
static bool read_change(const char *text, struct adv_fabric_trouble *t)
{
	*t = (struct adv_fabric_trouble){.lose = strcmp(text, "down") == 0 ? MILLION : 0};
	if (strcmp(text, "down") == 0 || strcmp(text, "up") == 0)
		return true;
	for (;;) {
		size_t len;

		text += strspn(text, " ");
		len = strcspn(text, "; ");
		if (!read_rule(text, len, t))
			return false;
		text += len;
		text += strspn(text, " ");
		if (!*text)
			return true;
		if (*text++ != ';')
			return false;
	}
}

int adv_emulator_change_cable(struct adv_emulator *e, struct adv_port_message *m)
{
	struct adv_fabric_trouble trouble;
	uint32_t cable;
	const char *rest;
	unsigned side;

	cable = named_cable(e, m, &rest, &side);
	if (cable == UINT32_MAX)
		return ENOENT;
	if (*rest != ' ' || !read_change(rest + 1, &trouble)) {
		struct adv_shown shown = adv_show(rest, strlen(rest), ADV_SHOWN_MOST);

		snprintf(m->text, sizeof(m->text),
			 "'%s': expected up, down, or rules such as drop=1%%; corrupt=0.1%%; "
			 "delay=5us, with at most 100%% and 1s",
			 shown.text + strspn(shown.text, " "));
		return EINVAL;
	}
	adv_fabric_disturb(e->config.fabric, cable, &trouble);
	return 0;
}
