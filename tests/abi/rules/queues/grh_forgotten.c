/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a UD receive without 40 bytes for the GRH. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;

	lab_open_ud(&l);
	ah = lab_ah(&l);
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_SEND, &sge);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = l.b->qp_num;
	wr.wr.ud.remote_qkey = LAB_QKEY;
	lab_recv(&l, l.b, 4096, MENDED ? 64 + 40 : 39); /* finds grh-forgotten: b */
	lab_post(l.a, &wr);
	lab_wait(l.cq, MENDED ? 2 : 1);
	lab_need(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	lab_close(&l);
	return 0;
}
