/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never deregisters a memory region. */
#include "../lab.h"

int main(void)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct lab l = {0};

	lab_device(&l);
	pd = ibv_alloc_pd(l.context);
	lab_need(pd != NULL, "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, l.buffer, 4096, IBV_ACCESS_LOCAL_WRITE); /* finds leak: own */
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	if (MENDED) {
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
		lab_need(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	}
	lab_close(&l);
	return 0;
}
