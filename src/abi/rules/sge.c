/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/sge.h"

static bool lies_inside(const struct ibv_sge *sge, const struct adv_check_mr *mr)
{
	uint64_t offset = sge->addr - mr->iova;

	return sge->addr >= mr->iova && offset <= mr->length && sge->length <= mr->length - offset;
}

static void check_range(struct adv_check_call *call, const struct adv_check_object *queue,
			const struct adv_check_work *w, int i, const struct adv_check_mr *mr)
{
	const struct ibv_sge *sge = &w->sge[i];
	const struct adv_check_finding f = {
		.rule = ADV_RULE_SGE_OUTSIDE_REGION,
		.fault = adv_check_call_stack(call),
		.more = {{"the region was registered here", &mr->base.created}},
		.about = &mr->base,
	};

	adv_check_find(&f,
		       "%s(%s): wr_id %llu, SGE %d: %u bytes at 0x%llx are not inside the %llu "
		       "bytes at 0x%llx of %s",
		       call->name, queue->name, (unsigned long long)w->wr_id, i, sge->length,
		       (unsigned long long)sge->addr, (unsigned long long)mr->length,
		       (unsigned long long)mr->iova, mr->base.name);
}

static bool fills_memory(const struct adv_check_work *w)
{
	return w->is_recv || adv_check_opcode_reads(w->opcode);
}

static void find_no_access(struct adv_check_call *call, const struct adv_check_object *queue,
			   const struct adv_check_work *w, int i, const struct adv_check_mr *mr)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_LOCAL_WRITE_MISSING,
		.fault = adv_check_call_stack(call),
		.more = {{"the region was registered here", &mr->base.created}},
		.about = &mr->base,
	};

	adv_check_find(&f,
		       "%s(%s): wr_id %llu, SGE %d: the request fills memory of %s, which was "
		       "registered without IBV_ACCESS_LOCAL_WRITE",
		       call->name, queue->name, (unsigned long long)w->wr_id, i, mr->base.name);
}

void adv_check_sges(struct adv_check_call *call, const struct adv_check_object *queue,
		    const struct adv_check_work *w)
{
	if (w->is_inline)
		return;
	for (int i = 0; i < w->num_sge; i++) {
		const struct adv_check_mr *mr = adv_check_mr_of_lkey(w->sge[i].lkey);

		if (mr && w->sge[i].length > 0 && !lies_inside(&w->sge[i], mr))
			check_range(call, queue, w, i, mr);
		if (mr && w->sge[i].length > 0 && fills_memory(w) &&
		    !(mr->access & IBV_ACCESS_LOCAL_WRITE))
			find_no_access(call, queue, w, i, mr);
	}
}
