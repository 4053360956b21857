/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts a receive that ends beyond its region. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, LAB_BUFFER - 64, MENDED ? 64 : 128); /* finds sge-outside-region: b */
	lab_close(&l);
	return 0;
}
