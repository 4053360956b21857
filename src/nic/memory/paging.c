/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On-demand paging: regions whose memory may be unmapped and mapped again. Their `access` is 0. So
 * adv_mr_resolve() finds that a right is missing, and calls this code for such regions only. */
#include "nic/memory/domain.h"
#include "nic/memory/paging.h"

void adv_mr_grant(const struct adv_engine *e, struct adv_mr *mr, int access)
{
	mr->granted = access;
	mr->access = access & IBV_ACCESS_ON_DEMAND && e->page_in ? 0 : access;
}

bool adv_mr_is_paged(const struct adv_engine *e, uint32_t key)
{
	const struct adv_mr *mr = adv_mr_table_find(&e->tpt->keys, key);
	bool paged;

	if (!mr || !mr->window)
		return mr && mr->access != mr->granted;
	adv_tpt_lock_windows(e->tpt);
	paged = mr->access != mr->granted;
	adv_tpt_unlock_windows(e->tpt);
	return paged;
}

uint8_t *adv_mr_bring_in(const struct adv_engine *e, const struct adv_mr *mr, uint64_t va,
			 uint64_t length, int need, enum adv_vendor_err *why)
{
	const int writes =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	uint8_t *p = (uint8_t *)((uintptr_t)mr->addr + (va - mr->iova));

	*why = ADV_ERR_LOCAL_ACCESS;
	if ((mr->granted & need) != need)
		return NULL;
	*why = ADV_ERR_LOCAL_BOUNDS;
	if (!adv_mr_contains(mr, va, length))
		return NULL;
	*why = ADV_ERR_LOCAL_UNMAPPED;
	if (!p || (length <= ADV_PAGED_AT_ONCE && !e->page_in(p, length, need & writes)))
		return NULL;
	*why = ADV_ERR_NONE;
	return p;
}

/* The arguments are those of adv_mr_resolve(), so that its tail call of this function moves no
 * register. */
uint8_t *adv_mr_resolve_paged(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			      uint64_t va, uint64_t length, int need, enum adv_vendor_err *why)
{
	const struct adv_mr *mr = adv_mr_table_find(&e->tpt->keys, key);

	assert(mr && mr->key == key && mr->pd == pd);
	return adv_mr_bring_in(e, mr, va, length, need, why);
}

int adv_mr_paged(const struct adv_pd *pd, uint32_t lkey, uint64_t va, uint64_t length,
		 bool to_write, void **where)
{
	const struct adv_mr *mr = adv_mr_table_find(&pd->tpt->keys, lkey);

	if (!mr || adv_mr_key(mr) != lkey)
		return adv_reason(ENOENT, "no region has the lkey 0x%08x", lkey);
	if (mr->window || !(mr->granted & IBV_ACCESS_ON_DEMAND))
		return adv_reason(EINVAL,
				  "the region 0x%08x was registered without IBV_ACCESS_ON_DEMAND",
				  lkey);
	if (mr->pd != pd || (to_write && !(mr->granted & IBV_ACCESS_LOCAL_WRITE)))
		return adv_reason(EPERM,
				  "the region 0x%08x belongs to another PD, or may not be written",
				  lkey);
	if (!adv_mr_contains(mr, va, length))
		return adv_reason(EFAULT, "the range is not inside the region 0x%08x", lkey);
	*where = (void *)((uintptr_t)mr->addr + (va - mr->iova));
	return 0;
}
