/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes to the remote bytes that a READ in flight reads, without a fence. */
#include "../lab.h"

int main(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};

	lab_open(&l);
	lab_read(&l, l.a, 0, 64, 8192);
	sge = lab_sge(&l, 4096, 64);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192;
	wr.wr.rdma.rkey = l.mr->rkey;
	if (MENDED)
		wr.send_flags |= IBV_SEND_FENCE;
	lab_post(l.a, &wr); /* finds read-without-fence: a */
	lab_wait(l.cq, 2);
	lab_close(&l);
	return 0;
}
