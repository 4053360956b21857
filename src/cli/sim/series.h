/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time series of cables and queues: rows of cables.csv and queues.csv, and a JSON file. */
#ifndef ADV_CLI_SIM_SERIES_H
#define ADV_CLI_SIM_SERIES_H

#include "cli/sim/run.h"

/* Prepares the series of a run that has CSV files or `json`, the name of a file or NULL. False: no
 * memory. */
bool adv_sim_series_open(struct adv_sim *sim, const char *json);

/* Takes a sample at the present time. Rows of a cable's direction are left out if nothing has moved
 * since the last sample and nothing waits; rows of an empty queue are left out. */
void adv_sim_series_sample(struct adv_sim *sim);

/* Takes a last sample of the cables, writes the JSON file and frees the series. On failure prints
 * an error and returns false. */
bool adv_sim_series_close(struct adv_sim *sim);

/* Frees the series of a run that failed, if there are any. */
void adv_sim_series_discard(struct adv_sim *sim);

#endif
