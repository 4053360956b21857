/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A Local ACK Timeout of 0: a lost packet is never sent again. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	lab_to_rtr(&l, l.a, l.b);
	attr = lab_rts_attr(&l, l.a);
	attr.timeout = MENDED ? 14 : 0;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTS_RC), "RTS"); /* finds timeout-zero: a */
	lab_close(&l);
	return 0;
}
