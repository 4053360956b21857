/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of queue pairs: how long their send requests took. */
#ifndef ADV_CLI_OBSERVE_LATENCIES_H
#define ADV_CLI_OBSERVE_LATENCIES_H

#include "cli/observe/objects.h"

/* Sorts pieces of histograms, objects of ADV_RESOURCE_LATENCY, for adv_latencies_of(). */
void adv_latencies_sort(struct adv_objects *pieces);

/* Reads all histograms, as adv_objects_read(), and sorts them. */
bool adv_latencies_read(struct adv_objects *pieces, struct adv_control *c, uint32_t pid);

/* Adds the histogram of a queue pair to bucket[], modulo 2^32. The pieces are sorted. Programs of
 * an older Adverb, and those under `adverb run --no-latency`, have none. */
void adv_latencies_of(const struct adv_objects *pieces, uint32_t pid, uint32_t qpn,
		      uint64_t bucket[ADV_LATENCY_BUCKETS]);

#endif
