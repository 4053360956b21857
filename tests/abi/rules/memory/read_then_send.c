/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the data of a READ without waiting for it. */
#include "../lab.h"

int main(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct lab l = {0};

	lab_open(&l);
	lab_recv(&l, l.b, 4096, 64);
	lab_read(&l, l.a, 0, 64, 8192);
	sge = lab_sge(&l, 0, 64);
	wr = lab_wr(IBV_WR_SEND, &sge);
	if (MENDED)
		lab_wait(l.cq, 1);
	lab_post(l.a, &wr); /* finds read-without-fence: a */
	lab_wait(l.cq, MENDED ? 2 : 3);
	lab_close(&l);
	return 0;
}
