/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Expects another first PSN than the peer sends. */
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
	if (!MENDED)
		attr.rq_psn = (attr.rq_psn + 1) & 0xffffff;
	lab_need(!ibv_modify_qp(l.b, &attr, LAB_RTR_RC), "RTR");
	attr = lab_rts_attr(&l, l.a);
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTS_RC), "RTS"); /* finds psn-mismatch: a */
	lab_to_rts(&l, l.b);
	lab_close(&l);
	return 0;
}
