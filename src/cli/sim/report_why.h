/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says in sentences why a run was slow, from its data. */
#ifndef ADV_CLI_SIM_REPORT_WHY_H
#define ADV_CLI_SIM_REPORT_WHY_H

#include <stdio.h>

#include "cli/sim/report_bottleneck.h"

/* Writes sentences to `out`: how many connections end behind the bottleneck, who paused whom first
 * and who was paused longest, and which transfers suffered. */
void adv_report_why(FILE *out, const struct adv_sim *sim, const struct adv_record *record,
		    const struct adv_report_bottleneck *b);

#endif
