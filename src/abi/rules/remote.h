/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules on requests that change remote memory: overlapping-writes, atomic-and-write. They compare
 * the requests of this process: those of other queue pairs that are in flight with the same rkey.
 * Requests of one queue pair are executed in order. All calls need the lock of report.h.
 */
#ifndef ADV_ABI_RULES_REMOTE_H
#define ADV_ABI_RULES_REMOTE_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A send request is being posted. */
void adv_check_remote_posted(struct adv_check_call *call, const struct adv_check_qp *qp,
			     struct adv_check_work *w);

#endif
