/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on sizes: inline-too-long, memlock-limit. All calls need the lock of report.h. */
#ifndef ADV_ABI_RULES_SIZES_H
#define ADV_ABI_RULES_SIZES_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A send request is being posted. */
void adv_check_inline_posted(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct adv_check_work *w);
/* A region was registered. */
void adv_check_region_registered(struct adv_check_call *call, const struct adv_check_mr *mr);

#endif
