/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills the send queue with unsignaled requests: no completion ever frees them. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	lab_open(&l);
	lab_need(!ibv_query_qp(l.a, &attr, IBV_QP_CAP, &init), "ibv_query_qp");
	sge = lab_sge(&l, 0, 8);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey = l.mr->rkey;
	for (uint32_t i = 0; i <= attr.cap.max_send_wr; i++) {
		int last = i + 1 == attr.cap.max_send_wr;

		wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192 + 8 * (uint64_t)i;
		wr.send_flags = MENDED && last ? IBV_SEND_SIGNALED : 0;
		if (MENDED && i == attr.cap.max_send_wr)
			lab_wait(l.cq, 1);
		if (ibv_post_send(l.a, &wr, &bad)) /* finds unsignaled-queue-full: a */
			break;
	}
	lab_close(&l);
	return 0;
}
