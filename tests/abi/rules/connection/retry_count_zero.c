/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lost packet breaks the connection. */
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
	attr.retry_cnt = MENDED ? 7 : 0;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTS_RC), "RTS"); /* finds retry-count-zero: a */
	lab_close(&l);
	return 0;
}
