/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_SIM_REPORT_PAGE_H
#define ADV_CLI_SIM_REPORT_PAGE_H

#include "cli/sim/report_data.h"

/* Writes the page: the template, with each {{name}} replaced. False: no memory. */
bool adv_report_page(const struct adv_report_part *p);

/* The HTML template, generated from data/report. */
extern const char adv_report_template[];

#endif
