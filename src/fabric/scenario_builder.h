/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files that build a scenario's network, fabric and flows share. */
#ifndef ADV_FABRIC_SCENARIO_BUILDER_H
#define ADV_FABRIC_SCENARIO_BUILDER_H

#include "base/rng.h"
#include "base/units.h"
#include "fabric/calendar.h"
#include "fabric/scenario.h"

struct adv_scenario_builder {
	struct adv_scenario *s;
	struct adv_topology *t;
	struct adv_fabric *f;
	struct adv_rng rng;
	uint32_t *permutation;
	unsigned __int128 memory; /* bytes that the run will need, about */
	char *why;
};

/* Says what is wrong, and in which line; 0: in none. False. */
bool adv_scenario_fail(struct adv_scenario_builder *b, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Where the file says this value, one of a section that is there once; 0: it does not. */
uint64_t adv_scenario_line(const struct adv_scenario_builder *b, const uint64_t *value);

/* Adds to what the run will need. False, and said: that is more memory than there is. */
bool adv_scenario_afford(struct adv_scenario_builder *b, uint64_t line, unsigned __int128 bytes);

/* A cable by speed and length (b/s, mm). False, and said: no such speed can be. */
bool adv_scenario_cable(struct adv_scenario_builder *b, uint64_t line, uint64_t speed,
			uint64_t length, struct adv_cable *cable);

/* scenario_network.c: b->t. False, here and below: said. */
bool adv_scenario_build_network(struct adv_scenario_builder *b);
/* scenario_switches.c: b->f, with nothing that happens. */
bool adv_scenario_build_fabric(struct adv_scenario_builder *b);
/* scenario_flows.c: connections and transfers. */
bool adv_scenario_build_flows(struct adv_scenario_builder *b);

#endif
