/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "nic/queue/qpn.h"
#include "nic/queue/xrc_number.h"

uint32_t adv_engine_srqns_left(const struct adv_engine *e)
{
	uint32_t most = ADV_MAX_XRC_SRQ - 1 - e->xrc_used, n = 0;

	for (unsigned i = 0; i < e->ranges; i++)
		n += e->range[i].count - (e->range[i].first == 0);
	n -= e->xrc_used;
	return n < most ? n : most;
}

/* Returns a number of this range for the SRQ. Returns 0 if no number is left or there is no memory.
 * No SRQ has number 0, because programs that forget to set the number send 0. */
static uint32_t take_from_range(struct adv_engine *e, struct adv_qpn_range *r, struct adv_srq *srq)
{
	uint32_t number;

	if (r->srqs == r->count - (r->first == 0))
		return 0;
	if (!r->srq) {
		r->srq = calloc(r->count, sizeof(struct adv_srq *));
		if (!r->srq)
			return 0;
		r->srq_next = (uint32_t)adv_rng_below(&e->rng, r->count);
	}
	while (r->first + r->srq_next == 0 || r->srq[r->srq_next])
		r->srq_next = (r->srq_next + 1) % r->count;
	r->srq[r->srq_next] = srq;
	number = r->first + r->srq_next;
	r->srq_next = (r->srq_next + 1) % r->count;
	r->srqs++;
	e->xrc_used++;
	return number;
}

/* The numbers are from the engine's own ranges of QP numbers. So the SRQs of two engines never have
 * the same number. */
uint32_t adv_xrc_number_take(struct adv_engine *e, struct adv_srq *srq)
{
	uint32_t number;

	if (e->xrc_used == ADV_MAX_XRC_SRQ - 1)
		return 0;
	for (unsigned i = 0; i < e->ranges; i++) {
		number = take_from_range(e, &e->range[i], srq);
		if (number)
			return number;
	}
	return 0;
}

void adv_xrc_number_release(struct adv_engine *e, uint32_t number)
{
	struct adv_qpn_range *r = adv_qp_number_range_of(e, number);

	r->srq[number - r->first] = NULL;
	r->srqs--;
	e->xrc_used--;
}

struct adv_srq *adv_xrc_number_find(const struct adv_engine *e, uint32_t number)
{
	const struct adv_qpn_range *r = adv_qp_number_range_of(e, number);

	return r && r->srq ? r->srq[number - r->first] : NULL;
}
