/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a receive that is smaller than the message. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, MENDED ? 128 : 64); /* finds receive-too-small: b */
	lab_send(&l, l.a, 0, 128);
	lab_drain(l.cq, 2);
	lab_close(&l);
	return 0;
}
