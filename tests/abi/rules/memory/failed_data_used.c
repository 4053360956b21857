/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends on what a failed READ left in its buffer. */
#include <string.h>

#include "../lab.h"

int main(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct lab l = {0};

	lab_open(&l);
	/* The peer does not answer, and the READ fails. */
	lab_need(!ibv_modify_qp(l.b, &attr, IBV_QP_STATE), "QP to ERR");
	lab_read(&l, l.a, 0, 64, 16384);
	lab_drain(l.cq, 1);
	lab_reset(&l);
	lab_connect(&l);
	lab_recv(&l, l.b, 8192, 64);
	if (MENDED)
		memset(l.buffer, 1, 64);
	lab_send(&l, l.a, 0, 64); /* finds failed-data-used: a */
	lab_wait(l.cq, 2);
	lab_close(&l);
	return 0;
}
