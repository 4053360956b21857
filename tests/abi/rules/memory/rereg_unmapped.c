/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unmaps memory to which a region was moved by ibv_rereg_mr(). */
#include <sys/mman.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *mr;
	void *p;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer, 8192, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lab_need(p != MAP_FAILED, "mmap");
	lab_need(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, 8192, 0),
		 "ibv_rereg_mr");
	lab_name("moved", "mr 0x%08x", mr->lkey);
	if (MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	munmap(p, 8192); /* finds unmapped-while-registered: moved */
	if (!MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
