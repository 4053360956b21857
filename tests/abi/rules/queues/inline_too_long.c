/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends more inline data than the QP was created for. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_qp_init_attr attr;
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	lab_device(&l);
	attr = lab_create_attr(&l);
	l.b = ibv_create_qp(l.pd, &attr);
	attr.cap.max_inline_data = MENDED ? 101 : 32;
	l.a = ibv_create_qp(l.pd, &attr);
	lab_need(l.a && l.b, "ibv_create_qp");
	lab_name("a", "qp 0x%06x", l.a->qp_num);
	lab_connect(&l);
	sge = lab_sge(&l, 0, 101);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = l.mr->rkey;
	wr.send_flags |= IBV_SEND_INLINE;
	if (!ibv_post_send(l.a, &wr, &bad)) /* finds inline-too-long: a */
		lab_wait(l.cq, 1);
	lab_close(&l);
	return 0;
}
