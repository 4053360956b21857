/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the SGEs of a request that is being posted: sge-outside-region,
 * local-write-missing. */
#ifndef ADV_ABI_RULES_SGE_H
#define ADV_ABI_RULES_SGE_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* Checks the SGEs of a request. queue: the record of the queue pair or SRQ. */
void adv_check_sges(struct adv_check_call *call, const struct adv_check_object *queue,
		    const struct adv_check_work *w);

#endif
