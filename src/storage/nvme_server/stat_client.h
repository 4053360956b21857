/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The statistics of running targets. It needs no header of verbs. */
#ifndef ADV_STORAGE_NVME_SERVER_STAT_CLIENT_H
#define ADV_STORAGE_NVME_SERVER_STAT_CLIENT_H

#include "storage/kit/stat.h"
#include "storage/nvme_target/stats.h"

/* The first list has the namespaces with their sizes, the second one the hosts with the numbers of
 * their controllers. The counts are those of struct adv_nvme_stats. */
extern const struct adv_kit_stat_kind adv_nvme_stat_kind;

/* What a row has done in a time. */
struct adv_nvme_rates {
	double reads, writes;		/* a second */
	double read_bytes, write_bytes; /* a second */
	double read_us, write_us;	/* of a command, in the mean; 0: there was none */
	uint64_t errors;
};

/* last NULL: since the start, with `seconds` since then. */
struct adv_nvme_rates adv_nvme_stat_rates(const struct adv_kit_stat_row *now,
					  const struct adv_kit_stat_row *last, double seconds);

#endif
