/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, and the receive requests of all receive queues. */
#ifndef ADV_TRANSPORT_SRQ_H
#define ADV_TRANSPORT_SRQ_H

#include "transport/qp_state.h"

struct adv_srq {
	struct adv_pd *pd;
	struct adv_list node; /* engine->srqs */
	struct adv_affiliated events;
	void *user;
	uint8_t *slots; /* max_wr receive requests of `stride` bytes */
	uint32_t stride;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t *fifo;	    /* slot numbers in posting order; ring of max_wr */
	uint32_t fifo_head; /* free running */
	uint32_t fifo_tail;
	uint32_t *free_list; /* stack of free slot numbers */
	uint32_t free_count;
	uint32_t limit; /* 0: no limit event armed */
	uint32_t users; /* QPs created with it; QPs of XRC requests do not count */
	/* Of an XRC domain only: */
	struct adv_xrcd *xrcd;
	struct adv_cq *cq;
	uint32_t number; /* 24 bits */
	uint32_t id;	 /* of each one, for resources.c */
};

/* Dequeues the oldest request; NULL: there is none. Raises IBV_EVENT_SRQ_LIMIT_REACHED once if
 * fewer than the limit are left. The caller returns the request with adv_srq_release(). */
struct adv_recv_wqe *adv_srq_take(struct adv_srq *srq);
void adv_srq_release(struct adv_srq *srq, struct adv_recv_wqe *wqe);
/* Checks and copies one receive request. 0, or EINVAL: too many SGEs, or a sum over 2^32 - 1. */
int adv_recv_wqe_fill(struct adv_recv_wqe *wqe, uint32_t max_sge, const struct ibv_recv_wr *wr);

#endif
