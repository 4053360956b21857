/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The same first PSN for each QP. */
#include "../lab.h"

static void to_rtr(const struct lab *l, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = lab_rtr_attr(l, peer);

	if (!MENDED)
		attr.rq_psn = 0x1234;
	lab_need(!ibv_modify_qp(qp, &attr, LAB_RTR_RC), "RTR");
}

static struct ibv_qp_attr rts_attr(const struct lab *l, const struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = lab_rts_attr(l, qp);

	if (!MENDED)
		attr.sq_psn = 0x1234;
	return attr;
}

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	lab_to_init(l.b);
	to_rtr(&l, l.a, l.b);
	to_rtr(&l, l.b, l.a);
	attr = rts_attr(&l, l.a);
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTS_RC), "RTS");
	attr = rts_attr(&l, l.b);
	lab_need(!ibv_modify_qp(l.b, &attr, LAB_RTS_RC), "RTS"); /* finds psn-constant: b */
	lab_close(&l);
	return 0;
}
