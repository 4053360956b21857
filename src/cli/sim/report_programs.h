/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_SIM_REPORT_PROGRAMS_H
#define ADV_CLI_SIM_REPORT_PROGRAMS_H

#include <stdio.h>

#include "fabric/emulator/emulator.h"

/* Writes the table of the flows of programs, which are sorted, as HTML; nothing if there is none.
 */
void adv_report_programs(FILE *out, const struct adv_emulator_flow *flow, uint32_t count);

#endif
