/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules on what a failed request leaves behind: the content of its buffer, and the fields of its
 * completion, are undefined. All calls need the lock of report.h.
 */
#ifndef ADV_ABI_RULES_FAILED_H
#define ADV_ABI_RULES_FAILED_H

#include "abi/check/call.h"
#include "abi/check/object.h"
#include "abi/check/work.h"

/* A request has failed: remembers the memory that it should have filled. w: its record. */
void adv_check_failed(const struct adv_check_work *w, const struct ibv_wc *wc);

/* A request is being posted. If it sends memory of a failed request as it is, keeps a finding; if
 * it fills such memory, forgets the memory. */
void adv_check_failed_memory(struct adv_check_call *call, const struct adv_check_object *queue,
			     const struct adv_check_work *w);

/* Replaces those fields of a failed completion that are undefined by values that can be recognized.
 * The status is not IBV_WC_SUCCESS. */
void adv_check_failed_fields(struct ibv_wc *wc);

/* Keeps a finding if the request uses a value of adv_check_failed_fields(). True if it does. */
bool adv_check_failed_field_used(struct adv_check_call *call, const struct adv_check_qp *qp,
				 const struct ibv_send_wr *wr);

#endif
