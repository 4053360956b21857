/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_resolve_addr(3) and rdma_resolve_route(3). */
#ifndef ADV_RUNTIME_UCMA_ID_RESOLVE_H
#define ADV_RUNTIME_UCMA_ID_RESOLVE_H

#include "runtime/ucma/find.h"

extern adv_ucma_handler adv_ucma_resolve_addr, adv_ucma_resolve_route;

/* Continues due queries, at most a bounded number. */
void adv_ucma_queries_run(struct adv_ucma *u, uint64_t now_ms);
void adv_ucma_query_cancel(struct adv_ucma_id *id);
/*
 * Sets the id's route in the CM (adv_cm_set_route()). For an unanswered request this adds only the
 * parts that the sender of the request cannot know. Returns:
 *  - 0;
 *  - ENODEV: the GID table no longer has the address;
 *  - EMSGSIZE: the request requires a larger MTU than the path carries. This call has rejected the
 *    request;
 *  - EINVAL.
 */
int adv_ucma_set_route(struct adv_ucma_id *id);

#endif
