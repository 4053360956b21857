/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Needs more outstanding READs than most cards have. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	attr = lab_rtr_attr(&l, l.b);
	attr.max_dest_rd_atomic = MENDED ? 16 : 64;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTR_RC), "RTR"); /* finds rd-atomic-limit: a */
	lab_close(&l);
	return 0;
}
