/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows (IBTA 10.6.7), and remote access to regions and windows. */
#ifndef ADV_NIC_MEMORY_MW_H
#define ADV_NIC_MEMORY_MW_H

#include "nic/memory/mr.h"
#include "nic/memory/mw_key.h"

/* Executes a bind request or a local invalidation. Returns ADV_ERR_NONE or the cause of the
 * failure. */
enum adv_vendor_err adv_mw_execute(struct adv_qp *qp, const struct adv_send_wqe *wqe);
/* Invalidates the type 2 window with this R_Key, for the QP or its peer. Returns false if no such
 * window is bound to the QP. */
bool adv_mw_invalidate(struct adv_qp *qp, uint32_t rkey);
/* Unbinds the QP's windows. Call it before the QP is destroyed or reset, and adv_flight_abandon()
 * afterwards: the peer may still read their memory. */
void adv_mw_forget(struct adv_qp *qp);
/* As adv_mr_resolve(), for a request of the QP's peer. The key may name a region or a window of
 * either type. adv_mr_remote_cause() translates *why. */
static inline uint8_t *adv_mw_remote(const struct adv_qp *qp, const struct adv_pd *pd, uint32_t key,
				     uint64_t va, uint64_t length, int need,
				     enum adv_vendor_err *why)
{
	uint8_t *p = adv_mr_resolve(qp->engine, pd, key, va, length, need, why);

	if (p || adv_list_empty(&qp->windows))
		return p;
	return adv_mw_resolve(qp, pd, key, va, length, need, why);
}

#endif
