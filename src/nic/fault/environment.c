/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/rng.h"

/* Writes one line: the place in the plan, and the error. */
static void describe_error(char *why, size_t why_len, const struct adv_fault_error *error)
{
	snprintf(why, why_len, "%s, byte %zu: %s", ADV_FAULT_VARIABLE, error->at + 1, error->text);
}

/*
 * Returns a random seed. libibverbs and librdmacm each contain a copy of this file and share no
 * memory. So both derive the seed from the process ID and from the random bytes that the kernel
 * gave the process (AT_RANDOM). The C library takes its stack canary from these bytes, so the seed
 * does not reveal them.
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

int adv_fault_environment_read(struct adv_fault_plan *plan, char *why, size_t why_len)
{
	const char *text = secure_getenv(ADV_FAULT_VARIABLE);
	struct adv_fault_error error;

	if (!text || !*text)
		return ENOENT;
	if (!adv_fault_plan_parse(plan, text, strlen(text), &error)) {
		describe_error(why, why_len, &error);
		return EINVAL;
	}
	if (!plan->has_seed) {
		plan->has_seed = true;
		plan->seed = seed_of_process();
	}
	return 0;
}
