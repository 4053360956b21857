/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers more memory than RLIMIT_MEMLOCK permits on hardware. */
#include <sys/resource.h>

#include "lab.h"

int main(void)
{
	struct rlimit limit = {.rlim_cur = 128 << 10, .rlim_max = 128 << 10};
	static uint8_t memory[1 << 20];
	struct lab l = {0};
	struct ibv_mr *mr;

	lab_need(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	lab_device(&l);
	mr = ibv_reg_mr(l.pd, memory, MENDED ? 4096 : sizeof(memory), /* finds memlock-limit: own */
			IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	lab_close(&l);
	return 0;
}
