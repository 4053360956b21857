/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * holder N [CONTEXTS]: creates N queue pairs, 3/5 N regions, 2/5 N CQs, 1/5 N PDs and 1/50 N SRQs,
 * and further contexts with a PD each. Prints "ready" and waits until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/verbs.h>

static void *check(void *object, const char *what)
{
	if (object)
		return object;
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	static char memory[4096];
	unsigned qps = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned pds = qps / 5 ? qps / 5 : 1, cqs = 2 * pds;
	struct ibv_device **list = check(ibv_get_device_list(NULL), "list");
	struct ibv_context *context = check(ibv_open_device(check(list[0], "device")), "open");
	struct ibv_pd **pd = check(calloc(pds, sizeof(*pd)), "memory");
	struct ibv_cq **cq = check(calloc(cqs, sizeof(*cq)), "memory");
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq **srq = check(calloc(qps, sizeof(*srq)), "memory");

	for (unsigned i = 0; i < pds; i++)
		pd[i] = check(ibv_alloc_pd(context), "PD");
	for (unsigned i = 0; i < cqs; i++)
		cq[i] = check(ibv_create_cq(context, 1, NULL, NULL, 0), "CQ");
	for (unsigned i = 0; i < 3 * pds; i++)
		check(ibv_reg_mr(pd[i % pds], memory, sizeof(memory), 0), "MR");
	for (unsigned i = 0; i < pds / 10; i++)
		srq[i] = check(ibv_create_srq(pd[i], &srq_attr), "SRQ");
	for (unsigned i = 0; i < qps; i++) {
		struct ibv_qp_init_attr attr = {.qp_type = i % 2 ? IBV_QPT_RC : IBV_QPT_UD,
						.send_cq = cq[i % cqs],
						.recv_cq = cq[(i + 1) % cqs],
						.srq = srq[i], /* the first QPs have an SRQ */
						.cap = {1, 1, 1, 1, 0}};

		check(ibv_create_qp(pd[i % pds], &attr), "QP");
	}
	for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
		check(ibv_alloc_pd(check(ibv_open_device(list[0]), "open")), "PD");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
