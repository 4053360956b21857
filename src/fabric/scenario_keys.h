/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sections and keys of scenarios; shared by the scenario's files only. */
#ifndef ADV_FABRIC_SCENARIO_KEYS_H
#define ADV_FABRIC_SCENARIO_KEYS_H

#include "base/units.h"
#include "fabric/scenario_values.h"

enum adv_scenario_type {
	ADV_KEY_QUANTITY, /* of `unit` */
	ADV_KEY_WORD,	  /* one of `words` */
	ADV_KEY_HOSTS,	  /* 3, 0-15, or a word of `words` */
	ADV_KEY_NODE,	  /* h3, s1 */
};

struct adv_scenario_key {
	const char *name; /* NULL: the end */
	enum adv_scenario_type type;
	enum adv_unit unit;
	size_t offset; /* of its uint64_t in the section's structure */
	uint64_t least;
	uint64_t most;
	const char *const *words; /* up to NULL; the index is the value */
};

struct adv_scenario_section {
	const char *name; /* NULL: the end */
	const struct adv_scenario_key *keys;
	size_t offset; /* in struct adv_scenario; of [priority N]: with N = 0 */
	int list;      /* enum adv_scenario_lists; -1: it occurs once */
	size_t size;   /* of an element of the list */
	const void *initial;
};

extern const struct adv_scenario_section adv_scenario_sections[];

/* Sets all values to their defaults. */
void adv_scenario_defaults(struct adv_scenario *s);

#endif
