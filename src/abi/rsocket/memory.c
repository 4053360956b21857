/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int adv_rs_memory_make(struct ibv_pd *pd, struct adv_rs_memory *memory, size_t len, int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	len = (len + page - 1) / page * page;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	memory->p = p;
	memory->len = len;
	memory->mr = ibv_reg_mr(pd, p, len, access);
	return memory->mr ? 0 : -1;
}

void adv_rs_memory_free(struct adv_rs_memory *memory)
{
	if (memory->mr)
		ibv_dereg_mr(memory->mr);
	if (memory->p)
		munmap(memory->p, memory->len);
	memset(memory, 0, sizeof(*memory));
}
