/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frees memory before it deregisters it. */
#include <stdlib.h>

#include "../lab.h"

#define LENGTH (1 << 20) /* free() unmaps that much */

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *mr;
	void *p = malloc(LENGTH);

	lab_need(p != NULL, "malloc");
	lab_device(&l);
	mr = ibv_reg_mr(l.pd, p, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	if (MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	free(p); /* finds unmapped-while-registered: own */
	if (!MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
