/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes twice to the same remote bytes, by two QPs, without waiting for the first. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_write(&l, l.a, 0, 256, 8192);
	if (MENDED)
		lab_wait(l.cq, 1);
	lab_write(&l, l.b, 4096, 256, 8192 + 128); /* finds overlapping-writes: b */
	lab_wait(l.cq, MENDED ? 1 : 2);
	lab_close(&l);
	return 0;
}
