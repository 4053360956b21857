/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/work.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_SGE  4   /* room for SGEs in a record that is kept */
#define MOST_KEPT 512 /* records without a request, for the next ones */

static struct adv_list kept;
static unsigned kept_count;

bool adv_check_opcode_reads(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Returns a record with room for the SGEs, or NULL. Programs post and complete all the time, and
 * malloc(3) and free(3) of so many records take longer than this. */
static struct adv_check_work *new_work(size_t sges)
{
	struct adv_list *link = kept.next;

	if (sges > KEPT_SGE || kept_count == 0)
		return malloc(sizeof(struct adv_check_work) +
			      (sges < KEPT_SGE ? KEPT_SGE : sges) * sizeof(struct ibv_sge));
	adv_list_del(link);
	kept_count--;
	return adv_container_of(link, struct adv_check_work, link);
}

static void free_work(struct adv_check_work *w)
{
	if (w->num_sge > KEPT_SGE || kept_count == MOST_KEPT) {
		free(w);
		return;
	}
	if (!kept.next)
		adv_list_init(&kept);
	adv_list_add(&kept, &w->link);
	kept_count++;
}

void adv_check_queue_init(struct adv_check_queue *q, bool is_recv, bool is_shared)
{
	adv_list_init(&q->works);
	q->count = 0;
	q->reads = 0;
	q->is_recv = is_recv;
	q->is_shared = is_shared;
}

void adv_check_queue_clear(struct adv_check_queue *q)
{
	adv_check_queue_drop_newest(q, q->count);
}

struct adv_check_work *adv_check_queue_add(struct adv_check_queue *q, uint64_t wr_id,
					   const struct ibv_sge *sge, int num_sge,
					   const struct adv_check_stack *posted)
{
	size_t count = num_sge > 0 && sge ? (size_t)num_sge : 0;
	struct adv_check_work *w = new_work(count);

	if (!w)
		return NULL;
	*w = (struct adv_check_work){
		.wr_id = wr_id,
		.posted = *posted,
		.is_recv = q->is_recv,
		.num_sge = (int)count,
	};
	for (size_t i = 0; i < count; i++) {
		w->sge[i] = sge[i];
		w->length += sge[i].length;
	}
	adv_list_init(&w->by_rkey);
	adv_list_add_tail(&q->works, &w->link);
	q->count++;
	return w;
}

void adv_check_queue_remove(struct adv_check_queue *q, struct adv_check_work *w)
{
	adv_list_del(&w->link);
	adv_list_del(&w->by_rkey);
	q->count--;
	if (w->unpolled)
		--*w->unpolled;
	q->reads -= !w->is_recv && adv_check_opcode_reads(w->opcode);
	free_work(w);
}

void adv_check_queue_drop_newest(struct adv_check_queue *q, uint32_t count)
{
	for (; count > 0 && q->count > 0; count--)
		adv_check_queue_remove(
			q, adv_container_of(q->works.prev, struct adv_check_work, link));
}

struct adv_check_work *adv_check_queue_find(const struct adv_check_queue *q, uint64_t wr_id)
{
	adv_list_for_each(struct adv_check_work, w, &q->works, link)
		if (w->wr_id == wr_id)
			return w;
	return NULL;
}
