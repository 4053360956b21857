/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two ends have different path MTUs. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	lab_to_init(l.b);
	lab_to_rtr(&l, l.a, l.b);
	attr = lab_rtr_attr(&l, l.a);
	attr.path_mtu = MENDED ? IBV_MTU_1024 : IBV_MTU_2048;
	lab_need(!ibv_modify_qp(l.b, &attr, LAB_RTR_RC), "RTR"); /* finds mtu-mismatch: b */
	lab_to_rts(&l, l.a);
	lab_to_rts(&l, l.b);
	lab_close(&l);
	return 0;
}
