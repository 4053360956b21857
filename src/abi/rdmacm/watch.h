/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports calls to the sanitizer (abi/check/observer.h). Without `adverb check` the observer is
 * NULL, and these functions only test that pointer. Call all of them without the connection's lock.
 */
#ifndef ADV_ABI_RDMACM_WATCH_H
#define ADV_ABI_RDMACM_WATCH_H

#include <rdma/rdma_cma.h>

#include "abi/check/observer.h"

/* NULL: no call is observed. Set before main(). */
extern const struct adv_check_observer *adv_rdma_observer;

/* caller: the address of the code that called the exported function. */
static inline void adv_rdma_watch_created(struct rdma_cm_id *id, const void *caller)
{
	if (adv_rdma_observer)
		adv_rdma_observer->created(ADV_CHECK_ID, id, id->verbs, caller);
}

/* Returns a token for adv_rdma_watch_destroyed(), which must follow. */
static inline void *adv_rdma_watch_destroying(struct rdma_cm_id *id)
{
	return adv_rdma_observer ? adv_rdma_observer->destroying(ADV_CHECK_ID, id) : NULL;
}

static inline void adv_rdma_watch_destroyed(void *token)
{
	if (adv_rdma_observer)
		adv_rdma_observer->destroyed(token, 0);
}

#endif
