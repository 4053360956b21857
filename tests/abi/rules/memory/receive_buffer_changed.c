/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes into a receive buffer that is posted. */
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64); /* finds receive-buffer-changed: b */
	if (!MENDED)
		l.buffer[4096 + 10] = 'x';
	l.buffer[0] = 'm';
	lab_send(&l, l.a, 0, 64);
	usleep(50000);
	/* The message has changed the buffer meanwhile. */
	lab_recv(&l, l.b, 8192, 64);
	lab_wait(l.cq, 2);
	lab_close(&l);
	return 0;
}
