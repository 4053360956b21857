/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets the Local ACK Timeout in the transition to RTR, which has no such attribute. */
#include "../lab.h"

int main(void)
{
	const int mask = MENDED ? LAB_RTR_RC : LAB_RTR_RC | IBV_QP_TIMEOUT;
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	attr = lab_rtr_attr(&l, l.b);
	attr.timeout = 14;
	ibv_modify_qp(l.a, &attr, mask); /* finds mask-superfluous: a */
	lab_close(&l);
	return 0;
}
