/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on memory keys: stale-lkey, stale-rkey, dereg-while-posted. All calls need the
 * lock of report.h. */
#ifndef ADV_ABI_RULES_KEYS_H
#define ADV_ABI_RULES_KEYS_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A request is being posted. owner: the record of its queue pair or SRQ. */
void adv_check_keys_posted(struct adv_check_call *call, const struct adv_check_object *owner,
			   struct adv_check_work *w);
/* A send request has ended with this status. */
void adv_check_keys_completed(struct adv_check_call *call, const struct adv_check_qp *qp,
			      const struct adv_check_work *w, enum ibv_wc_status status);
/* A region is being deregistered. */
void adv_check_keys_deregistering(struct adv_check_call *call, struct adv_check_mr *mr);
/* A region was deregistered: keeps its keys, among those of the newest such regions. */
void adv_check_keys_deregistered(const struct adv_check_mr *mr);

#endif
