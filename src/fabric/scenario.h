/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A simulation as a file says it: sections in brackets, lines `key = value`, # begins a comment.
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
 * Strict: an unknown section or key, a value of another kind or out of its range, a key said twice
 * is an error that names file and line, and what was expected. [flow], [storm], [slow], [loss],
 * [link], [route] and [map] may be there many times, each is one more. docs/simulator.md has all
 *keys.
 */
#ifndef ADV_FABRIC_SCENARIO_H
#define ADV_FABRIC_SCENARIO_H

#include <stddef.h>

#include "fabric/fabric.h"
#include "fabric/scenario_values.h"

#define ADV_SCENARIO_WHY      320
#define ADV_SCENARIO_FILE_MAX (16u << 20) /* bytes of a file */

/* Reads text[0..len) as file `name`. False: why[] says in a line where and what; the scenario is
 * then to be freed as well. */
bool adv_scenario_read(struct adv_scenario *s, const char *name, const char *text, size_t len,
		       char why[ADV_SCENARIO_WHY]);
void adv_scenario_free(struct adv_scenario *s);

/* "section.key=value", as if it stood in the file instead of what does: "run.seed=3",
 * "priority 3.xoff=40kB"; of a section that is there many times, in all of them. */
bool adv_scenario_set(struct adv_scenario *s, const char *text, char why[ADV_SCENARIO_WHY]);

/* Calls fn for what the scenario says that is not so by default, in the order of its documentation;
 * of sections that are there many times ("flow 0", "flow 1"), for the first `most`. The texts are
 * good during the call. */
typedef void adv_scenario_value_fn(void *user, const char *section, const char *key,
				   const char *value);
void adv_scenario_changes(const struct adv_scenario *s, uint32_t most, adv_scenario_value_fn *fn,
			  void *user);

/*
 * Makes the topology and the fabric with all that is to happen. The topology must stay as long as
 * the fabric. False: why[] says what cannot be; nothing is left.
 */
bool adv_scenario_build(struct adv_scenario *s, struct adv_topology *t, struct adv_fabric **f,
			char why[ADV_SCENARIO_WHY]);

#endif
