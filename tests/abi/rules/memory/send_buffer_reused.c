/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the next message into the buffer of a WRITE that has no completion yet. */
#include <string.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	memset(l.buffer, 1, 1024);
	lab_write(&l, l.a, 0, 1024, 8192); /* finds send-buffer-changed: a */
	if (MENDED)
		lab_wait(l.cq, 1);
	memset(l.buffer, 2, 1024);
	lab_write(&l, l.a, 0, 1024, 16384);
	lab_wait(l.cq, MENDED ? 1 : 2);
	lab_close(&l);
	return 0;
}
