/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never destroys a QP. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_init_attr attr;
	struct lab l = {0};

	lab_device(&l);
	attr = lab_create_attr(&l);
	l.a = ibv_create_qp(l.pd, &attr); /* finds leak: a */
	lab_need(l.a != NULL, "ibv_create_qp");
	lab_name("a", "qp 0x%06x", l.a->qp_num);
	if (MENDED)
		lab_close(&l);
	else
		lab_need(!ibv_dereg_mr(l.mr), "ibv_dereg_mr");
	return 0;
}
