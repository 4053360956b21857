/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts on although a request of the QP has failed. */
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	lab_open(&l);
	lab_recv(&l, l.a, 4096, 64);
	lab_need(!ibv_modify_qp(l.b, &attr, IBV_QP_STATE), "QP to ERR");
	lab_need(!ibv_modify_qp(l.a, &attr, IBV_QP_STATE), "QP to ERR");
	usleep(50000);
	if (MENDED)
		lab_drain(l.cq, 1);
	if (!MENDED) {
		for (int i = 0; i < 8; i++)
			lab_write(&l, l.a, 0, 64, 8192); /* finds error-ignored: a */
		lab_drain(l.cq, 9);
	}
	lab_close(&l);
	return 0;
}
