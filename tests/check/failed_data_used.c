/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends on what a failed READ left in its buffer. */
#include <string.h>

#include "lab.h"

int main(void)
{
	struct ibv_async_event event;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};
	struct ibv_mr *closed;

	lab_open(&l);
	closed = ibv_reg_mr(l.pd, l.buffer + 16384, 4096, IBV_ACCESS_LOCAL_WRITE);
	lab_need(closed != NULL, "ibv_reg_mr");
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_RDMA_READ, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + 16384;
	wr.wr.rdma.rkey = closed->rkey;
	lab_post(l.a, &wr);
	lab_drain(l.cq, 1);
	lab_need(!ibv_get_async_event(l.context, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	lab_reset(&l);
	lab_connect(&l);
	lab_recv(&l, l.b, 8192, 64);
	if (MENDED)
		memset(l.buffer, 1, 64);
	lab_send(&l, l.a, 0, 64); /* finds failed-data-used: a */
	lab_wait(l.cq, 2);
	lab_need(!ibv_dereg_mr(closed), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
