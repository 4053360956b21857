/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets a Q_Key with the high bit, which needs privilege. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_init_attr create;
	struct lab l = {0};

	lab_device(&l);
	create = lab_create_attr(&l);
	create.qp_type = IBV_QPT_UD;
	l.a = ibv_create_qp(l.pd, &create);
	lab_need(l.a != NULL, "ibv_create_qp");
	lab_name("a", "qp 0x%06x", l.a->qp_num);
	attr.qkey = MENDED ? LAB_QKEY : 0x80000000 | LAB_QKEY;
	ibv_modify_qp(l.a, &attr, LAB_INIT_UD); /* finds qkey-high-bit: a */
	lab_close(&l);
	return 0;
}
