/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "transport/mr_memo.h"

bool adv_mr_memo_find(const struct adv_qp *qp, struct adv_mr_memo *memo, uint32_t key)
{
	const struct adv_mr_table *table = &qp->engine->mrs;
	const struct adv_mr *mr = adv_mr_table_find(table, key);

	if (!mr || mr->key != key || mr->pd != qp->pd || mr->window)
		return false;
	memo->mr = mr;
	memo->generation = table->generation;
	return true;
}
