/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP numbers. Packets of a closed connection may arrive late, or a peer that does not know of the
 * end may retransmit them. So a released number rests as long as possible before another QP gets
 * it. Numbers that were never used are taken first, then the number that was released first.
 */
#include <stdlib.h>

#include "nic/queue/qpn.h"

int adv_engine_add_qpns(struct adv_engine *e, uint32_t first, uint32_t count)
{
	struct adv_qpn_range *r;

	if (count == 0 || first > ADV_QPN_MASK || count > ADV_QPN_MASK - first)
		return EINVAL;
	if (e->ranges == ADV_ENGINE_RANGES)
		return ENOMEM;
	r = &e->range[e->ranges];
	r->qp = calloc(count, sizeof(*r->qp));
	if (!r->qp)
		return ENOMEM;
	r->freed = NULL;
	r->freed_room = 0;
	r->srq = NULL;
	r->srqs = r->srq_next = 0;
	r->first = first;
	r->count = count;
	r->fresh = count;
	r->freed_head = r->freed_count = 0;
	/* Starts at a random number of the range, so that packets to the range's previous owner
	 * find no QP. */
	r->next = (uint32_t)adv_rng_below(&e->rng, count);
	e->ranges++;
	return 0;
}

void adv_qp_numbers_free(struct adv_engine *e)
{
	for (unsigned i = 0; i < e->ranges; i++) {
		free(e->range[i].qp);
		free(e->range[i].freed);
		free(e->range[i].srq);
	}
}

uint32_t adv_engine_qpns_left(const struct adv_engine *e)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < e->ranges; i++)
		n += e->range[i].fresh + e->range[i].freed_count;
	return n;
}

struct adv_qpn_range *adv_qp_number_range_of(const struct adv_engine *e, uint32_t qpn)
{
	for (unsigned i = 0; i < e->ranges; i++)
		if (qpn - e->range[i].first < e->range[i].count)
			return (struct adv_qpn_range *)&e->range[i];
	return NULL;
}

bool adv_engine_has_qpn(const struct adv_engine *e, uint32_t qpn)
{
	return adv_qp_number_range_of(e, qpn) != NULL;
}

struct adv_qp *adv_engine_find_qp(const struct adv_engine *e, uint32_t qpn)
{
	return adv_qp_number_find(e, qpn);
}

/* Returns a range with numbers that were never used. If there is none, returns the range with the
 * most resting numbers, so that each number rests as long as possible. */
static struct adv_qpn_range *range_to_take_from(struct adv_engine *e)
{
	struct adv_qpn_range *best = NULL;

	for (unsigned i = 0; i < e->ranges; i++) {
		struct adv_qpn_range *r = &e->range[i];

		if (r->fresh)
			return r;
		if (r->freed_count && (!best || r->freed_count > best->freed_count))
			best = r;
	}
	return best;
}

/* Makes room for the release of one more number. Returns 0 or ENOMEM. */
static int make_room(struct adv_qpn_range *r)
{
	uint32_t room = r->freed_room ? 2 * r->freed_room : 8;
	uint32_t *freed;

	if (r->count - r->fresh < r->freed_room)
		return 0;
	/* Numbers that were never used are taken first, so no released number was taken yet. */
	assert(r->freed_head == 0);
	room = room < r->count ? room : r->count;
	freed = realloc(r->freed, room * sizeof(*freed));
	if (!freed)
		return ENOMEM;
	r->freed = freed;
	r->freed_room = room;
	return 0;
}

int adv_qp_number_take(struct adv_engine *e, struct adv_qp *qp)
{
	struct adv_qpn_range *r = range_to_take_from(e);
	uint32_t index;

	if (!r)
		return ENOMEM;
	if (r->fresh) {
		if (make_room(r))
			return ENOMEM;
		index = r->next;
		r->next = (r->next + 1) % r->count;
		r->fresh--;
	} else {
		index = r->freed[r->freed_head];
		r->freed_head = (r->freed_head + 1) % r->freed_room;
		r->freed_count--;
	}
	assert(!r->qp[index]);
	r->qp[index] = qp;
	qp->qpn = r->first + index;
	return 0;
}

void adv_qp_number_release(struct adv_engine *e, uint32_t qpn)
{
	struct adv_qpn_range *r = adv_qp_number_range_of(e, qpn);

	r->qp[qpn - r->first] = NULL;
	r->freed[(r->freed_head + r->freed_count++) % r->freed_room] = qpn - r->first;
}
