/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two ends, of different processes, have different path MTUs. */
#include "../lab_far.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp peer;
	struct lab l = {0};

	lab_far(&l, &peer);
	attr = lab_rtr_attr(&l, &peer);
	attr.path_mtu = MENDED ? IBV_MTU_1024 : IBV_MTU_2048;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTR_RC), "RTR"); /* finds mtu-mismatch: own */
	lab_to_rts(&l, l.a);
	lab_far_close(&l);
	return 0;
}
