/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends with a remote Q_Key that has the high bit: the QP's own Q_Key is sent instead. */
#include "../lab.h"

int main(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};
	struct ibv_ah *ah;

	lab_open_ud(&l);
	ah = lab_ah(&l);
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_SEND, &sge);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = l.b->qp_num;
	wr.wr.ud.remote_qkey = MENDED ? LAB_QKEY : 0x80000000 | LAB_QKEY;
	lab_recv(&l, l.b, 4096, 256);
	lab_post(l.a, &wr); /* finds qkey-high-bit: a */
	lab_wait(l.cq, 2);
	lab_need(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	lab_close(&l);
	return 0;
}
