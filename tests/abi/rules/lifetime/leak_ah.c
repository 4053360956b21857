/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never destroys an address handle. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_ah *ah;

	lab_open_ud(&l);
	ah = lab_ah(&l); /* finds leak: own */
	lab_name("own", "ah %u", ah->handle);
	if (MENDED) {
		lab_need(!ibv_destroy_ah(ah), "ibv_destroy_ah");
		lab_close(&l);
		return 0;
	}
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	lab_need(!ibv_dereg_mr(l.mr) && !ibv_destroy_cq(l.cq), "ibv_dereg_mr, ibv_destroy_cq");
	return 0;
}
