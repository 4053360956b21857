/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of a run of `adverb check`: received, compared with the suppressions, printed, and
 * written as JSON. */
#ifndef ADV_CLI_CHECK_REPORT_H
#define ADV_CLI_CHECK_REPORT_H

#include <stdio.h>

#include "abi/check/message.h"
#include "cli/check/suppress.h"
#include "cli/check/symbols.h"
#include "cli/command/json.h"

#define ADV_CHECK_LEVELS 64 /* most levels of a stack, with inlined functions */

struct adv_check_report {
	FILE *out;
	struct adv_symbols *symbols;
	const struct adv_suppressions *suppressions;
	struct json_object *json; /* array of findings */
	unsigned findings, suppressed;
	unsigned leaks; /* of the findings */
	bool advice;	/* report findings whose rule is advice */
};

/* One finding, with symbols instead of addresses. */
struct adv_check_shown {
	const struct adv_check_message *message;
	struct {
		unsigned levels;
		struct adv_symbol level[ADV_CHECK_LEVELS];
		const char *module[ADV_CHECK_LEVELS]; /* path, or NULL */
		uint64_t address[ADV_CHECK_LEVELS];   /* inside the module */
	} stack[ADV_CHECK_STACKS];
};

/* Adds a finding: prints it, unless it is suppressed. */
void adv_check_report_add(struct adv_check_report *r, const struct adv_check_message *m);

#endif
