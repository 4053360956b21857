/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a receive before the QP is in INIT. */
#include "../lab.h"

int main(void)
{
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	if (MENDED)
		lab_to_init(l.a);
	sge = lab_sge(&l, 0, 64);
	wr = (struct ibv_recv_wr){.sg_list = &sge, .num_sge = 1};
	ibv_post_recv(l.a, &wr, &bad); /* finds post-in-wrong-state: a */
	lab_close(&l);
	return 0;
}
