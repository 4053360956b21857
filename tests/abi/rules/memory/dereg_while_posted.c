/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deregisters a region that a posted receive names. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	sge = lab_sge(&l, 0, 64);
	sge.lkey = mr->lkey;
	lab_need(!ibv_post_recv(l.b, &wr, &bad), "ibv_post_recv");
	if (MENDED) {
		lab_need(!ibv_destroy_qp(l.b), "ibv_destroy_qp");
		l.b = NULL;
	}
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr"); /* finds dereg-while-posted: own */
	lab_close(&l);
	return 0;
}
