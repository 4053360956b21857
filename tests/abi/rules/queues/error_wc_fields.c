/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the length of a failed receive from its completion. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64);
	lab_need(!ibv_modify_qp(l.b, &attr, IBV_QP_STATE), "QP to ERR");
	wc = lab_next(l.cq);
	lab_reset(&l);
	lab_connect(&l);
	lab_recv(&l, l.a, 8192, 64);
	sge = lab_sge(&l, 0, MENDED && wc.status != IBV_WC_SUCCESS ? 0 : wc.byte_len);
	wr = lab_wr(IBV_WR_SEND, &sge);
	if (!ibv_post_send(l.b, &wr, &bad)) /* finds error-wc-fields: b */
		lab_drain(l.cq, MENDED ? 2 : 1);
	lab_close(&l);
	return 0;
}
