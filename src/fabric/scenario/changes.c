/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports the values of a scenario that differ from the defaults. */
#include <stdio.h>
#include <string.h>

#include "fabric/scenario/scenario.h"
#include "fabric/scenario/keys.h"

static void print_value(const struct adv_scenario_key *k, uint64_t v, char text[ADV_UNITS_TEXT])
{
	uint32_t first = (uint32_t)(v >> 32), last = (uint32_t)v;

	if (k->type == ADV_KEY_QUANTITY)
		adv_units_print(k->unit, v, text);
	else if (k->type == ADV_KEY_WORD)
		snprintf(text, ADV_UNITS_TEXT, "%s", k->words[v]);
	else if (k->type == ADV_KEY_NODE)
		snprintf(text, ADV_UNITS_TEXT, "%c%u", v & ADV_SCENARIO_SWITCH ? 's' : 'h',
			 (uint32_t)v);
	else if (v & ADV_SCENARIO_ALL)
		snprintf(text, ADV_UNITS_TEXT, "%s", k->words[v & ~ADV_SCENARIO_ALL]);
	else if (first == last)
		snprintf(text, ADV_UNITS_TEXT, "%u", first);
	else
		snprintf(text, ADV_UNITS_TEXT, "%u-%u", first, last);
}

static void report_changes(const char *name, const struct adv_scenario_key *keys, const char *said,
			   const char *initial, adv_scenario_value_fn *fn, void *user)
{
	for (const struct adv_scenario_key *k = keys; k->name; k++) {
		char text[ADV_UNITS_TEXT];
		uint64_t v, was;

		memcpy(&v, said + k->offset, sizeof(v));
		memcpy(&was, initial + k->offset, sizeof(was));
		if (v == was)
			continue;
		print_value(k, v, text);
		fn(user, name, k->name, text);
	}
}

void adv_scenario_changes(const struct adv_scenario *s, uint32_t most, adv_scenario_value_fn *fn,
			  void *user)
{
	struct adv_scenario initial;
	char name[48];

	adv_scenario_defaults(&initial);
	for (const struct adv_scenario_section *d = adv_scenario_sections; d->name; d++) {
		bool each = strcmp(d->name, "priority") == 0;

		for (unsigned p = 0; d->list < 0 && p < (each ? ADV_PRIORITIES : 1); p++) {
			size_t at = d->offset + p * sizeof(struct adv_scenario_priority);

			snprintf(name, sizeof(name), each ? "%s %u" : "%s", d->name, p);
			report_changes(name, d->keys, (const char *)s + at,
				       (const char *)&initial + at, fn, user);
		}
		for (uint32_t i = 0; d->list >= 0 && i < s->list[d->list].count && i < most; i++) {
			snprintf(name, sizeof(name), "%s %u", d->name, i);
			report_changes(name, d->keys,
				       (const char *)s->list[d->list].item + i * d->size,
				       d->initial, fn, user);
		}
	}
}
