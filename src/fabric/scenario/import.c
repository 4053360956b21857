/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a topology.txt of ns-3 HPCC as the network of a scenario:
 *
 *	nodes switches links
 *	the numbers of the switches
 *	node node speed delay loss		for each link: 0 4 100Gbps 0.001ms 0
 *
 * The other nodes are hosts. Hosts and switches get their numbers here in the order of their
 * numbers there. As ns-3 HPCC does, the reader reads as many links as the first line says: in the
 * examples there, a description of the format follows.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "fabric/scenario/builder.h"
#include "fabric/scenario/keys.h"

#define NODES_MAX (1u << 16)
#define LINKS_MAX 1000000u
#define WORD_LEN  32

struct import {
	struct adv_scenario *s;
	const char *name;
	const char *at;
	const char *end;
	uint64_t line;
	char word[WORD_LEN];
	bool *cabled; /* by node: it has a link already */
	char *why;
};

static bool fail_word(const struct import *in, const char *expected)
{
	snprintf(in->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": '%s': expected %s", in->name, in->line,
		 adv_show(in->word, strlen(in->word), ADV_SHOWN_MOST).text, expected);
	return false;
}

/* Reads the next word; at the end of the text an empty one. A longer word is cut. */
static void next_word(struct import *in)
{
	size_t n = 0;

	while (in->at < in->end && isspace((unsigned char)*in->at))
		in->line += *in->at++ == '\n';
	for (; in->at < in->end && !isspace((unsigned char)*in->at); in->at++)
		if (n + 1 < WORD_LEN)
			in->word[n++] = *in->at;
	in->word[n] = '\0';
}

static bool read_quantity(struct import *in, enum adv_unit unit, uint64_t least, uint64_t most,
			  const char *expected, uint64_t *value)
{
	char why[ADV_UNITS_WHY];

	next_word(in);
	if (!adv_units_parse(unit, in->word, strlen(in->word), value, why) || *value < least ||
	    *value > most)
		return fail_word(in, expected);
	return true;
}

/* Reads the switches, and numbers all nodes. */
static bool number_nodes(struct import *in, uint64_t nodes, uint64_t switches)
{
	struct adv_scenario *s = in->s;
	uint32_t host = 0, sw = 0;
	uint64_t id;

	s->node = calloc(nodes, sizeof(*s->node));
	in->cabled = calloc(nodes, sizeof(*in->cabled));
	if (!s->node || !in->cabled) {
		snprintf(in->why, ADV_SCENARIO_WHY, "%s: no memory", in->name);
		return false;
	}
	s->nodes = (uint32_t)nodes;
	for (uint64_t i = 0; i < switches; i++) {
		if (!read_quantity(in, ADV_UNIT_COUNT, 0, nodes - 1, "the number of a switch", &id))
			return false;
		if (s->node[id])
			return fail_word(in, "each switch once");
		s->node[id] = ADV_SCENARIO_SWITCH;
	}
	for (uint32_t n = 0; n < nodes; n++)
		s->node[n] = s->node[n] ? ADV_SCENARIO_SWITCH + sw++ : host++;
	return true;
}

/* Reads the two nodes of a link. A host has one. */
static bool read_ends(struct import *in, uint64_t end[2])
{
	for (unsigned i = 0; i < 2; i++) {
		if (!read_quantity(in, ADV_UNIT_COUNT, 0, in->s->nodes - 1ull,
				   "the number of a node", &end[i]))
			return false;
		if (i && end[1] == end[0])
			return fail_word(in, "another node than the first one");
		if (in->s->node[end[i]] < ADV_SCENARIO_SWITCH && in->cabled[end[i]])
			return fail_word(in, "a switch, or a host without a link above");
		in->cabled[end[i]] = true;
	}
	return true;
}

static bool read_link(struct import *in, uint32_t number)
{
	uint64_t end[2], speed, delay, loss;
	struct adv_scenario_link *link;
	struct adv_scenario_loss *item;

	if (!read_ends(in, end))
		return false;
	if (!read_quantity(in, ADV_UNIT_RATE, 1000000, 8000000000000, "a speed such as 100Gbps",
			   &speed) ||
	    !read_quantity(in, ADV_UNIT_TIME, 0, ADV_PS_PER_S, "a delay such as 0.001ms", &delay) ||
	    !read_quantity(in, ADV_UNIT_RATIO, 0, ADV_RATIO_ONE, "a rate of loss such as 0", &loss))
		return false;
	link = adv_scenario_append(in->s, ADV_SCENARIO_LINK_LIST);
	item = link && loss ? adv_scenario_append(in->s, ADV_SCENARIO_LOSSES) : NULL;
	if (!link || (loss && !item)) {
		snprintf(in->why, ADV_SCENARIO_WHY, "%s: no memory", in->name);
		return false;
	}
	*link = (struct adv_scenario_link){.from = in->s->node[end[0]],
					   .to = in->s->node[end[1]],
					   .speed = speed,
					   .cable = delay / ADV_FIBRE_PS_PER_MM};
	if (item)
		*item = (struct adv_scenario_loss){.link = number, .probability = loss};
	return true;
}

/* Reads the whole file. */
static bool read_network(struct import *in)
{
	uint64_t nodes, switches, links;

	if (!read_quantity(in, ADV_UNIT_COUNT, 2, NODES_MAX, "2 to 65536 nodes", &nodes) ||
	    !read_quantity(in, ADV_UNIT_COUNT, 1, nodes - 1, "a number of switches", &switches) ||
	    !read_quantity(in, ADV_UNIT_COUNT, 1, LINKS_MAX, "a number of links", &links) ||
	    !number_nodes(in, nodes, switches))
		return false;
	for (uint32_t i = 0; i < links; i++)
		if (!read_link(in, i))
			return false;
	in->s->network.topology = ADV_SCENARIO_LINKS;
	in->s->network.hosts = nodes - switches;
	in->s->network.switches = switches;
	return true;
}

bool adv_scenario_import(struct adv_scenario *s, const char *name, const char *text, size_t len,
			 char why[ADV_SCENARIO_WHY])
{
	struct import in = {
		.s = s, .name = name, .at = text, .end = text + len, .line = 1, .why = why};
	bool good;

	if (s->network.topology != UINT64_MAX || s->list[ADV_SCENARIO_LINK_LIST].count) {
		snprintf(why, ADV_SCENARIO_WHY, "%s: [network] topology: the network comes from %s",
			 s->name, name);
		return false;
	}
	good = read_network(&in);
	free(in.cabled);
	return good;
}
