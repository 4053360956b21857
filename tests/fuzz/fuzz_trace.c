/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a trace of transfers, in any of its formats; or a topology.txt, a NUL and a trace.
 * Checks that an error is a printable line, and that a trace that can be built runs.
 */
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/scenario/scenario.h"
#include "fuzz.h"

#define RUN	 (20 * ADV_PS_PER_US)
#define ALONE	 "[network]\ntopology = incast\nsenders = 3\n[run]\nduration = 1ms\n"
#define IMPORTED "[run]\nduration = 1ms\n"

static void check_error(const char *why)
{
	FUZZ_CHECK(why[0]);
	for (const char *p = why; *p; p++)
		FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

/* True if the work is small enough to be built and run thousands of times a minute. */
static bool is_small(const struct adv_scenario *s)
{
	return s->nodes <= 16 && s->trace_count <= 64 && s->goal.ops <= 256;
}

static void run(struct adv_scenario *s)
{
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_topology t;
	struct adv_fabric *f;

	if (!adv_scenario_build(s, &t, &f, why)) {
		check_error(why);
		return;
	}
	adv_fabric_run(f, RUN);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *nul = size ? memchr(text, '\0', size) : NULL;
	size_t head = nul ? (size_t)(nul - text) : 0, skip = nul ? head + 1 : 0;
	const char *scenario = nul ? IMPORTED : ALONE;
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_scenario s;

	FUZZ_CHECK(adv_scenario_read(&s, "x", scenario, strlen(scenario), why));
	if ((nul && !adv_scenario_import(&s, "t", text, head, why)) ||
	    !adv_scenario_trace(&s, "f", text + skip, size - skip, why))
		check_error(why);
	else if (is_small(&s))
		run(&s);
	adv_scenario_free(&s);
	return 0;
}
