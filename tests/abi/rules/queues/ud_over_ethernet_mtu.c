/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends UD messages that an Ethernet MTU of 1500 cannot carry. */
#include "../lab.h"

int main(void)
{
	const uint32_t length = MENDED ? 1024 : 2048;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {.no_queries = !MENDED};
	struct ibv_ah *ah;

	lab_open_ud(&l);
	ah = lab_ah(&l);
	sge = lab_sge(&l, 0, length);
	wr = lab_wr(IBV_WR_SEND, &sge);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = l.b->qp_num;
	wr.wr.ud.remote_qkey = LAB_QKEY;
	lab_recv(&l, l.b, 4096, 4096);
	lab_post(l.a, &wr); /* finds ud-over-ethernet-mtu: a */
	lab_wait(l.cq, 2);
	lab_need(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	lab_close(&l);
	return 0;
}
