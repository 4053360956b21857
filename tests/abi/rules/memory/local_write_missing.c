/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a receive into a region that only its program may write. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_recv_wr wr = {.num_sge = 1}, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;

	lab_open(&l);
	mr = ibv_reg_mr(l.pd, l.buffer, 4096, MENDED ? IBV_ACCESS_LOCAL_WRITE : 0);
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	sge = (struct ibv_sge){(uintptr_t)l.buffer, 64, mr->lkey};
	wr.sg_list = &sge;
	lab_need(!ibv_post_recv(l.b, &wr, &bad), "recv"); /* finds local-write-missing: own */
	lab_reset(&l);
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
