/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that `bench/run --idle-qps N` preloads into a program. When the program allocates its
 * first protection domain, the library connects N queue pairs that are never used.
 * ADVERB_BENCH_IDLE_QPS has the number.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "floor.h"
#include "loop.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);

typedef struct ibv_pd *alloc_pd_fn(struct ibv_context *context);

static void make_idle(struct ibv_pd *pd, unsigned count)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	union ibv_gid gid;

	if (!cq || ibv_query_gid(pd->context, 1, 0, &gid))
		floor_die("ibv_create_cq for idle queue pairs");
	for (unsigned i = 0; i < count; i++) {
		struct ibv_qp *qp = ibv_create_qp(pd, &attr);

		if (!qp)
			floor_die("ibv_create_qp of an idle queue pair");
		loop_connect(qp, qp->qp_num, &gid, IBV_MTU_1024);
	}
}

__attribute__((visibility("default"))) struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	static atomic_flag made = ATOMIC_FLAG_INIT;
	alloc_pd_fn *next = (alloc_pd_fn *)dlsym(RTLD_NEXT, "ibv_alloc_pd");
	const char *count = getenv("ADVERB_BENCH_IDLE_QPS");
	struct ibv_pd *pd;

	if (!next)
		floor_die("ibv_alloc_pd");
	if (count && !atomic_flag_test_and_set(&made)) {
		pd = next(context);
		if (!pd)
			floor_die("ibv_alloc_pd for idle queue pairs");
		make_idle(pd, (unsigned)atoi(count));
	}
	return next(context);
}
