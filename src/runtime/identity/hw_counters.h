/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and values of the counters that users see: in sysfs, by netlink and in `adverb stat`. */
#ifndef ADV_RUNTIME_IDENTITY_HW_COUNTERS_H
#define ADV_RUNTIME_IDENTITY_HW_COUNTERS_H

#include <stdbool.h>

#include "runtime/control/counters.h"

/* Returns the name of hardware counter i (the folder hw_counters of sysfs) and its value; NULL:
 * there is no counter i. */
const char *adv_hw_counter(const struct adv_counters *c, unsigned i, uint64_t *value);

/* As adv_hw_counter(), for the counters of one QP: share[] is that of struct adv_object_qp. Returns
 * false if counter i is not kept for each QP. The counts are modulo 2^32. */
bool adv_hw_counter_of_qp(const uint32_t share[ADV_ENGINE_COUNTERS], unsigned i, uint64_t *value);

/* As adv_hw_counter(), for the PortCounters of the InfiniBand Architecture (the folder counters of
 * sysfs). Data counters are in units of four octets. */
const char *adv_hw_counter_of_port(const struct adv_counters *c, unsigned i, uint64_t *value);

#endif
