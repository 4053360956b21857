/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues for an id whose QP or SRQ was made without completion queues. Each queue has a
 * completion channel. The queues are in id->send_cq and id->recv_cq, the channels in
 * id->send_cq_channel and id->recv_cq_channel: the helpers of <rdma/rdma_verbs.h> read these
 * members. The cq_context of the queues is the id.
 */
#ifndef ADV_RDMACM_CQS_H
#define ADV_RDMACM_CQS_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/* Makes the queues. Sizes are in entries; 0: this queue is not needed. Returns 0, or errno; it has
 * then made no queue. */
int adv_rdma_create_cqs(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
/* Destroys the queues that the library has made, unless an XRC SRQ still needs them. */
void adv_rdma_destroy_cqs(struct rdma_cm_id *id);

#endif
