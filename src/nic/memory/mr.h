/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions (IBTA 10.6). */
#ifndef ADV_NIC_MEMORY_MR_H
#define ADV_NIC_MEMORY_MR_H

#include "nic/engine/state.h"

/* Access right: local requests may read the memory. Each region grants it, no window does. */
#define ADV_ACCESS_LOCAL_READ (1 << 30)

/*
 * Returns the address in this process of [va, va + length) of the region that `key` names. Returns
 * NULL if access is not permitted; *why is then ADV_ERR_LKEY, _LKEY_PD, _LOCAL_ACCESS,
 * _LOCAL_BOUNDS or _LOCAL_UNMAPPED. `need`: IBV_ACCESS_* bits that the region must grant, or
 * ADV_ACCESS_LOCAL_READ. If length is 0, returns a non-NULL pointer and does not check the key.
 * On-demand paging: a range of at most ADV_PAGED_AT_ONCE bytes is present when the function
 * returns. Of a longer range, only access and bounds are checked.
 */
uint8_t *adv_mr_resolve(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			uint64_t va, uint64_t length, int need, enum adv_vendor_err *why);

/* Adds mr to the engine's table under a new random key. Returns 0 or ENOMEM. */
int adv_mr_insert(struct adv_engine *e, struct adv_mr *mr);

/* Translates a cause of adv_mr_resolve() for a request of the peer: ADV_ERR_RKEY, _RKEY_PD,
 * _REMOTE_ACCESS, _REMOTE_BOUNDS or _REMOTE_UNMAPPED. */
enum adv_vendor_err adv_mr_remote_cause(enum adv_vendor_err local);

#endif
