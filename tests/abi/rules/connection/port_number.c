/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses port 2 of a device with one port. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr = lab_init_attr();
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	attr.port_num = MENDED ? 1 : 2;
	ibv_modify_qp(l.a, &attr, LAB_INIT_RC); /* finds port-number: a */
	lab_close(&l);
	return 0;
}
