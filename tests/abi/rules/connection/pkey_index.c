/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses a P_Key index that is not in the port's table. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr = lab_init_attr();
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	attr.pkey_index = MENDED ? 0 : l.port.pkey_tbl_len;
	ibv_modify_qp(l.a, &attr, LAB_INIT_RC); /* finds pkey-index: a */
	lab_close(&l);
	return 0;
}
