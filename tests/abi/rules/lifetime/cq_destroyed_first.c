/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroys a CQ before the QPs that use it. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	if (!MENDED)
		ibv_destroy_cq(l.cq); /* finds destroy-order: cq */
	lab_close(&l);
	return 0;
}
