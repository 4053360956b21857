/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that the application holds, and their acknowledgement. */
#ifndef ADV_ABI_RDMACM_ACK_H
#define ADV_ABI_RDMACM_ACK_H

#include "abi/rdmacm/id_state.h"

struct adv_rdma_event {
	struct rdma_cm_event event; /* first: the application's part */
	struct adv_rdma_id
		*counted; /* the id that counts the event; for a connection request the listener */
	struct adv_rdma_membership *membership;
	uint8_t private_data[ADV_UCMA_MESSAGE_PRIVATE];
};

/* Acknowledges id.event, if there is one. */
void adv_rdma_drop_event(struct adv_rdma_id *id);

#endif
