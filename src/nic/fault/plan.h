/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fault language (docs/faults.md): parses its text into a structure, and prints the structure
 * as text. Pure: no allocation, no system call. The text may be arbitrary.
 */
#ifndef ADV_NIC_FAULT_PLAN_H
#define ADV_NIC_FAULT_PLAN_H

#include "nic/fault/rule.h"

#define ADV_FAULT_RULES	   32
#define ADV_FAULT_TEXT_MAX 65536   /* bytes of a plan; longer texts are refused */
#define ADV_FAULT_SEEDS	   1000000 /* Adverb chooses smaller seeds, because people retype them */

struct adv_fault_plan {
	bool has_seed;
	uint64_t seed;
	unsigned count;
	struct adv_fault_rule rule[ADV_FAULT_RULES];
};

struct adv_fault_error {
	size_t at;	/* offset of the error in the text */
	char text[200]; /* one line without a newline: what is wrong, and what was expected */
};

/*
 * Parses a plan of len bytes. An empty text is a plan without rules. If it returns false, *error
 * describes the first error, and *plan is unspecified.
 */
bool adv_fault_plan_parse(struct adv_fault_plan *plan, const char *text, size_t len,
			  struct adv_fault_error *error);

/*
 * Writes the plan as text that parses to the same plan. Returns the length as snprintf(3) does; the
 * length of a parsed plan is below ADV_FAULT_TEXT_MAX.
 */
size_t adv_fault_plan_print(const struct adv_fault_plan *plan, char *out, size_t room);

/*
 * Writes three lines for a person: the error, the line of the plan that contains it, and a caret
 * below the place. Returns the length as snprintf(3) does.
 */
size_t adv_fault_error_print(const struct adv_fault_error *error, const char *text, size_t len,
			     char *out, size_t room);

#endif
