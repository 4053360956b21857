/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/memory/mw_key.h"
#include "nic/memory/paging.h"

/* Copies the window that has this key. False: no window has it. */
static bool copy_window(const struct adv_engine *e, uint32_t key, struct adv_mw *copy)
{
	const struct adv_mr *mr = adv_mr_table_find(&e->tpt->keys, key);

	if (!mr || !mr->window)
		return false;
	adv_tpt_lock_windows(e->tpt);
	*copy = *mr->window;
	adv_tpt_unlock_windows(e->tpt);
	return copy->key.key == key;
}

uint8_t *adv_mw_resolve_type_1(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			       uint64_t va, uint64_t length, int need, enum adv_vendor_err *why)
{
	struct adv_mw mw;

	if (!copy_window(e, key, &mw)) {
		*why = ADV_ERR_LKEY;
		return NULL;
	}
	if (mw.key.pd != pd) {
		*why = ADV_ERR_LKEY_PD;
		return NULL;
	}
	if ((mw.key.access & need) != need)
		return adv_mr_bring_in(e, &mw.key, va, length, need, why);
	if (!adv_mr_contains(&mw.key, va, length)) {
		*why = ADV_ERR_LOCAL_BOUNDS;
		return NULL;
	}
	return mw.key.addr + (va - mw.key.iova);
}

uint8_t *adv_mw_resolve(const struct adv_qp *qp, const struct adv_pd *pd, uint32_t key, uint64_t va,
			uint64_t length, int need, enum adv_vendor_err *why)
{
	struct adv_mw mw;

	if (!copy_window(qp->engine, key, &mw) || mw.qp != qp || mw.pd != pd)
		return NULL;
	if ((mw.key.access & need) != need)
		return adv_mr_bring_in(qp->engine, &mw.key, va, length, need, why);
	if (!adv_mr_contains(&mw.key, va, length)) {
		*why = ADV_ERR_LOCAL_BOUNDS;
		return NULL;
	}
	return mw.key.addr + (va - mw.key.iova);
}
