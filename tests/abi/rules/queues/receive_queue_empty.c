/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends before the receiver has posted a receive. */
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	if (MENDED)
		lab_recv(&l, l.b, 4096, 64);
	lab_send(&l, l.a, 0, 64);
	usleep(50000);
	if (!MENDED)
		lab_recv(&l, l.b, 4096, 64); /* finds receive-queue-empty: b */
	lab_wait(l.cq, 2);
	lab_close(&l);
	return 0;
}
