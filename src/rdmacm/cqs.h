/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues, with a channel each, for an id whose QP or SRQ was made without any. They are
 * in id->send_cq, recv_cq, send_cq_channel and recv_cq_channel, where the helpers of
 * <rdma/rdma_verbs.h> expect them. Their context is the id.
 */
#ifndef ADV_RDMACM_CQS_H
#define ADV_RDMACM_CQS_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/* Sizes in entries; 0: none is needed. Returns 0, or errno without making any. */
int adv_rdma_create_cqs(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
/* Destroys the queues that the library has made, unless an XRC SRQ still needs them. */
void adv_rdma_destroy_cqs(struct rdma_cm_id *id);

#endif
