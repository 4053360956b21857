/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* READs into a region without local write access. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *mr;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer, 4096, /* finds local-write-missing: a */
			MENDED ? IBV_ACCESS_LOCAL_WRITE : 0);
	lab_need(mr != NULL, "ibv_reg_mr");
	sge = (struct ibv_sge){(uintptr_t)l.buffer, 64, mr->lkey};
	wr = lab_wr(IBV_WR_RDMA_READ, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = l.mr->rkey;
	lab_post(l.a, &wr);
	lab_drain(l.cq, 1);
	lab_reset(&l);
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
