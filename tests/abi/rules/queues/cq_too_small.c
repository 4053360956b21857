/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has more signaled requests in flight than its CQ has entries. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct lab l = {0};
	struct ibv_qp_init_attr attr;
	struct ibv_cq *small;

	lab_device(&l);
	small = ibv_create_cq(l.context, MENDED ? LAB_DEPTH : 4, NULL, NULL, 0);
	lab_need(small != NULL, "ibv_create_cq");
	lab_name("small", "cq %u", small->handle);
	attr = lab_create_attr(&l);
	attr.send_cq = small;
	l.a = ibv_create_qp(l.pd, &attr);
	attr.send_cq = l.cq;
	l.b = ibv_create_qp(l.pd, &attr);
	lab_need(l.a && l.b, "ibv_create_qp");
	lab_connect(&l);
	/* Without an answer of b, nothing completes: the CQ could overrun, and does not. */
	lab_need(!ibv_modify_qp(l.b, &error, IBV_QP_STATE), "QP to ERR");
	for (int i = 0; i < LAB_DEPTH; i++)
		lab_write(&l, l.a, 0, 8, 4096 + 8 * (size_t)i); /* finds cq-too-small: small */
	lab_need(!ibv_destroy_qp(l.a), "ibv_destroy_qp");
	l.a = NULL;
	lab_need(!ibv_destroy_cq(small), "ibv_destroy_cq");
	lab_close(&l);
	return 0;
}
