/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads fault plans of the command line, so that an error is reported before the program starts. */
#include "cli/command/command.h"

#include <stdlib.h>
#include <sys/random.h>

#include "nic/fault/environment.h"

bool adv_cli_read_plan(const char *who, const char *text, struct adv_fault_plan *plan)
{
	char shown[ADV_FAULT_TEXT_MAX];
	struct adv_fault_error error;

	if (!adv_fault_plan_parse(plan, text, strlen(text), &error)) {
		adv_fault_error_print(&error, text, strlen(text), shown, sizeof(shown));
		fprintf(stderr, "adverb %s: %s\n", who, shown);
		return false;
	}
	if (!plan->has_seed) {
		if (getrandom(&plan->seed, sizeof(plan->seed), 0) != sizeof(plan->seed))
			return false;
		plan->has_seed = true;
		plan->seed %= ADV_FAULT_SEEDS;
	}
	return true;
}

bool adv_cli_set_faults(const char *text)
{
	char shown[ADV_FAULT_TEXT_MAX];
	struct adv_fault_plan plan;

	if (!adv_cli_read_plan("run: --fault", text, &plan))
		return false;
	adv_fault_plan_print(&plan, shown, sizeof(shown));
	fprintf(stderr, "adverb run: faults: %s\n", shown);
	return setenv(ADV_FAULT_VARIABLE, shown, 1) == 0;
}
