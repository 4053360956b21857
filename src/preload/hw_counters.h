/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of a port under the names that mlx5 uses, for hw_counters/ of sysfs and for netlink.
 */
#ifndef ADV_PRELOAD_HW_COUNTERS_H
#define ADV_PRELOAD_HW_COUNTERS_H

#include "host/counters.h"

/* Returns the name of counter i, and its value in *value. NULL if there are fewer counters. */
const char *adv_hw_counter(const struct adv_counters *c, unsigned i, uint64_t *value);

#endif
