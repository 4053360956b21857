/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers more memory than RLIMIT_MEMLOCK permits on hardware. */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lab.h"

/* Gives up the privilege to lock memory without a limit. */
static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	lab_need(!syscall(SYS_capget, &header, data), "capget");
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	lab_need(!syscall(SYS_capset, &header, data), "capset");
}

int main(void)
{
	struct rlimit limit = {.rlim_cur = 128 << 10, .rlim_max = 128 << 10};
	static uint8_t memory[1 << 20];
	struct lab l = {0};
	struct ibv_mr *mr;

	drop_ipc_lock();
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
