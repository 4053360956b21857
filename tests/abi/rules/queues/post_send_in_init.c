/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a send before the QP is in RTS. */
#include "../lab.h"

int main(void)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	if (MENDED)
		lab_connect(&l);
	else
		lab_to_init(l.a);
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = l.mr->rkey;
	if (!ibv_post_send(l.a, &wr, &bad)) /* finds post-in-wrong-state: a */
		lab_wait(l.cq, 1);
	lab_close(&l);
	return 0;
}
