/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `adverb sim --report`: writes a run as one HTML page, which loads no other file.
 *
 *	sim->report = adv_report_open(sim, path);
 *	between parts of the run, at adv_report_next(): adv_report_sample(sim->report, sim)
 *	adv_report_close(sim->report, sim);
 *	adv_report_discard(sim->report);
 *
 * The report only reads the fabric's state between two events. The results of a run are the same
 * with and without a report. A watcher of the fabric may be set at the same time.
 */
#ifndef ADV_CLI_SIM_REPORT_H
#define ADV_CLI_SIM_REPORT_H

#include "cli/sim/run.h"
#include "fabric/emulator/emulator.h"

struct adv_report;

/* Creates the file. Call it before the run. On failure, prints an error and returns NULL. */
struct adv_report *adv_report_open(const struct adv_sim *sim, const char *path);
/* Returns the virtual time at which the next sample is due, ps. */
uint64_t adv_report_next(const struct adv_report *r);
/* Takes a sample. Call it at the time that adv_report_next() has returned. */
void adv_report_sample(struct adv_report *r, const struct adv_sim *sim);
/* Sets the flows of programs for the page, as adv_report_programs() takes them. They must exist
 * until the page is written. */
void adv_report_set_programs(struct adv_report *r, const struct adv_emulator_flow *flow,
			     uint32_t count);
/* Writes the page and closes the file. If the file cannot be written or there is no memory, prints
 * an error and returns false. */
bool adv_report_close(struct adv_report *r, const struct adv_sim *sim);
/* Frees the report. Removes the file if it was not closed, since it is empty then. NULL is
 * allowed. */
void adv_report_discard(struct adv_report *r);

#endif
