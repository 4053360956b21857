/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues for an id whose QP or SRQ was made without completion queues. Each queue has a
 * completion channel. The queues are in id->send_cq and id->recv_cq, the channels in
 * id->send_cq_channel and id->recv_cq_channel: the helpers of <rdma/rdma_verbs.h> read these
 * members. The cq_context of the queues is the id.
 *
 * Call the functions on ids with adv_rdma_qp_lock() held.
 */
#ifndef ADV_ABI_RDMACM_CQS_H
#define ADV_ABI_RDMACM_CQS_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/* Makes the queues. Sizes are in entries; 0: this queue is not needed. Returns 0, or errno; it has
 * then made no queue. */
int adv_rdma_create_cqs(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);

/* Completion queues that belong to no id any more; NULL: none. */
struct adv_rdma_cqs {
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_comp_channel *send_channel;
	struct ibv_comp_channel *recv_channel;
};

/* Takes the queues from the id, unless an XRC SRQ still needs them. */
struct adv_rdma_cqs adv_rdma_take_cqs(struct rdma_cm_id *id);
/* Destroys the queues. Waits until the program has acknowledged their events: call it without a
 * lock. */
void adv_rdma_destroy_cqs(const struct adv_rdma_cqs *cqs);

#endif
