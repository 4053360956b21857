/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses and the path of an id. */
#ifndef ADV_ABI_RDMACM_ROUTE_H
#define ADV_ABI_RDMACM_ROUTE_H

#include "runtime/control/ucma_protocol.h"
#include "abi/rdmacm/id_state.h"

/* Sets the id's addresses and path from the daemon's answer. If the device is known, binds id.verbs
 * to it. Call it without the lock. 0 or errno: ENODEV, ENOMEM. */
int adv_rdma_id_set_route(struct adv_rdma_id *id, const struct adv_ucma_route *route);

/* Returns the length of an address of a supported family, else 0. */
socklen_t adv_rdma_addr_len(const struct sockaddr *addr);

/* As adv_rdma_result(), for calls with an address, which the log then has. addr: of a supported
 * family. */
int adv_rdma_addr_result(int err, const char *function, const void *object,
			 const struct sockaddr *addr);

#endif
