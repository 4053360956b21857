/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends from a buffer that is posted as a receive buffer. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64);
	lab_recv(&l, l.a, 8192, 64);
	lab_send(&l, l.b, MENDED ? 0 : 4096, 64); /* finds receive-buffer-reused: b */
	/* This message changes the buffer, and the program does not. */
	l.buffer[64] = 'm';
	lab_send(&l, l.a, 64, 64);
	lab_wait(l.cq, 4);
	lab_close(&l);
	return 0;
}
