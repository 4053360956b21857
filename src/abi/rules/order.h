/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the order of requests: fences, states, and threads that post to one queue pair. */
#ifndef ADV_ABI_RULES_ORDER_H
#define ADV_ABI_RULES_ORDER_H

#include "abi/check/call.h"
#include "abi/check/object.h"
#include "abi/check/work.h"

/* Checks whether a send request that is being posted must wait for a READ or an atomic before it.
 * w: its record, the newest of qp's send queue. Needs the lock of report.h. */
void adv_check_fence(struct adv_check_call *call, const struct adv_check_qp *qp,
		     const struct adv_check_work *w, unsigned send_flags);

/* Checks whether the queue pair may post in its state. Needs the lock. */
void adv_check_post_state(struct adv_check_call *call, const struct adv_check_qp *qp, bool is_recv);

/* The calling thread begins to post to qp's send queue. True if another thread is posting to it.
 * Call it without the lock; adv_check_poster_leaves() follows in the same thread. */
bool adv_check_poster_enters(const struct ibv_qp *qp);
void adv_check_poster_leaves(const struct ibv_qp *qp);

/* Two threads post to qp at the same time: reported once. Needs the lock. */
void adv_check_posters_meet(struct adv_check_call *call, struct adv_check_qp *qp);

#endif
