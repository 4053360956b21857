/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory windows. Each area may have one window. Requests of the owner's send queue bind and
 * invalidate it. The peer uses the window's key, and may invalidate the window by a SEND with
 * invalidate.
 */
#include "sim.h"

#define COUNTER_BYTES (8u * SIM_COUNTERS)
#define ACCESS	      (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

bool is_window_request(int opcode)
{
	return opcode == IBV_WR_BIND_MW || opcode == (int)ADV_WR_BIND_TYPE_1 ||
	       opcode == IBV_WR_LOCAL_INV;
}

/* Returns the area that the stream's owner provides for its peer. */
static struct area *own_area(const struct stream *st)
{
	return &st->from->in->area;
}

static void make_window(struct sim *s, struct area *a, struct host *h)
{
	if (a->window)
		return;
	a->window_type = chance(s, WINDOWS, 500) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	a->window = adv_mw_create(h->pd, a->window_type);
	REQUIRE(s, a->window, "no memory window");
	a->window_key = adv_mw_rkey(a->window);
}

/* Draws, at times, a request for the window of the stream owner's area. False: no request. */
bool window_choose(struct stream *st, struct request *q)
{
	struct sim *s = st->from->host->sim;
	struct area *a;

	if (!st->from->c->windows || !chance(s, WINDOWS, 40))
		return false;
	a = own_area(st);
	if (!a->r || st->from->in->area_gone)
		return false;
	if (a->window_state == WINDOW_NONE) {
		make_window(s, a, st->from->host);
	} else if (a->window_state != WINDOW_BOUND || a->window_users) {
		return false;
	} else if (a->window_type == IBV_MW_TYPE_2) {
		q->opcode = IBV_WR_LOCAL_INV;
		a->window_state = WINDOW_CHANGING;
		return true;
	}
	q->opcode = a->window_type == IBV_MW_TYPE_1 ? (int)ADV_WR_BIND_TYPE_1 : IBV_WR_BIND_MW;
	a->window_state = WINDOW_CHANGING;
	return true;
}

void window_fill(struct stream *st, const struct request *q, struct ibv_send_wr *wr)
{
	struct area *a = own_area(st);

	if (q->opcode == IBV_WR_LOCAL_INV) {
		wr->invalidate_rkey = a->window_key;
		return;
	}
	a->ibv_mw.type = a->window_type;
	a->ibv_mw.rkey = a->window_key;
	a->ibv_mr.lkey = a->r->key;
	/* The window covers the whole area, or the counters and half of the slots. */
	a->window_len = a->r->len;
	if (chance(st->from->host->sim, WINDOWS, 500))
		a->window_len = COUNTER_BYTES + (uint64_t)a->slots / 2 * a->slot_size;
	wr->bind_mw.mw = &a->ibv_mw;
	wr->bind_mw.rkey = ibv_inc_rkey(a->window_key);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = &a->ibv_mr,
		.addr = a->r->iova,
		.length = a->window_len,
		.mw_access_flags = ACCESS,
	};
	a->window_key = wr->bind_mw.rkey;
}

/* Draws whether a SEND invalidates the peer's window. */
bool window_send_invalidates(struct stream *st, struct request *q)
{
	struct sim *s = st->from->host->sim;
	struct area *a = &st->area;

	if (q->opcode != IBV_WR_SEND || q->bad || a->window_state != WINDOW_BOUND ||
	    a->window_type != IBV_MW_TYPE_2 || a->window_users || !chance(s, WINDOWS, 300))
		return false;
	q->opcode = IBV_WR_SEND_WITH_INV;
	a->window_state = WINDOW_CHANGING;
	return true;
}

/* Chooses the key of a request: the window's or the region's. */
uint32_t window_or_region_key(struct stream *st, struct request *q)
{
	struct area *a = &st->area;

	if (a->window_state != WINDOW_BOUND || q->opcode == (int)ADV_WR_FLUSH || q->shared ||
	    !chance(st->from->host->sim, WINDOWS, 500))
		return a->r->key;
	if (q->counting ? 0 : q->offset + (uint64_t)q->len > a->window_len)
		return a->r->key;
	q->by_window = true;
	return a->window_key;
}

void window_posted(struct stream *st, const struct request *q)
{
	st->area.window_users += q->by_window;
}

/* Updates the model after the success of a request that used, bound or invalidated a window. */
void window_done(struct stream *st, const struct request *q)
{
	struct area *a = &st->area;

	a->window_users -= q->by_window;
	if (is_window_request(q->opcode))
		a = own_area(st);
	else if (q->opcode != IBV_WR_SEND_WITH_INV)
		return;
	if (q->opcode == IBV_WR_LOCAL_INV || q->opcode == IBV_WR_SEND_WITH_INV) {
		a->old_key = a->window_key;
		a->window_state = WINDOW_NONE;
		return;
	}
	/* The previous key is invalid now. */
	a->old_key = (a->window_key & ~0xffu) | ((a->window_key - 1) & 0xff);
	a->window_state = WINDOW_BOUND;
	st->from->host->sim->total.bound++;
}

/* Updates the model after a reset or destruction of the QP that bound a window. This ends a type 2
 * binding (IBTA vol. 1, 10.6.7). */
void window_lost(const struct end *end)
{
	struct area *a = end->in ? &end->in->area : NULL;

	if (!a || a->window_state != WINDOW_BOUND || a->window_type != IBV_MW_TYPE_2)
		return;
	a->old_key = a->window_key;
	a->window_state = WINDOW_NONE;
}

/* Ends the window of an area: the connection broke, or the area is deregistered. */
void window_forget(struct area *a)
{
	if (a->window && a->r && a->r->host->e)
		adv_mw_destroy(a->window);
	if (a->window)
		a->old_key = a->window_key;
	a->window = NULL;
	a->window_state = WINDOW_NONE;
	a->window_users = 0;
}
