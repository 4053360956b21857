/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Access to memory by the key of a window. Another engine may bind the window meanwhile (tpt.h). */
#ifndef ADV_NIC_MEMORY_MW_KEY_H
#define ADV_NIC_MEMORY_MW_KEY_H

#include "nic/queue/qp_state.h"

struct adv_mw {
	struct adv_mr key; /* must be the first member. If unbound, it grants nothing. For type 2
			      its PD is NULL, see adv_mw_remote() */
	struct adv_pd *pd;
	struct adv_mr *region; /* the region to which the window is bound; NULL: unbound */
	struct adv_qp *qp;     /* type 2: the QP to which the window is bound */
	struct adv_list node;  /* node in qp->windows while the window is bound to the QP */
	bool type_2;
};

/* Continues adv_mr_resolve() for the key of a window. A window of type 2 belongs to no PD. */
uint8_t *adv_mw_resolve_type_1(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			       uint64_t va, uint64_t length, int need, enum adv_vendor_err *why);
/* As adv_mr_resolve(), for windows of type 2 that are bound to the QP. If the key names no such
 * window, *why stays unchanged. */
uint8_t *adv_mw_resolve(const struct adv_qp *qp, const struct adv_pd *pd, uint32_t key, uint64_t va,
			uint64_t length, int need, enum adv_vendor_err *why);

#endif
