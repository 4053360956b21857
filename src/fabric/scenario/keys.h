/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sections and keys of scenarios; shared by the scenario's files only. */
#ifndef ADV_FABRIC_SCENARIO_KEYS_H
#define ADV_FABRIC_SCENARIO_KEYS_H

#include "base/units.h"
#include "fabric/scenario/values.h"

enum adv_scenario_type {
	ADV_KEY_QUANTITY, /* a quantity of `unit` */
	ADV_KEY_WORD,	  /* one of `words` */
	ADV_KEY_HOSTS,	  /* "3", "0-15", or a word of `words` */
	ADV_KEY_NODE,	  /* "h3", "s1" */
};

struct adv_scenario_key {
	const char *name; /* NULL: the end */
	enum adv_scenario_type type;
	enum adv_unit unit;
	size_t offset; /* offset of the value, a uint64_t, in the section's structure */
	uint64_t least;
	uint64_t most;
	const char *const *words; /* ends with NULL; the index of a word is the value */
};

struct adv_scenario_section {
	const char *name; /* NULL: the end */
	const struct adv_scenario_key *keys;
	size_t offset;	     /* in struct adv_scenario; for [priority N]: offset of priority 0 */
	int list;	     /* enum adv_scenario_lists; -1: the section occurs once */
	size_t size;	     /* size of an element of the list */
	const void *initial; /* default values of an element */
};

extern const struct adv_scenario_section adv_scenario_sections[];

/* Appends an element with default values to a list (enum adv_scenario_lists), and returns it. NULL:
 * no memory. */
void *adv_scenario_append(struct adv_scenario *s, unsigned list);

/* Sets all values to their defaults. */
void adv_scenario_defaults(struct adv_scenario *s);

#endif
