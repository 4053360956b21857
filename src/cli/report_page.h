/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_REPORT_PAGE_H
#define ADV_CLI_REPORT_PAGE_H

#include "cli/report_data.h"

/* Writes the page: the template with its names replaced. False: no memory. */
bool adv_report_page(const struct adv_report_part *p);

/* Generated from data/report: HTML with {{names}} where adv_report_page() writes. */
extern const char adv_report_template[];

#endif
