/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the statistics of running targets. It needs no header of verbs. */
#ifndef ADV_STORAGE_NVME_SERVER_STAT_CLIENT_H
#define ADV_STORAGE_NVME_SERVER_STAT_CLIENT_H

#include <stdbool.h>

#include "storage/nvme_target/stats.h"
#include "storage/nvme_server/control_client.h"

/* A namespace, or a host. */
struct adv_nvme_stat_row {
	char nqn[ADV_NVME_NQN_LEN]; /* of the subsystem or of the host; printable */
	uint32_t nsid;		    /* 0: a host */
	uint64_t bytes;		    /* size of a namespace */
	uint64_t controllers;	    /* of a host */
	struct adv_nvme_stats stats;
};

struct adv_nvme_stat {
	char target[ADV_NVME_CONTROL_NAME + 1];
	uint64_t at_ns; /* of adv_clock_ns() */
	struct adv_nvme_stat_row *row;
	size_t count;
};

/* Reads the statistics of a target. False: `why`, and *stat is empty. */
bool adv_nvme_stat_read(const char *target, struct adv_nvme_stat *stat,
			char why[ADV_NVME_CONTROL_REPLY]);
void adv_nvme_stat_free(struct adv_nvme_stat *stat);

/* Returns the row of `last` that is the same namespace or host; NULL: none. */
const struct adv_nvme_stat_row *adv_nvme_stat_find(const struct adv_nvme_stat *last,
						   const struct adv_nvme_stat_row *row);

/* What a row has done in a time. */
struct adv_nvme_rates {
	double reads, writes;		/* a second */
	double read_bytes, write_bytes; /* a second */
	double read_us, write_us;	/* of a command, in the mean; 0: there was none */
	uint64_t errors;
};

/* last NULL: since the start, with `seconds` since then. */
struct adv_nvme_rates adv_nvme_stat_rates(const struct adv_nvme_stat_row *now,
					  const struct adv_nvme_stat_row *last, double seconds);

#endif
