/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deallocates a PD before its memory region. */
#include "../lab.h"

int main(void)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct lab l = {0};

	lab_device(&l);
	pd = ibv_alloc_pd(l.context);
	lab_need(pd != NULL, "ibv_alloc_pd");
	lab_name("own", "pd %u", pd->handle);
	mr = ibv_reg_mr(pd, l.buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	if (!MENDED)
		ibv_dealloc_pd(pd); /* finds destroy-order: own */
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_need(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	lab_close(&l);
	return 0;
}
