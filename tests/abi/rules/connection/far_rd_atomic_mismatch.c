/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends more READs at once than the peer, a different process, accepts. */
#include "../lab_far.h"

int main(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp peer;
	struct lab l = {0};

	lab_far(&l, &peer);
	lab_to_rtr(&l, l.a, &peer);
	attr = lab_rts_attr(&l, l.a);
	attr.max_rd_atomic = MENDED ? 4 : 5;
	lab_need(!ibv_modify_qp(l.a, &attr, LAB_RTS_RC), "RTS"); /* finds rd-atomic-mismatch: own */
	lab_far_close(&l);
	return 0;
}
