/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_SIM_REPORT_DATA_H
#define ADV_CLI_SIM_REPORT_DATA_H

#include "cli/command/json.h"
#include "cli/sim/report_record.h"
#include "fabric/emulator/emulator.h"

/* The input of a report's page. */
struct adv_report_part {
	FILE *out;
	const struct adv_sim *sim;
	const struct adv_record *record;
	const struct adv_emulator_flow *programs; /* flows of programs, see adv_report_programs() */
	uint32_t program_flows;
};

/* Returns the data that the page's script draws. All numbers are integers, so the data of a run do
 * not depend on the compiler. NULL: no memory. */
struct json_object *adv_report_data(const struct adv_report_part *p);

#endif
