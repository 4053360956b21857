/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, and the receive requests of all receive queues. */
#ifndef ADV_NIC_QUEUE_SRQ_H
#define ADV_NIC_QUEUE_SRQ_H

#include "nic/queue/qp_state.h"

struct adv_srq {
	struct adv_engine *engine;
	struct adv_pd *pd;
	struct adv_list node; /* engine->srqs */
	struct adv_affiliated events;
	void *user;
	uint8_t *slots; /* room for max_wr receive requests of `stride` bytes */
	uint32_t stride;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t *fifo;	    /* slot numbers in posting order; ring of max_wr */
	uint32_t fifo_head; /* free running */
	uint32_t fifo_tail;
	uint32_t *free_list; /* stack of free slot numbers */
	uint32_t free_count;
	uint32_t limit; /* 0: no limit event armed */
	uint32_t users; /* QPs created with the SRQ; QPs that use it through XRC do not count */
	/* xrcd, cq and number: only for an SRQ of an XRC domain. */
	struct adv_xrcd *xrcd;
	struct adv_cq *cq;
	uint32_t number; /* XRC SRQ number, 24 bits */
	uint32_t id;	 /* object number for resources.c; every SRQ has one */
};

/*
 * Dequeues the oldest request; NULL: the SRQ is empty. If fewer requests than the limit are left,
 * raises IBV_EVENT_SRQ_LIMIT_REACHED once. The caller returns the request with adv_srq_release().
 */
struct adv_recv_wqe *adv_srq_take(struct adv_srq *srq);
/* Returns the request that adv_srq_take() would return. Changes nothing. */
static inline struct adv_recv_wqe *adv_srq_peek(const struct adv_srq *srq)
{
	uint32_t slot;

	if (srq->fifo_head == srq->fifo_tail)
		return NULL;
	slot = srq->fifo[srq->fifo_tail & (srq->max_wr - 1)];
	return (struct adv_recv_wqe *)(void *)(srq->slots + (size_t)slot * srq->stride);
}

void adv_srq_release(struct adv_srq *srq, struct adv_recv_wqe *wqe);
/* Checks and copies one receive request. Returns 0, or EINVAL: too many SGEs, or their sum is above
 * 2^32 - 1 bytes. */
int adv_recv_wqe_fill(struct adv_recv_wqe *wqe, uint32_t max_sge, const struct ibv_recv_wr *wr);

#endif
