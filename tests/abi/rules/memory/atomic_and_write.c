/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes to the target of an atomic that another QP has in flight. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_add(&l, l.a, 0, 8192);
	if (MENDED)
		lab_wait(l.cq, 1);
	lab_write(&l, l.b, 4096, 8, 8192); /* finds atomic-and-write: b */
	lab_wait(l.cq, MENDED ? 1 : 2);
	lab_close(&l);
	return 0;
}
