/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "link/fault.h"

/* One line: where in the plan, and what. */
static void say_why(char *why, size_t why_len, const struct adv_fault_error *error)
{
	snprintf(why, why_len, "%s, byte %zu: %s", ADV_FAULT_VARIABLE, error->at + 1, error->text);
}

struct adv_link *adv_fault_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
					    char *why, size_t why_len)
{
	const char *text = secure_getenv(ADV_FAULT_VARIABLE);
	struct adv_fault_error error;
	struct adv_fault_plan plan;
	struct adv_link *link;
	char shown[512];

	if (!text || !*text)
		return inner;
	if (!adv_fault_plan_parse(&plan, text, strlen(text), &error)) {
		say_why(why, why_len, &error);
		errno = EINVAL;
		return NULL;
	}
	if (!plan.has_seed) {
		plan.has_seed = true;
		if (getrandom(&plan.seed, sizeof(plan.seed), 0) != sizeof(plan.seed))
			plan.seed = clock();
		plan.seed %= ADV_FAULT_SEEDS;
	}
	link = adv_fault_create(inner, clock, &plan);
	if (!link) {
		snprintf(why, why_len, "no memory for faults");
		errno = ENOMEM;
		return NULL;
	}
	adv_fault_plan_print(&plan, shown, sizeof(shown));
	adv_info("faults on purpose: %s", shown);
	return link;
}
