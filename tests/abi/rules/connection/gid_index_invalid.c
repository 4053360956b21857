/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses a GID index that the port does not have. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct lab l = {0};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	attr = lab_rtr_attr(&l, l.b);
	if (!MENDED)
		attr.ah_attr.grh.sgid_index = (uint8_t)l.port.gid_tbl_len;
	ibv_modify_qp(l.a, &attr, LAB_RTR_RC); /* finds gid-index-invalid: a */
	lab_close(&l);
	return 0;
}
