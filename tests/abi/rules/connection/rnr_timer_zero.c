/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A minimum RNR NAK timer of 0, which means the longest one. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	attr = lab_rtr_attr(&l, l.b);
	attr.min_rnr_timer = MENDED ? 12 : 0;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTR_RC), "RTR"); /* finds rnr-timer-zero: a */
	lab_close(&l);
	return 0;
}
