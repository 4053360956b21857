/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends from another first PSN than the peer, a different process, expects. The mended program
 * connects twice: the peer still has the attributes of the first connection then. */
#include "../lab_far.h"

static void connect_to(const struct lab *l, const struct ibv_qp *peer, uint32_t psn)
{
	struct ibv_qp_attr attr = lab_rts_attr(l, l->a);

	lab_to_rtr(l, l->a, peer);
	attr.sq_psn = psn & 0xffffff;
	lab_need(!ibv_modify_qp(l->a, &attr, LAB_RTS_RC), "RTS"); /* finds psn-mismatch: own */
}

int main(void)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp peer;
	struct lab l = {0};

	lab_far(&l, &peer);
	if (MENDED) {
		connect_to(&l, &peer, lab_psn(&l, l.a));
		lab_need(!ibv_modify_qp(l.a, &reset, IBV_QP_STATE), "RESET");
		lab_to_init(l.a);
	}
	connect_to(&l, &peer, lab_psn(&l, l.a) + 1);
	lab_far_close(&l);
	return 0;
}
