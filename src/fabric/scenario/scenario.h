/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The description of a simulation: sections in brackets, lines `key = value`, comments after '#'.
 *
 *	[network]
 *	topology = incast
 *	senders = 16
 *	[priority 3]
 *	lossless = yes
 *	[flow]
 *	from = 0-15
 *	to = 16
 *	bytes = 1MB
 *
 * The reader is strict. An unknown section or key, a value of another kind or out of range, and a
 * repeated key are errors. The message has the file, the line, and the expected form. [flow],
 * [storm], [slow], [loss], [link], [route] and [map] may occur many times. docs/simulator.md lists
 * all keys.
 */
#ifndef ADV_FABRIC_SCENARIO_SCENARIO_H
#define ADV_FABRIC_SCENARIO_SCENARIO_H

#include <stddef.h>

#include "fabric/network/fabric.h"
#include "fabric/scenario/values.h"

#define ADV_SCENARIO_WHY      768
#define ADV_SCENARIO_FILE_MAX (16u << 20) /* largest file, bytes */

/* Reads text[0..len) of file `name`. False: why[] has file, line and reason. The caller must call
 * adv_scenario_free() in both cases. */
bool adv_scenario_read(struct adv_scenario *s, const char *name, const char *text, size_t len,
		       char why[ADV_SCENARIO_WHY]);
void adv_scenario_free(struct adv_scenario *s);

/* Replaces a value by that of a text "section.key=value", such as "run.seed=3" or
 * "priority 3.xoff=40kB". If the section may occur many times, sets the key in all of them. False:
 * why[] has the reason. */
bool adv_scenario_set(struct adv_scenario *s, const char *text, char why[ADV_SCENARIO_WHY]);

/* Reads the network from a topology.txt of ns-3 HPCC, text[0..len) of file `name`. Call it after
 * adv_scenario_read() of a file without a topology, before adv_scenario_trace(), at most once.
 * False: why[] has the reason. */
bool adv_scenario_import(struct adv_scenario *s, const char *name, const char *text, size_t len,
			 char why[ADV_SCENARIO_WHY]);

/*
 * Adds the transfers of a trace, text[0..len) of file `name`; each has a connection of its own.
 * They are the flow after those of the file's sections. The first line tells the format: the head
 * of a CSV file with the columns from, to, bytes, start_ps, and maybe dscp (transfers.csv of
 * `adverb sim` is one); a number of flows (ns-3 HPCC's flow.txt); "Nodes" (htsim's connection
 * matrix); or "num_ranks" (GOAL, see goal.c). Call it after adv_scenario_read(), at
 * most once. False: why[] has file, line and reason.
 */
bool adv_scenario_trace(struct adv_scenario *s, const char *name, const char *text, size_t len,
			char why[ADV_SCENARIO_WHY]);

/* Calls fn for each value that differs from its default, in the order of the documentation. Of
 * sections that may occur many times ("flow 0", "flow 1"), only the first `most` of each kind are
 * reported. The texts are valid during the call of fn. */
typedef void adv_scenario_value_fn(void *user, const char *section, const char *key,
				   const char *value);
void adv_scenario_changes(const struct adv_scenario *s, uint32_t most, adv_scenario_value_fn *fn,
			  void *user);

/* Makes the topology and the fabric with all its flows and events. The caller keeps the topology
 * as long as the fabric. False: why[] has the reason, and nothing is allocated. */
bool adv_scenario_build(struct adv_scenario *s, struct adv_topology *t, struct adv_fabric **f,
			char why[ADV_SCENARIO_WHY]);

#endif
