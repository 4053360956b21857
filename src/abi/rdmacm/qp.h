/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pairs of ids. */
#ifndef ADV_ABI_RDMACM_QP_H
#define ADV_ABI_RDMACM_QP_H

#include "abi/rdmacm/id_state.h"

/* Modify the id's QP with the attributes that the daemon knows. Without a QP they do nothing. Call
 * them with adv_rdma_qp_lock() held. */
int adv_rdma_qp_to_rtr(struct adv_rdma_id *id, uint8_t responder_resources);
int adv_rdma_qp_to_rts(struct adv_rdma_id *id, uint8_t initiator_depth);
int adv_rdma_qp_to_error(struct adv_rdma_id *id);

#endif
