/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_advise_mr(): populates pages of regions with on-demand paging before requests use them. The
 * pages are present when the call returns, with and without IBV_ADVISE_MR_FLAG_FLUSH.
 */
#include "runtime/device/pages.h"
#include "abi/verbs/objects.h"

/* Populates the pages of one scatter/gather element. 0 or errno, see ibv_advise_mr(3). */
static int advise_sge(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      const struct ibv_sge *sge)
{
	bool to_write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	void *where;
	int err;

	if (!adv_ibv_enter(pd->context))
		return ADV_EFOREIGN;
	err = adv_mr_paged(adv_ibv_pd_of(pd)->pd, sge->lkey, sge->addr, sge->length, to_write,
			   &where);
	adv_ibv_leave(pd->context);
	/* The lock is not held, because populating pages may take long. NO_FAULT covers present
	 * pages only, so it needs no action. */
	if (err || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || sge->length == 0)
		return err;
	if (adv_pages_populate(where, sge->length, to_write))
		return adv_reason(EFAULT, "%u bytes at %p are not mapped%s", sge->length, where,
				  to_write ? ", or read-only" : "");
	return 0;
}

int adv_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg_list, uint32_t num_sge)
{
	int err = 0;

	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return adv_ibv_refuse(
			adv_reason(EOPNOTSUPP, "advice %d is none of 0, 1, 2", (int)advice),
			"ibv_advise_mr()");
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return adv_ibv_refuse(
			adv_reason(EINVAL,
				   "flags 0x%x: only IBV_ADVISE_MR_FLAG_FLUSH (1) is defined",
				   flags),
			"ibv_advise_mr()");
	for (uint32_t i = 0; i < num_sge && !err; i++)
		err = advise_sge(pd, advice, &sg_list[i]);
	return adv_ibv_refuse(err, "ibv_advise_mr(pd %u)", pd->handle);
}
