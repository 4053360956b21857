/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last steps of connection establishment. Call the functions with adv_rdma_qp_lock() held. */
#ifndef ADV_ABI_RDMACM_ESTABLISH_H
#define ADV_ABI_RDMACM_ESTABLISH_H

#include "abi/rdmacm/id_state.h"

/* Gives the id's queue pair the connection that came with the answer *m of the daemon, if the id is
 * of iWARP; fd -1: none came. Owns fd. 0 or errno. */
int adv_rdma_attach(struct adv_rdma_id *id, const struct adv_ucma_message *m, int fd);

/* Reports to the daemon that the id's queue pair can receive and send. */
int adv_rdma_establish(struct adv_rdma_id *id);

/* Handles the response to a connection request: makes the QP ready and sends the RTU. */
int adv_rdma_finish_connect(struct adv_rdma_id *id);

#endif
