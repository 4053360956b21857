/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory region that a queue pair used last, for fast.c. A memo is valid until any region of
 * the engine changes or disappears: that raises adv_engine.mr_generation.
 */
#ifndef ADV_NIC_FAST_MR_MEMO_H
#define ADV_NIC_FAST_MR_MEMO_H

#include "nic/memory/mr.h"
#include "nic/queue/qp_state.h"

/* Looks up the region that `key` names, and remembers it. False: there is none in the QP's PD.
 * Windows are not remembered, because they have more rules (mw.c). */
bool adv_mr_memo_find(const struct adv_qp *qp, struct adv_mr_memo *memo, uint32_t key);

/* As adv_mr_resolve(), for one bit `need` and a length above 0. NULL: the access is not permitted,
 * or only adv_mr_resolve() and adv_mw_remote() can tell. */
static inline uint8_t *adv_mr_recall(const struct adv_qp *qp, struct adv_mr_memo *memo,
				     uint32_t key, uint64_t va, uint64_t length, int need)
{
	const struct adv_mr *mr;

	if ((memo->generation != qp->engine->mr_generation || memo->mr->key != key) &&
	    !adv_mr_memo_find(qp, memo, key))
		return NULL;
	mr = memo->mr;
	if (!(mr->access & need) || !adv_mr_contains(mr, va, length))
		return NULL;
	return mr->addr + (va - mr->iova);
}

#endif
