/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes with the rkey of a region that its owner has deregistered. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer + 8192, 4096,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = mr->rkey;
	if (!MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_post(l.a, &wr); /* finds stale-rkey: a */
	lab_drain(l.cq, 1);
	if (MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
