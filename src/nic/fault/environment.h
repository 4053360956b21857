/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fault plan of a process, in its environment. */
#ifndef ADV_NIC_FAULT_ENVIRONMENT_H
#define ADV_NIC_FAULT_ENVIRONMENT_H

#include "nic/fault/plan.h"

#define ADV_FAULT_VARIABLE "ADVERB_FAULT"

/*
 * Reads the plan of the environment. If the plan has no seed, gives it a random seed, which is the
 * same in all libraries of the process. Returns 0; ENOENT: there is no plan; EINVAL: the plan is
 * not valid, and `why` explains the error in one line.
 */
int adv_fault_environment_read(struct adv_fault_plan *plan, char *why, size_t why_len);

#endif
