/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frees registered memory, which the device's library then gets from the allocator, uses and frees:
 * a mistake of the program only once. */
#include <malloc.h>
#include <stdlib.h>

#include "../lab.h"

#define LENGTH	 (1 << 20)
#define GUARD	 64
#define NEVER	 (1 << 28) /* bytes: malloc() maps no memory of its own, and free() unmaps none */
#define QP_COUNT 4

/* Calls that allocate and free in the library. */
static void use_device(struct lab *l)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};

	for (int i = 0; i < QP_COUNT; i++) {
		lab_qps(l);
		lab_connect(l);
		lab_recv(l, l->b, 0, 64);
		lab_send(l, l->a, 4096, 64);
		lab_wait(l->cq, 2);
		lab_read(l, l->a, 8192, 64, 16384);
		lab_wait(l->cq, 1);
		lab_need(!ibv_modify_qp(l->a, &err, IBV_QP_STATE), "QP to ERR");
		lab_reset(l);
		lab_need(!ibv_destroy_qp(l->a) && !ibv_destroy_qp(l->b), "ibv_destroy_qp");
		l->a = l->b = NULL;
	}
}

int main(void)
{
	struct lab l = {0};
	void *p, *guard;
	struct ibv_mr *mr;

	mallopt(M_MMAP_THRESHOLD, NEVER);
	mallopt(M_TRIM_THRESHOLD, NEVER);
	lab_device(&l);
	p = malloc(LENGTH);
	guard = malloc(GUARD);
	lab_need(p && guard, "malloc");
	mr = ibv_reg_mr(l.pd, p, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	lab_need(mr != NULL, "ibv_reg_mr");
	lab_name("own", "mr 0x%08x", mr->lkey);
	if (!MENDED)
		free(p); /* finds unmapped-while-registered: own */
	use_device(&l);
	lab_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	if (MENDED)
		free(p);
	free(guard);
	lab_close(&l);
	return 0;
}
