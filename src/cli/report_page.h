/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the report's page. Each writes a figure, or says in a sentence why there is none;
 * false: no memory. */
#ifndef ADV_CLI_REPORT_PAGE_H
#define ADV_CLI_REPORT_PAGE_H

#include "cli/report_record.h"

struct adv_report_part {
	FILE *out;
	const struct adv_sim *sim;
	const struct adv_record *record;
};

/* report_page.c: all of it. */
bool adv_report_page(const struct adv_report_part *p);

/* report_network.c: the topology, links coloured by how busy they were, and the deadlock. */
bool adv_report_network(const struct adv_report_part *p);

/* report_queues.c */
bool adv_report_queues(const struct adv_report_part *p);
bool adv_report_pauses(const struct adv_report_part *p);

/* report_flows.c: rates, completion times. */
bool adv_report_rates(const struct adv_report_part *p);
bool adv_report_times(const struct adv_report_part *p);
bool adv_report_marks(const struct adv_report_part *p);

#endif
