/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan: its planners. */
#include "cli/plan.h"

static const struct adv_command planners[] = {
	{"headroom", "Buffer that a lossless priority needs behind xoff", adv_plan_headroom_main},
	{"buffer", "What fits into a switch's buffer, and dynamic thresholds",
	 adv_plan_buffer_main},
	{"ecn", "K_min, K_max such that ECN acts before PFC", adv_plan_ecn_main},
	{"deadlock", "Cyclic buffer dependencies of a routed topology", adv_plan_deadlock_main},
	{"ets", "What each traffic class gets of a link", adv_plan_ets_main},
	{NULL, NULL, NULL},
};

int adv_plan_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb plan",
		.kind = "planner",
		.commands = planners,
		.usage = "PLANNER [OPTION...]",
		.about = "Plans a lossless Ethernet. Each result comes with its formula, the "
			 "numbers put in, and where the formula is from.\vPlanners:",
		.more = "'adverb plan PLANNER --help' lists the options of each. Formulas, sources "
			"and "
			"examples: " ADV_DOC_DIR "/planners.md",
	};

	return adv_command_dispatch(&group, argc, argv);
}
