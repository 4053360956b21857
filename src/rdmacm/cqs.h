/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The completion queues, and a channel for each, of an id whose QP or SRQ was made without: in
 * id->send_cq, recv_cq, send_cq_channel, recv_cq_channel, where the helpers of
 * <rdma/rdma_verbs.h> expect them, with the id as their context.
 */
#ifndef ADV_RDMACM_CQS_H
#define ADV_RDMACM_CQS_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

/* Sizes in entries; 0: none is wanted. 0 or errno, and nothing is made. */
int adv_rdma_create_cqs(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
/* Those that the library has made, unless an XRC SRQ needs them still. */
void adv_rdma_destroy_cqs(struct rdma_cm_id *id);

#endif
