/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fast/mr_memo.h"

bool adv_mr_memo_find(const struct adv_qp *qp, struct adv_mr_memo *memo, uint32_t key)
{
	const struct adv_mr *mr = adv_mr_table_find(&qp->engine->tpt->keys, key);

	if (!mr || mr->window || mr->key != key || mr->pd != qp->pd)
		return false;
	memo->mr = mr;
	memo->generation = qp->engine->mr_generation;
	return true;
}
