/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last step of connection establishment, at the connecting end. */
#ifndef ADV_RDMACM_ESTABLISH_H
#define ADV_RDMACM_ESTABLISH_H

#include "rdmacm/id_state.h"

/* Reports to the daemon that the id's queue pair can receive and send. */
int adv_rdma_establish(struct adv_rdma_id *id);

/* Handles the response to a connection request: makes the QP ready and sends the RTU. */
int adv_rdma_finish_connect(struct adv_rdma_id *id);

#endif
