/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of the device at one time, with the counters of each process. adverbd has all of it, so
 * a sample does not involve the programs. */
#ifndef ADV_CLI_OBSERVE_SAMPLE_H
#define ADV_CLI_OBSERVE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/control/control.h"
#include "runtime/identity/rails.h"

/* A process: all its slots together. */
struct adv_sample_process {
	uint32_t pid; /* 0: the process is in a PID namespace that adverbd cannot see */
	uint32_t uid;
	uint32_t slots;
	bool counted;	 /* false: the process belongs to another user, the counters are 0 */
	uint64_t age_ms; /* of the oldest slot */
	char comm[16];
	struct adv_counters counters;
};

/* adv_sample_free() releases the memory. */
struct adv_sample {
	uint64_t at; /* the middle of the time in which it was read, adv_clock_ns() */
	struct adv_control_status status;
	struct adv_counters total; /* of all processes, also ended ones */
	struct adv_gid_table gids;
	const struct adv_rail_list *rails;	 /* of the tool ... */
	struct adv_counters rail[ADV_RAILS_MAX]; /* ... and the counters of each */
	struct adv_sample_process *process;	 /* in the order of their first slots */
	size_t count;
};

/* Reads a sample. Slots of processes without a PID form one process for each name. 0 or errno:
 * ECONNRESET: adverbd ended; ENOMEM; EAGAIN: the GID table was being written; EINVAL:
 * ADVERB_DEVICES is not valid, which was printed. Call adv_sample_free() in either case. */
int adv_sample_read(struct adv_sample *s, struct adv_control *c);
void adv_sample_free(struct adv_sample *s);

#endif
