/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP numbers. */
#ifndef ADV_NIC_QUEUE_QPN_H
#define ADV_NIC_QUEUE_QPN_H

#include "nic/queue/qp_state.h"

/* Returns the range that contains the number; NULL: none. */
struct adv_qpn_range *adv_qp_number_range_of(const struct adv_engine *e, uint32_t qpn);

/* Returns the QP with this number; NULL: none. */
static inline struct adv_qp *adv_qp_number_find(const struct adv_engine *e, uint32_t qpn)
{
	const struct adv_qpn_range *r = &e->range[0]; /* the only one, mostly */

	if (qpn - r->first >= r->count)
		r = adv_qp_number_range_of(e, qpn);
	return r ? r->qp[qpn - r->first] : NULL;
}

/* Gives the QP a number that was never used or, if there is none, a number that has rested long.
 * Returns 0, or ENOMEM if no number is left. */
int adv_qp_number_take(struct adv_engine *e, struct adv_qp *qp);
void adv_qp_number_release(struct adv_engine *e, uint32_t qpn);
void adv_qp_numbers_free(struct adv_engine *e);

#endif
