/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of `adverb sim` share: a run, and what is said of it afterwards. */
#ifndef ADV_CLI_SIM_RUN_H
#define ADV_CLI_SIM_RUN_H

#include <stdio.h>

#include "fabric/scenario.h"

struct adv_sim {
	const char *file;
	struct adv_scenario scenario;
	struct adv_topology topology;
	struct adv_fabric *fabric;
	enum adv_fabric_stop stop;
	bool interrupted;
	FILE *pauses; /* CSV, or NULL */
	FILE *queues;
	struct adv_report *report; /* or NULL */
};

/* A flow's transfers, added up. Times of those that ended well. */
struct adv_sim_flow {
	uint32_t done;
	uint32_t failed;
	uint64_t bytes; /* moved, of all */
	uint64_t least; /* ps */
	uint64_t median;
	uint64_t p99;
	uint64_t most;
	uint64_t time; /* ps from its beginning to the end of its last transfer, or of the run */
	uint64_t rate; /* b/s in that time */
};

/* false: no memory. */
bool adv_sim_flow_result(const struct adv_sim *sim, const struct adv_scenario_flow *flow,
			 struct adv_sim_flow *result);

/* Of all switches and hosts together. */
struct adv_sim_totals {
	struct adv_switch_counters sw; /* most_used: of the one that used most */
	struct adv_engine_counters engine;
	uint64_t host_pauses; /* pause frames that hosts had to obey */
	uint64_t rx_dropped;  /* frames, by slow hosts */
};
struct adv_sim_totals adv_sim_add_up(const struct adv_sim *sim);

/* Why the run ended, in words. */
const char *adv_sim_stop_name(const struct adv_sim *sim);

/* To standard output; false: no memory. Nothing depends on the machine or the time of day. */
bool adv_sim_print_text(const struct adv_sim *sim);
bool adv_sim_print_json(const struct adv_sim *sim);

/* The object that adv_sim_print_json() writes; NULL: no memory. */
struct json_object;
struct json_object *adv_sim_to_json(const struct adv_sim *sim);

/* CSV files into a folder, which is made: opens those that are written during the run, and writes
 * the others at its end. False: said on standard error. */
bool adv_sim_csv_open(struct adv_sim *sim, const char *folder);
bool adv_sim_csv_close(struct adv_sim *sim, const char *folder);

#endif
