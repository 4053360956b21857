/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moves a QP from INIT to RTS. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	if (MENDED)
		lab_to_rtr(&l, l.a, l.b);
	attr = lab_rts_attr(&l, l.a);
	ibv_modify_qp(l.a, &attr, LAB_RTS_RC); /* finds transition-invalid: a */
	lab_close(&l);
	return 0;
}
