/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs a scenario with all combinations of given values, and compares the results. */
#ifndef ADV_CLI_SIM_SWEEP_H
#define ADV_CLI_SIM_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ADV_SWEEP_AXES	  8
#define ADV_SWEEP_RUNS	  100000u
#define ADV_SWEEP_METRICS 48
#define ADV_SWEEP_NAME	  40

/* A key of the sweep and its values. */
struct adv_sweep_axis {
	char *key;  /* "section.key" */
	char **set; /* "section.key=value", for adv_scenario_set() */
	uint32_t values;
	bool is_seed; /* run.seed: its values are repetitions of the same case */
};

struct adv_sweep {
	struct adv_sweep_axis axis[ADV_SWEEP_AXES];
	unsigned axes;
	uint32_t runs;	/* number of combinations */
	uint32_t seeds; /* runs of a case */
	char metric[ADV_SWEEP_METRICS][ADV_SWEEP_NAME];
	unsigned metrics;
	double *value;	     /* by run and metric; NaN: the run has none */
	const char *results; /* folder of results, or NULL */
	uint64_t input;	     /* hash of all files and options; results of other input are refused */
	unsigned part;	     /* runs part, part + parts, part + 2 parts and so on are done */
	unsigned parts;	     /* 1: all runs */
};

/* Median of a case's runs, and the 95 % confidence interval of the median by order statistics. */
struct adv_sweep_summary {
	double median; /* NaN: no run has the metric */
	double low;    /* NaN: less than 6 runs */
	double high;
	uint32_t runs;
};

/* Parses "key=a,b,c; key=1..20". On error prints the reason and returns false. The caller must call
 * adv_sweep_free() in both cases. */
bool adv_sweep_parse(struct adv_sweep *s, const char *text);
void adv_sweep_free(struct adv_sweep *s);

/* Returns the value of an axis in a run, "section.key=value". The last axis changes first, but the
 * seeds of a case are neighbours: run.seed changes before all others. */
const char *adv_sweep_set(const struct adv_sweep *s, uint32_t run, unsigned axis);

/* Runs the scenario with the values set[0..count), and writes its JSON to `out`. Returns an exit
 * status. It is called in a process of its own. */
typedef int adv_sweep_run_fn(void *user, const char *const *set, unsigned count, FILE *out);

/* Runs all combinations of the part in `jobs` processes, except those whose results are in the
 * folder, and fills in the metrics. Returns an exit status; a failed run has printed its reason. */
int adv_sweep_run(struct adv_sweep *s, unsigned jobs, adv_sweep_run_fn *run, void *user);

/* Summarizes a metric of the runs first .. first + s->seeds - 1. False: no memory. */
bool adv_sweep_summarize(const struct adv_sweep *s, uint32_t first, unsigned metric,
			 struct adv_sweep_summary *summary);

/* compare.c: print the comparison as text or JSON to standard output, or write it as CSV
 * (runs.csv, cases.csv) or as an HTML page. On failure they print a reason and return false. */
bool adv_sweep_print_text(const struct adv_sweep *s);
bool adv_sweep_print_json(const struct adv_sweep *s, const char *file);
bool adv_sweep_write_csv(const struct adv_sweep *s, const char *folder);
bool adv_sweep_write_page(const struct adv_sweep *s, const char *file, const char *page);

#endif
