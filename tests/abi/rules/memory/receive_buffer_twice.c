/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a receive buffer again before its first receive has completed. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64);
	lab_recv(&l, l.b, MENDED ? 8192 : 4096, 64); /* finds receive-buffer-reused: b */
	lab_send(&l, l.a, 0, 64);
	lab_send(&l, l.a, 64, 64);
	lab_wait(l.cq, 4);
	lab_close(&l);
	return 0;
}
