/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unmaps memory that a posted receive names. */
#include <sys/mman.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_sge sge = {.length = 64};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	struct ibv_mr *mr;
	void *p;

	lab_open(&l);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = ibv_reg_mr(l.pd, p, 8192, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	sge.addr = (uintptr_t)p;
	sge.lkey = mr->lkey;
	lab_need(!ibv_post_recv(l.b, &wr, &bad), "ibv_post_recv");
	if (MENDED) {
		lab_send(&l, l.a, 0, 64);
		lab_wait(l.cq, 2);
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	} else {
		lab_name("own", "mr 0x%08x", mr->lkey);
	}
	munmap(p, 8192); /* finds unmapped-while-registered: own */
	if (!MENDED) {
		lab_need(!ibv_destroy_qp(l.b), "ibv_destroy_qp");
		l.b = NULL;
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	}
	lab_close(&l);
	return 0;
}
