/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "link/fault.h"

/* One line: where in the plan, and what. */
static void say_why(char *why, size_t why_len, const struct adv_fault_error *error)
{
	snprintf(why, why_len, "%s, byte %zu: %s", ADV_FAULT_VARIABLE, error->at + 1, error->text);
}

/*
 * libibverbs and librdmacm each have a copy of this file, and nothing of theirs in common but what
 * the kernel gave the process. Of that only a mixture is shown.
 */
static uint64_t seed_of_process(void)
{
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t part[2] = {0};
	struct adv_rng rng;

	if (random)
		memcpy(part, random, sizeof(part));
	adv_rng_seed(&rng, part[0] ^ part[1] ^ (uint64_t)getpid());
	return adv_rng_below(&rng, ADV_FAULT_SEEDS);
}

int adv_fault_environment(struct adv_fault_plan *plan, char *why, size_t why_len)
{
	const char *text = secure_getenv(ADV_FAULT_VARIABLE);
	struct adv_fault_error error;

	if (!text || !*text)
		return ENOENT;
	if (!adv_fault_plan_parse(plan, text, strlen(text), &error)) {
		say_why(why, why_len, &error);
		return EINVAL;
	}
	if (!plan->has_seed) {
		plan->has_seed = true;
		plan->seed = seed_of_process();
	}
	return 0;
}

struct adv_link *adv_fault_from_environment(struct adv_link *inner, uint64_t (*clock)(void),
					    char *why, size_t why_len)
{
	struct adv_fault_plan plan;
	struct adv_link *link;
	char shown[512];
	int err = adv_fault_environment(&plan, why, why_len);

	if (err == ENOENT)
		return inner;
	errno = err;
	if (err)
		return NULL;
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
