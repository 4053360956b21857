/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/rules.h"

#include <string.h>

const struct adv_check_rule_text adv_check_rules[ADV_RULES] = {
	[ADV_RULE_SGE_OUTSIDE_REGION] =
		{
			"sge-outside-region",
			"an SGE reaches outside its memory region",
			"addr and length of an SGE must lie inside the region that its lkey names.",
			"ibv_post_send(3), ibv_post_recv(3); IBTA 10.6.3.1, 11.6.2",
			"The request completes with IBV_WC_LOC_PROT_ERR, and the queue pair enters "
			"the error state.",
			"Register all the memory that the SGE covers, or shorten the SGE.",
		},
};

enum adv_check_rule adv_check_rule_named(const char *name)
{
	unsigned rule = 0;

	while (rule < ADV_RULES && strcmp(adv_check_rules[rule].name, name) != 0)
		rule++;
	return (enum adv_check_rule)rule;
}
