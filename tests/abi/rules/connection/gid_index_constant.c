/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses GID index 0 without having looked what GID that is. */
#include "../lab.h"

int main(void)
{
	struct lab l = {.no_queries = !MENDED};

	lab_device(&l);
	lab_qps(&l);
	lab_to_init(l.a);
	lab_to_rtr(&l, l.a, l.b); /* finds gid-index-constant: a */
	lab_close(&l);
	return 0;
}
