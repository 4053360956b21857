/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_resolve_addr(3) and rdma_resolve_route(3). */
#ifndef ADV_DAEMON_UCMA_RESOLVE_H
#define ADV_DAEMON_UCMA_RESOLVE_H

#include "daemon/ucma_find.h"

extern adv_ucma_handler adv_ucma_resolve_addr, adv_ucma_resolve_route;

/* Continues queries that are due, a bounded number. */
void adv_ucma_queries_run(struct adv_ucma *u, uint64_t now_ms);
void adv_ucma_query_cancel(struct adv_ucma_id *id);
/*
 * Sets the engine's route of this end, or for a request what this end adds to its route. Returns:
 *  - 0;
 *  - ENODEV: the GID table no longer has the address;
 *  - EMSGSIZE: the request wants a larger MTU than the path carries, and has been rejected;
 *  - EINVAL.
 */
int adv_ucma_set_route(struct adv_ucma_id *id);

#endif
