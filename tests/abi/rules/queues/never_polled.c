/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never polls the CQ of its signaled requests. */
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_write(&l, l.a, 0, 64, 8192);
	usleep(100000);
	if (MENDED)
		lab_wait(l.cq, 1);
	lab_close(&l); /* finds never-polled: cq */
	return 0;
}
