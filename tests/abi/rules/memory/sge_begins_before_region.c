/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a send that begins before its region. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_mr *half;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	lab_open(&l);
	half = ibv_reg_mr(l.pd, l.buffer + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	lab_need(half != NULL, "ibv_reg_mr");
	sge = lab_sge(&l, MENDED ? 4096 : 4000, 200);
	sge.lkey = half->lkey;
	wr = lab_wr(IBV_WR_SEND, &sge);
	lab_recv(&l, l.b, 8192, 256);
	lab_post(l.a, &wr); /* finds sge-outside-region: a */
	lab_drain(l.cq, MENDED ? 2 : 1);
	lab_need(!ibv_dereg_mr(half), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
