/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `adverb sim --report`: a run as one HTML page that loads nothing.
 *
 *	sim->report = adv_report_open(sim, path);
 *	between parts of the run, at adv_report_next(): adv_report_sample(sim->report, sim)
 *	adv_report_close(sim->report, sim);
 *	adv_report_discard(sim->report);
 *
 * It reads the fabric's state between two events and changes nothing of the run: the results are
 * the same without it. A watcher of the fabric may be set at the same time.
 */
#ifndef ADV_CLI_REPORT_H
#define ADV_CLI_REPORT_H

#include "cli/sim_run.h"

struct adv_report;

/* Makes the file, before the run. NULL: said on standard error. */
struct adv_report *adv_report_open(const struct adv_sim *sim, const char *path);
/* Virtual time, ps, at which the next sample is due. */
uint64_t adv_report_next(const struct adv_report *r);
/* To be called when it is that time. */
void adv_report_sample(struct adv_report *r, const struct adv_sim *sim);
/* Writes the page and closes the file; false: it could not be written, or there was no memory, and
 * it was said on standard error. */
bool adv_report_close(struct adv_report *r, const struct adv_sim *sim);
/* Frees all. A file that was not closed is empty, and is removed. NULL is allowed. */
void adv_report_discard(struct adv_report *r);

#endif
