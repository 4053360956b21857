/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts with the lkey of a region that is deregistered. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	sge = lab_sge(&l, 0, 64);
	sge.lkey = mr->lkey;
	wr = lab_wr(IBV_WR_SEND, &sge);
	if (!MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_recv(&l, l.b, 8192, 64);
	lab_post(l.a, &wr); /* finds stale-lkey: a */
	lab_drain(l.cq, MENDED ? 2 : 1);
	if (MENDED)
		lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
