/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receives of a worker: one shared receive queue for all its connections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "storage/nvme_server/worker_internal.h"

void adv_nvme_worker_post_receives(struct adv_nvme_worker *w, struct adv_nvme_receive **receives,
				   unsigned count)
{
	struct ibv_sge sge[ADV_NVME_RECEIVES_AT_ONCE];
	struct ibv_recv_wr wr[ADV_NVME_RECEIVES_AT_ONCE], *bad;

	for (unsigned i = 0; i < count; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)receives[i]->capsule,
			.length = adv_nvme_target_capsule_len(w->shared->target),
			.lkey = receives[i]->lkey,
		};
		wr[i] = (struct ibv_recv_wr){
			.wr_id = (uintptr_t)receives[i] | ADV_NVME_WR_RECV,
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
	/* The queue has room for all receives of the worker. */
	if (ibv_post_srq_recv(w->srq, wr, &bad) != 0)
		adv_error("worker %u: cannot post a receive: %s", w->index, strerror(errno));
}

void adv_nvme_worker_post_receive(struct adv_nvme_worker *w, struct adv_nvme_receive *receive)
{
	adv_nvme_worker_post_receives(w, &receive, 1);
}

static bool add_receives(struct adv_nvme_worker *w)
{
	struct adv_nvme_receive_group *g =
		calloc(1, sizeof(*g) + ADV_NVME_RECEIVES_AT_ONCE * sizeof(g->receives[0]));
	struct adv_nvme_receive *all[ADV_NVME_RECEIVES_AT_ONCE];
	size_t each = (adv_nvme_target_capsule_len(w->shared->target) + 63) & ~(size_t)63;

	if (!g)
		return false;
	g->size = each * ADV_NVME_RECEIVES_AT_ONCE;
	g->memory = mmap(NULL, g->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->memory != MAP_FAILED) {
		g->mr = ibv_reg_mr(w->pd, g->memory, g->size, IBV_ACCESS_LOCAL_WRITE);
		if (!g->mr)
			munmap(g->memory, g->size);
	}
	if (!g->mr) {
		free(g);
		return false;
	}
	adv_list_add_tail(&w->groups, &g->link);
	for (unsigned i = 0; i < ADV_NVME_RECEIVES_AT_ONCE; i++) {
		g->receives[i].capsule = g->memory + i * each;
		g->receives[i].lkey = g->mr->lkey;
		all[i] = &g->receives[i];
	}
	adv_nvme_worker_post_receives(w, all, ADV_NVME_RECEIVES_AT_ONCE);
	w->receives += ADV_NVME_RECEIVES_AT_ONCE;
	return true;
}

bool adv_nvme_worker_reserve(struct adv_nvme_worker *w, unsigned count)
{
	while (w->receives < count) {
		if (w->receives + ADV_NVME_RECEIVES_AT_ONCE > w->srq_max || !add_receives(w))
			return false;
	}
	return true;
}
