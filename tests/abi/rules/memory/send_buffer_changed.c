/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes into a send buffer between posting and completion. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64);
	lab_send(&l, l.a, 0, 64); /* finds send-buffer-changed: a */
	if (MENDED)
		lab_wait(l.cq, 2);
	l.buffer[5] = 'x';
	if (!MENDED)
		lab_wait(l.cq, 2);
	lab_close(&l);
	return 0;
}
