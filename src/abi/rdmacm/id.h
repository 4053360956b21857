/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation, migration and destruction of ids. */
#ifndef ADV_ABI_RDMACM_ID_H
#define ADV_ABI_RDMACM_ID_H

#include "abi/rdmacm/id_state.h"

/* As rdma_create_id(), with the QP type that rdma_create_ep() knows. */
int adv_rdma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		       enum rdma_port_space ps, enum ibv_qp_type qp_type);

/* Makes the id for a connection request to the id `listen`. Call it with the lock held. Returns
 * NULL if there is no memory; the daemon's id is then destroyed. */
struct adv_rdma_id *adv_rdma_id_of_request(struct adv_rdma_id *listen, uint32_t handle,
					   enum ibv_qp_type qp_type);

/* Waits until *completed equals *reported: the application has then acknowledged all events of the
 * id, or of one of its memberships. Call it with the lock held; the wait releases the lock. The
 * call is a cancellation point. */
void adv_rdma_id_wait(struct adv_rdma_id *id, const unsigned *completed, const unsigned *reported);

/* rdma_migrate_id() */
int adv_rdma_id_migrate(struct adv_rdma_id *id, struct rdma_event_channel *channel);

#endif
