/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills the send queue as far as it has asked for, with unsignaled requests, and polls for a
 * completion that never comes. */
#include <time.h>

#include "../lab.h"

#define WAIT 2 /* s */

static void wait_in_vain(const struct lab *l)
{
	time_t end = time(NULL) + WAIT + 1;
	struct ibv_wc wc;
	int n = 0;

	while (n == 0 && time(NULL) < end)
		n = ibv_poll_cq(l->cq, 1, &wc); /* finds unsignaled-queue-full: a */
	lab_need(n == 0, "no completion");
}

int main(void)
{
	struct lab l = {0};
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	lab_open(&l);
	sge = lab_sge(&l, 0, 8);
	wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey = l.mr->rkey;
	for (uint32_t i = 0; i < LAB_DEPTH; i++) {
		wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 8192 + 8 * (uint64_t)i;
		wr.send_flags = MENDED && i + 1 == LAB_DEPTH ? IBV_SEND_SIGNALED : 0;
		lab_post(l.a, &wr);
	}
	if (MENDED)
		lab_wait(l.cq, 1);
	if (MENDED) /* a message may still come: this poll is not in vain */
		lab_recv(&l, l.a, 0, 64);
	wait_in_vain(&l);
	lab_close(&l);
	return 0;
}
