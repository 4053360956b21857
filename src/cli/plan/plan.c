/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of the planners of `adverb plan`. */
#include "cli/plan/plan.h"

static const struct adv_command planners[] = {
	{"headroom", "Compute the buffer that a lossless priority needs above xoff",
	 adv_plan_headroom_main},
	{"buffer", "Check what fits into a switch's buffer; dynamic thresholds",
	 adv_plan_buffer_main},
	{"dcb", "Write the settings of switches and NICs for a scenario", adv_plan_dcb_main},
	{"ecn", "Compute K_min and K_max with which ECN acts before PFC", adv_plan_ecn_main},
	{"deadlock", "Find cyclic buffer dependencies of a routed topology",
	 adv_plan_deadlock_main},
	{"ets", "Compute the bandwidth of each traffic class", adv_plan_ets_main},
	{NULL, NULL, NULL},
};

int adv_plan_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb plan",
		.kind = "planner",
		.commands = planners,
		.usage = "PLANNER [OPTION...]",
		.about = "Plan a lossless Ethernet. Each result is printed with its formula, its "
			 "inputs and its source.\vPlanners:",
		.more = "'adverb plan PLANNER --help' lists the options of each. Formulas, sources "
			"and examples: " ADV_DOC_DIR "/planners.md",
	};

	return adv_command_dispatch(&group, argc, argv);
}
