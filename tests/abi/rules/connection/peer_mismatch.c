/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects a QP to a peer that is connected to another QP. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_init_attr create;
	struct ibv_qp_attr attr;
	struct ibv_qp *third;
	struct lab l = {0};

	lab_open(&l);
	create = lab_create_attr(&l);
	third = ibv_create_qp(l.pd, &create);
	lab_need(third != NULL, "ibv_create_qp");
	lab_name("third", "qp 0x%06x", third->qp_num);
	lab_to_init(third);
	attr = lab_rtr_attr(&l, MENDED ? third : l.b);
	lab_need(!ibv_modify_qp(third, &attr, LAB_RTR_RC), "RTR"); /* finds peer-mismatch: third */
	lab_need(!ibv_destroy_qp(third), "ibv_destroy_qp");
	lab_close(&l);
	return 0;
}
