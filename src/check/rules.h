/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of `adverb check`: what each finds, and the fixed texts of its report. The section of a
 * rule in docs/check.md has the rule's name. */
#ifndef ADV_CHECK_RULES_H
#define ADV_CHECK_RULES_H

/* In the order of the table in rules.c and of the sections in docs/check.md. */
enum adv_check_rule {
	ADV_RULE_SGE_OUTSIDE_REGION,
	ADV_RULES,
};

struct adv_check_rule_text {
	const char *name;
	const char *title;    /* what the program does wrong, one line */
	const char *why;      /* why it is wrong */
	const char *source;   /* where the standard or a manual says so */
	const char *hardware; /* what a hardware NIC does */
	const char *remedy;   /* what to change */
};

/* By enum adv_check_rule. */
extern const struct adv_check_rule_text adv_check_rules[ADV_RULES];

/* Returns the rule of this name, or ADV_RULES. */
enum adv_check_rule adv_check_rule_named(const char *name);

#endif
