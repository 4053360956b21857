/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of a port that have names of mlx5: in sysfs's hw_counters/, and by netlink. */
#ifndef ADV_PRELOAD_HW_COUNTERS_H
#define ADV_PRELOAD_HW_COUNTERS_H

#include "host/counters.h"

/* The i-th one's name, and its value in *value; NULL: there are not so many. */
const char *adv_hw_counter(const struct adv_counters *c, unsigned i, uint64_t *value);

#endif
