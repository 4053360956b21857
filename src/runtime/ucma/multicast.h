/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of ids: rdma_join_multicast(3). */
#ifndef ADV_RUNTIME_UCMA_MULTICAST_H
#define ADV_RUNTIME_UCMA_MULTICAST_H

#include "runtime/ucma/find.h"

extern adv_ucma_handler adv_ucma_join, adv_ucma_leave;

void adv_ucma_leave_all(struct adv_ucma_id *id);
/* Queues MULTICAST_ERROR for each membership: the id's address has been removed. */
void adv_ucma_memberships_lost(struct adv_ucma_id *id);

#endif
