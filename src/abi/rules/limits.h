/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on what common cards have less of than this device. The sources of the limits are in
 * docs/check.md. A program that has queried the device is taken to keep to those limits that it
 * finds there. */
#ifndef ADV_ABI_RULES_LIMITS_H
#define ADV_ABI_RULES_LIMITS_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* Checks the capabilities that a new queue pair was requested with. */
void adv_check_cap_limits(struct adv_check_call *call, const struct adv_check_qp *qp);

/* Checks the numbers of READs and atomics that ibv_modify_qp() has set. */
void adv_check_rd_atomic_limit(struct adv_check_call *call, const struct adv_check_qp *qp,
			       const struct ibv_qp_attr *attr, int mask);

#endif
