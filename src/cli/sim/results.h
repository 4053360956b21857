/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A folder with the results of a sweep's runs, which several processes and machines fill. */
#ifndef ADV_CLI_SIM_RESULTS_H
#define ADV_CLI_SIM_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* A run of a sweep, and what its result depends on. */
struct adv_result_key {
	const char *folder;
	uint32_t run;
	uint64_t input;		/* hash of all files and options */
	const char *const *set; /* values of the sweep, "section.key=value" */
	unsigned sets;
};

enum adv_result {
	ADV_RESULT_NONE,  /* the folder has no result of this run */
	ADV_RESULT_FOUND, /* *result is the run's JSON */
	ADV_RESULT_BAD,	  /* an error was printed: the file is of other input, or cannot be read */
};

/* Reads the result of a run. The caller releases *result. */
enum adv_result adv_result_load(const struct adv_result_key *key, struct json_object **result);

/* Writes the result of a run to the folder, which it creates. `result` remains the caller's. A file
 * is complete or absent, whenever the process ends. False: an error was printed. */
bool adv_result_store(const struct adv_result_key *key, struct json_object *result);

#endif
