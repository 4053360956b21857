/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Leaves the port out of the address vector. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	attr = lab_rtr_attr(&l, l.b);
	attr.ah_attr.port_num = MENDED ? 1 : 0;
	ibv_modify_qp(l.a, &attr, LAB_RTR_RC); /* finds port-number: a */
	lab_close(&l);
	return 0;
}
