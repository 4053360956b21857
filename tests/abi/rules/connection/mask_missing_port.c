/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moves a QP to INIT without its port in the mask. */
#include "../lab.h"

int main(void)
{
	const int mask = MENDED ? LAB_INIT_RC : LAB_INIT_RC & ~IBV_QP_PORT;
	struct ibv_qp_attr attr = lab_init_attr();
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	ibv_modify_qp(l.a, &attr, mask); /* finds mask-missing: a */
	lab_close(&l);
	return 0;
}
