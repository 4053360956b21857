/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* finding: sge-outside-region "SGE 1: 4096 bytes at" */
#include "pair.h"

int main(void)
{
	struct pair p;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.wr_id = 7,
				 .sg_list = sge,
				 .num_sge = 2,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_open(&p, &(struct wish){0});
	recv_into(&p.b, 1, 0, BUFFER_SIZE);
	sge[0] = sge_at(&p.a, 0, 64);
#ifdef MENDED
	sge[1] = sge_at(&p.a, BUFFER_SIZE - 4096, 4096);
#else
	sge[1] = sge_at(&p.a, BUFFER_SIZE - 4000, 4096);
#endif
	must(ibv_post_send(p.a.qp, &wr, &bad) == 0, "ibv_post_send"); /* FAULT */
	next_wc(p.a.cq);
	pair_close(&p);
	return 0;
}
