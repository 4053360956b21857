/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is the text of a topology. Checks that an error is printable and names an existing
 * line, that an accepted topology can be searched, that the found cycle is closed, and that up-down
 * routing has no cycle.
 */
#include <string.h>

#include "fabric/plan/deadlock.h"
#include "fuzz.h"

static void check_error(const struct adv_plan_error *error, const char *data, size_t size)
{
	uint32_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	FUZZ_CHECK(error->line <= lines);
	FUZZ_CHECK(error->text[0] && strlen(error->text) < sizeof(error->text));
	for (const char *p = error->text; *p; p++)
		FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

static void check_plan(const struct adv_plan_topology *t, const struct adv_plan_deadlock *d)
{
	for (uint32_t i = 0; i < d->cycle_length; i++) {
		const struct adv_plan_dependency *e = &d->dependency[d->cycle[i]];
		uint32_t next = d->cycle[(i + 1) % d->cycle_length];

		FUZZ_CHECK(e->to == d->dependency[next].from);
		FUZZ_CHECK(adv_plan_to(t, e->from / 8) == adv_plan_from(t, e->to / 8));
		FUZZ_CHECK(!t->link[e->from / 16].down && !t->link[e->to / 16].down);
	}
	FUZZ_CHECK((d->turns > 0) == (d->cycle_length > 0));
	if (t->routing == ADV_PLAN_UPDOWN && t->hops == 0)
		FUZZ_CHECK(d->cycle_length == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct adv_plan_error error = {.line = 0};
	struct adv_plan_topology *t = adv_plan_topology_parse((const char *)data, size, &error);
	struct adv_plan_deadlock *d;

	if (!t) {
		check_error(&error, (const char *)data, size);
		return 0;
	}
	d = adv_plan_deadlock(t, &error);
	if (d)
		check_plan(t, d);
	else
		check_error(&error, (const char *)data, size);
	adv_plan_deadlock_free(d);
	adv_plan_topology_free(t);
	return 0;
}
