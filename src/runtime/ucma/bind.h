/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binds ids to addresses. */
#ifndef ADV_RUNTIME_UCMA_BIND_H
#define ADV_RUNTIME_UCMA_BIND_H

#include "runtime/ucma/state.h"

/* Binds an id in the state IDLE, as rdma_bind_addr(3). Returns 0 or errno. */
int adv_ucma_bind_to(struct adv_ucma_client *c, struct adv_ucma_id *id,
		     const struct adv_cm_addr *a);

#endif
