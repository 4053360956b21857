/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A run of `adverb sim`, and its results. */
#ifndef ADV_CLI_SIM_RUN_H
#define ADV_CLI_SIM_RUN_H

#include <stdio.h>

#include "fabric/scenario/scenario.h"

/* The first pause that a switch has sent. */
struct adv_sim_pause {
	bool found;
	uint32_t sw;
	uint16_t port;
	uint64_t at; /* ps */
};

struct adv_sim {
	const char *file;
	struct adv_scenario scenario;
	struct adv_topology topology;
	struct adv_fabric *fabric;
	enum adv_fabric_stop stop;
	bool interrupted;
	bool quiet;   /* no progress bar */
	FILE *pauses; /* CSV file, or NULL */
	FILE *queues;
	FILE *cables;
	struct adv_sim_series
		*series;	   /* if there are CSV files or a JSON file of series; or NULL */
	struct adv_report *report; /* or NULL */
	struct adv_sim_pause first_pause; /* set if there are CSV files or a report */
};

/* The sums of a flow's transfers. Times are those of successful transfers. */
struct adv_sim_flow {
	uint32_t done;
	uint32_t failed;
	uint64_t bytes; /* payload of all transfers, bytes */
	uint64_t least; /* ps */
	uint64_t median;
	uint64_t p99;
	uint64_t most;
	uint64_t time; /* from the flow's start to the end of its last transfer or of the run, ps */
	uint64_t rate; /* mean rate in `time`, b/s */
};

/* Computes the sums of a flow. False: no memory. */
bool adv_sim_flow_result(const struct adv_sim *sim, const struct adv_scenario_flow *flow,
			 struct adv_sim_flow *result);

#define ADV_SIM_BUCKETS 6

/* Slowdowns of the transfers of more than `above` and at most `to` bytes, multiples of
 * 1 / ADV_RATIO_ONE. */
struct adv_sim_bucket {
	uint64_t above;
	uint64_t to;
	uint64_t count;
	uint64_t mean;
	uint64_t median;
	uint64_t p95;
	uint64_t p99;
};

/* Returns the index, among `count` sorted values, of the smallest value that `percent` of them do
 * not exceed (nearest rank). count is not 0. */
uint64_t adv_sim_rank(uint64_t count, unsigned percent);

/* Computes the slowdowns of all transfers that have succeeded, by size. False: no memory. */
bool adv_sim_slowdown(const struct adv_sim *sim, struct adv_sim_bucket bucket[ADV_SIM_BUCKETS]);

/* Sums over all switches and hosts. */
struct adv_sim_totals {
	struct adv_switch_counters sw; /* most_used: maximum of all switches */
	struct adv_engine_counters engine;
	uint64_t host_pauses; /* pause frames received by hosts */
	uint64_t rx_dropped;  /* frames dropped by slow hosts */
};
struct adv_sim_totals adv_sim_add_up(const struct adv_sim *sim);

/* Returns in words why the run ended. */
const char *adv_sim_stop_name(const struct adv_sim *sim);

/* Prints the results as text to standard output. The output does not depend on the machine or the
 * time of day. False: no memory. */
bool adv_sim_print_text(const struct adv_sim *sim);
/* As adv_sim_print_text(), but prints JSON. */
bool adv_sim_print_json(const struct adv_sim *sim);

/* Returns the object that adv_sim_print_json() writes; NULL: no memory. */
struct json_object;
struct json_object *adv_sim_to_json(const struct adv_sim *sim);

/* Creates a folder for CSV files, and opens the files that are written during the run. On failure,
 * prints an error and returns false. */
bool adv_sim_csv_open(struct adv_sim *sim, const char *folder);
/* Closes the CSV files that the run has written, and writes transfers.csv. On failure, prints an
 * error and returns false. */
bool adv_sim_csv_close(struct adv_sim *sim, const char *folder);

/* tables.c: write the rows of a CSV file. */
void adv_sim_write_connections(const struct adv_sim *sim, FILE *f);
void adv_sim_write_pauses(const struct adv_sim *sim, FILE *f);
void adv_sim_write_slowdown(const struct adv_sim_bucket bucket[ADV_SIM_BUCKETS], FILE *f);

#endif
