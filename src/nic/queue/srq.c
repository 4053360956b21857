/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues (IBTA 10.2.9), and the receive requests of all receive queues. */
#include <stdlib.h>
#include <string.h>

#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/engine/inject.h"
#include "nic/queue/srq.h"
#include "nic/queue/xrc_number.h"

static struct adv_recv_wqe *wqe_at(const struct adv_srq *srq, uint32_t slot)
{
	return (struct adv_recv_wqe *)(void *)(srq->slots + (size_t)slot * srq->stride);
}

static void free_srq(struct adv_srq *srq)
{
	if (!srq)
		return;
	free(srq->slots);
	free(srq->fifo);
	free(srq->free_list);
	free(srq);
}

static struct adv_srq *new_srq(struct adv_engine *e, struct adv_pd *pd, struct ibv_srq_attr *attr,
			       void *user)
{
	struct adv_srq *srq;
	uint32_t max_wr = 1;

	if (attr->max_wr == 0 || attr->max_wr > ADV_MAX_SRQ_WR)
		return adv_reason_no_object(EINVAL, "max_wr %u: 1 to %d are possible (max_srq_wr)",
					    attr->max_wr, ADV_MAX_SRQ_WR);
	if (attr->max_sge > ADV_MAX_SGE)
		return adv_reason_no_object(EINVAL,
					    "max_sge %u is above %d, the limit of the device",
					    attr->max_sge, ADV_MAX_SGE);
	while (max_wr < attr->max_wr)
		max_wr *= 2;
	srq = e->srq_count < ADV_MAX_SRQ ? calloc(1, sizeof(*srq)) : NULL;
	if (!srq)
		goto no_memory;
	srq->max_wr = max_wr;
	srq->max_sge = attr->max_sge ? attr->max_sge : 1;
	srq->stride = sizeof(struct adv_recv_wqe) + srq->max_sge * sizeof(struct ibv_sge);
	srq->slots = malloc((size_t)max_wr * srq->stride);
	srq->fifo = malloc(max_wr * sizeof(uint32_t));
	srq->free_list = malloc(max_wr * sizeof(uint32_t));
	if (!srq->slots || !srq->fifo || !srq->free_list)
		goto no_memory;
	for (uint32_t i = 0; i < max_wr; i++)
		srq->free_list[i] = max_wr - 1 - i;
	srq->free_count = max_wr;
	srq->engine = e;
	srq->pd = pd;
	srq->id = ++e->numbers;
	srq->user = user;
	adv_affiliated_init(&srq->events, srq);
	pd->users++;
	adv_list_add_tail(&e->srqs, &srq->node);
	e->srq_count++;
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	return srq;

no_memory:
	free_srq(srq);
	errno = ENOMEM;
	return NULL;
}

struct adv_srq *adv_srq_create(struct adv_engine *e, struct adv_pd *pd, struct ibv_srq_attr *attr,
			       void *user)
{
	return new_srq(e, pd, attr, user);
}

static void leave_xrc_domain(struct adv_srq *srq)
{
	struct adv_engine *e = srq->engine;

	adv_xrc_number_release(e, srq->number);
	srq->xrcd->users--;
	srq->cq->users--;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node) {
		if (qp->srq != srq)
			continue;
		qp->pd = NULL;
		qp->recv_cq = NULL;
		qp->srq = NULL;
		qp->resp.recv = NULL;
	}
}

bool adv_srq_in_use(const struct adv_srq *srq)
{
	return srq->users > 0;
}

int adv_srq_destroy(struct adv_srq *srq)
{
	if (adv_srq_in_use(srq))
		return adv_reason(EBUSY, "queue pairs that use it: %u; destroy them first",
				  srq->users);
	if (srq->xrcd)
		leave_xrc_domain(srq);
	adv_affiliated_forget(&srq->events);
	adv_list_del(&srq->node);
	srq->engine->srq_count--;
	srq->pd->users--;
	free_srq(srq);
	return 0;
}

struct adv_srq *adv_srq_create_xrc(struct adv_pd *pd, struct adv_xrcd *xrcd, struct adv_cq *cq,
				   struct ibv_srq_attr *attr, void *user)
{
	struct adv_srq *srq = new_srq(xrcd->engine, pd, attr, user);

	if (!srq)
		return NULL;
	srq->number = adv_xrc_number_take(srq->engine, srq);
	if (!srq->number) {
		adv_srq_destroy(srq);
		return adv_reason_no_object(ENOMEM, "no number of an XRC SRQ is left (%d)",
					    ADV_MAX_XRC_SRQ);
	}
	srq->xrcd = xrcd;
	srq->cq = cq;
	xrcd->users++;
	cq->users++;
	return srq;
}

uint32_t adv_srq_number(const struct adv_srq *srq)
{
	return srq->number;
}

/* Updates the pointers of QPs to receive requests that messages in progress use. */
static void move_taken(const struct adv_srq *srq, uint8_t *to)
{
	struct adv_list *qps = &srq->engine->qps;
	size_t size = (size_t)srq->max_wr * srq->stride;

	adv_list_for_each(struct adv_qp, qp, qps, node) {
		size_t offset = (uintptr_t)qp->resp.recv - (uintptr_t)srq->slots;

		if (offset < size)
			qp->resp.recv = (struct adv_recv_wqe *)(void *)(to + offset);
	}
}

/* Grows the SRQ to max_wr, a power of two. Returns 0 or ENOMEM; after ENOMEM nothing has
 * changed. */
static int grow_srq(struct adv_srq *srq, uint32_t max_wr)
{
	uint8_t *slots = malloc((size_t)max_wr * srq->stride);
	uint32_t *fifo = malloc(max_wr * sizeof(uint32_t));
	uint32_t *free_list = malloc(max_wr * sizeof(uint32_t));

	if (!slots || !fifo || !free_list) {
		free(slots);
		free(fifo);
		free(free_list);
		return ENOMEM;
	}
	memcpy(slots, srq->slots, (size_t)srq->max_wr * srq->stride);
	for (uint32_t i = srq->fifo_tail; i != srq->fifo_head; i++)
		fifo[i & (max_wr - 1)] = srq->fifo[i & (srq->max_wr - 1)];
	memcpy(free_list, srq->free_list, srq->free_count * sizeof(uint32_t));
	for (uint32_t slot = srq->max_wr; slot < max_wr; slot++)
		free_list[srq->free_count++] = slot;
	move_taken(srq, slots);
	free(srq->slots);
	free(srq->fifo);
	free(srq->free_list);
	srq->slots = slots;
	srq->fifo = fifo;
	srq->free_list = free_list;
	srq->max_wr = max_wr;
	return 0;
}

/* Sets the size, rounded up. The SRQ never shrinks: for a smaller size it keeps its room. */
static int resize_srq(struct adv_srq *srq, uint32_t wanted, uint32_t limit)
{
	uint32_t max_wr = srq->max_wr;

	if (wanted == 0 || wanted > ADV_MAX_SRQ_WR || wanted < srq->max_wr - srq->free_count ||
	    wanted < limit)
		return adv_reason(EINVAL,
				  "max_wr %u: 1 to %d are possible, not less than the %u posted "
				  "requests and the limit %u",
				  wanted, ADV_MAX_SRQ_WR, srq->max_wr - srq->free_count, limit);
	while (max_wr < wanted)
		max_wr *= 2;
	return max_wr > srq->max_wr ? grow_srq(srq, max_wr) : 0;
}

int adv_srq_modify(struct adv_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	int err = 0;

	if (mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR))
		return adv_reason(EINVAL, "mask 0x%x: only MAX_WR and LIMIT exist", (unsigned)mask);
	if (mask & IBV_SRQ_MAX_WR)
		err = resize_srq(srq, attr->max_wr, limit);
	else if (limit > srq->max_wr)
		err = adv_reason(EINVAL, "srq_limit %u is above max_wr %u", limit, srq->max_wr);
	if (!err)
		srq->limit = limit;
	return err;
}

void adv_srq_query(const struct adv_srq *srq, struct ibv_srq_attr *attr)
{
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
}

void *adv_srq_user(const struct adv_srq *srq)
{
	return srq->user;
}

int adv_recv_wqe_fill(struct adv_recv_wqe *wqe, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	uint64_t length = 0;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return adv_reason(
			EINVAL,
			"wr_id %llu: num_sge %d, the queue was created for 0 to %u (max_recv_sge)",
			(unsigned long long)wr->wr_id, wr->num_sge, max_sge);
	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (length > UINT32_MAX)
		return adv_reason(
			EINVAL,
			"wr_id %llu: the SGEs have %llu bytes, at most 2^32 - 1 are possible",
			(unsigned long long)wr->wr_id, (unsigned long long)length);
	wqe->wr_id = wr->wr_id;
	wqe->length = length;
	wqe->num_sge = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		wqe->sge[i] = wr->sg_list[i];
	return 0;
}

static int post_one_recv(struct adv_srq *srq, const struct ibv_recv_wr *wr)
{
	struct adv_recv_wqe *wqe;
	uint32_t slot;
	int err = 0;

	if (!srq->free_count)
		return adv_reason(ENOMEM, "the SRQ is full: all %u requests are posted (max_wr)",
				  srq->max_wr);
	slot = srq->free_list[srq->free_count - 1];
	wqe = wqe_at(srq, slot);
	if (adv_recv_wqe_fill(wqe, srq->max_sge, wr))
		return EINVAL;
	if (srq->engine->injector)
		err = (int)adv_inject_recv(srq->engine, NULL, ADV_INJECT_POST, ADV_WORK_NO_OPCODE);
	if (err)
		return err;
	wqe->index = slot;
	srq->free_count--;
	srq->fifo[srq->fifo_head++ & (srq->max_wr - 1)] = slot;
	return 0;
}

int adv_srq_post(struct adv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	for (; wr; wr = wr->next) {
		int err = post_one_recv(srq, wr);

		if (err) {
			*bad_wr = wr;
			return err;
		}
	}
	return 0;
}

struct adv_recv_wqe *adv_srq_take(struct adv_srq *srq)
{
	uint32_t slot;

	if (srq->fifo_head == srq->fifo_tail)
		return NULL;
	slot = srq->fifo[srq->fifo_tail++ & (srq->max_wr - 1)];
	/* IBTA 10.2.9.2: the event is raised once. For a further event the application sets the
	 * limit again. */
	if (srq->fifo_head - srq->fifo_tail < srq->limit) {
		srq->limit = 0;
		adv_affiliated_raise(srq->engine, &srq->events, IBV_EVENT_SRQ_LIMIT_REACHED,
				     ADV_ERR_NONE);
	}
	return wqe_at(srq, slot);
}

void adv_srq_release(struct adv_srq *srq, struct adv_recv_wqe *wqe)
{
	assert(srq->free_count < srq->max_wr);
	srq->free_list[srq->free_count++] = wqe->index;
}
