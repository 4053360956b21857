/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Needs more inline data than most cards have. */
#include "../lab.h"

int main(void)
{
	struct ibv_qp_init_attr attr;
	struct lab l = {0};

	lab_device(&l);
	attr = lab_create_attr(&l);
	attr.cap.max_inline_data = MENDED ? 32 : 900;
	l.a = ibv_create_qp(l.pd, &attr); /* finds inline-limit: a */
	lab_need(l.a != NULL, "ibv_create_qp");
	lab_name("a", "qp 0x%06x", l.a->qp_num);
	lab_close(&l);
	return 0;
}
