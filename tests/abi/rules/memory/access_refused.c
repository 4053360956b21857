/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes to a region that permits no remote writes. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *target;

	lab_open(&l);
	target = ibv_reg_mr(l.pd, l.buffer + 8192, 4096,
			    IBV_ACCESS_LOCAL_WRITE |
				    (MENDED ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ));
	lab_need(target != NULL, "ibv_reg_mr");
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = target->rkey;
	lab_post(l.a, &wr); /* finds stale-rkey: a */
	lab_drain(l.cq, 1);
	lab_need(!ibv_dereg_mr(target), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
