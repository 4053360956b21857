/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/order.h"

#include <stdatomic.h>

#include "abi/check/fault.h"
#include "nic/engine/names.h"

#define POSTERS 256 /* queue pairs whose posting threads are distinguished */

/* ---- fences ---- */

static bool opcode_writes(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool ranges_overlap(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length)
{
	if (!a_length || !b_length)
		return false;
	return a < b ? b - a < a_length : a - b < b_length;
}

static bool local_memory_overlaps(const struct adv_check_work *a, const struct adv_check_work *b)
{
	for (int i = 0; i < a->num_sge; i++)
		for (int j = 0; j < b->num_sge; j++)
			if (ranges_overlap(a->sge[i].addr, a->sge[i].length, b->sge[j].addr,
					   b->sge[j].length))
				return true;
	return false;
}

/* Checks the request against one READ or atomic before it, whose end the program does not know. */
static bool needs_fence(struct adv_check_call *call, const struct adv_check_qp *qp,
			const struct adv_check_work *w, const struct adv_check_work *before)
{
	const char *fault = NULL;

	if (!adv_check_opcode_reads(w->opcode) && !w->is_inline && local_memory_overlaps(w, before))
		fault = "it sends memory that the earlier request fills";
	else if (opcode_writes(w->opcode) && w->rkey == before->rkey &&
		 ranges_overlap(w->remote_addr, w->length, before->remote_addr, before->length))
		fault = "it changes memory that the earlier request reads";
	if (!fault)
		return false;
	adv_check_fault_with(
		call, ADV_RULE_READ_WITHOUT_FENCE, &qp->base, "the earlier request was posted here",
		&before->posted, "%s with wr_id %llu does not wait for %s with wr_id %llu: %s",
		adv_wr_opcode_name(w->opcode), (unsigned long long)w->wr_id,
		adv_wr_opcode_name(before->opcode), (unsigned long long)before->wr_id, fault);
	return true;
}

void adv_check_fence(struct adv_check_call *call, const struct adv_check_qp *qp,
		     const struct adv_check_work *w, unsigned send_flags)
{
	if (qp->sends.reads == 0 || send_flags & IBV_SEND_FENCE)
		return;
	adv_list_for_each(struct adv_check_work, before, &qp->sends.works, link)
		if (before == w ||
		    (adv_check_opcode_reads(before->opcode) && needs_fence(call, qp, w, before)))
			return;
}

/* ---- states ---- */

void adv_check_post_state(struct adv_check_call *call, const struct adv_check_qp *qp, bool is_recv)
{
	const bool early = is_recv ? qp->state == IBV_QPS_RESET
				   : qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT ||
					     qp->state == IBV_QPS_RTR;

	if (early)
		adv_check_fault(call, ADV_RULE_POST_IN_WRONG_STATE, &qp->base,
				"the queue pair is in %s: it must be in %s or later",
				adv_qp_state_name(qp->state), is_recv ? "INIT" : "RTS");
}

/* ---- threads ---- */

/* By a hash of the queue pair's address: the queue pair to which a thread is posting. */
static const struct ibv_qp *_Atomic posters[POSTERS];

static const struct ibv_qp *_Atomic *poster_of(const struct ibv_qp *qp)
{
	return &posters[((uintptr_t)qp >> 6) * 0x9e3779b97f4a7c15u >> 56];
}

bool adv_check_poster_enters(const struct ibv_qp *qp)
{
	return atomic_exchange(poster_of(qp), qp) == qp;
}

void adv_check_poster_leaves(const struct ibv_qp *qp)
{
	atomic_store(poster_of(qp), NULL);
}

void adv_check_posters_meet(struct adv_check_call *call, struct adv_check_qp *qp)
{
	if (qp->posters_met)
		return;
	qp->posters_met = true;
	adv_check_fault(call, ADV_RULE_THREADS_UNORDERED, &qp->base,
			"another thread is posting to this queue pair at the same time");
}
