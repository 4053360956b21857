/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb run --fault: the plan is read here, so that what is wrong with it is said at once. */
#include "cli/command.h"

#include <stdlib.h>
#include <sys/random.h>

#include "link/fault.h"

bool adv_cli_set_faults(const char *text)
{
	char shown[ADV_FAULT_TEXT_MAX];
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (!adv_fault_plan_parse(&plan, text, strlen(text), &error)) {
		adv_fault_error_print(&error, text, strlen(text), shown, sizeof(shown));
		fprintf(stderr, "adverb run: --fault: %s\n", shown);
		return false;
	}
	if (!plan.has_seed) {
		plan.has_seed = true;
		if (getrandom(&plan.seed, sizeof(plan.seed), 0) != sizeof(plan.seed))
			return false;
		plan.seed %= 1000000; /* to be typed again */
	}
	adv_fault_plan_print(&plan, shown, sizeof(shown));
	fprintf(stderr, "adverb run: faults: %s\n", shown);
	return setenv(ADV_FAULT_VARIABLE, shown, 1) == 0;
}
