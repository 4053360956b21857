/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows: a part of a region under a key of its own (IBTA 10.6.7). */
#include <stdlib.h>

#include "nic/memory/domain.h"
#include "nic/memory/mw.h"
#include "nic/memory/paging.h"
#include "nic/memory/tpt_engines.h"

#define WINDOW_ACCESS                                                                              \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED)
/* Access bits that programs set, too. They have no effect on a window. */
#define IGNORED_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE)

/* The engine frees each entry of its table of keys by its struct adv_mr pointer. */
_Static_assert(offsetof(struct adv_mw, key) == 0, "a window is where its key is");

struct adv_mw *adv_mw_create(struct adv_pd *pd, enum ibv_mw_type type)
{
	struct adv_mw *mw;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		return adv_reason_no_object(EINVAL, "type %d: only 1 and 2 exist", (int)type);
	}
	mw = calloc(1, sizeof(*mw));
	if (!mw || adv_mr_insert(adv_tpt_first_engine(pd->tpt), &mw->key)) {
		free(mw);
		errno = ENOMEM;
		return NULL;
	}
	mw->key.window = mw;
	pd->tpt->mw_count++;
	mw->pd = pd;
	mw->type_2 = type == IBV_MW_TYPE_2;
	if (!mw->type_2)
		mw->key.pd = pd;
	adv_list_init(&mw->node);
	pd->users++;
	return mw;
}

/* Waits until the QP's peer does not read this memory any more, as the payload of a long response
 * to a READ. Call it without the lock of windows: the peer may be stopped. */
static void withdraw_memory(const struct adv_qp *qp, const void *addr, uint64_t length)
{
	const struct adv_engine *e = qp->engine;

	if (qp->resp.long_sent && e->withdraw)
		e->withdraw(e->long_user, NULL, addr, length);
}

/* With the lock of windows. */
static void unbind_window(struct adv_mw *mw)
{
	if (!mw->region)
		return;
	mw->region->windows--;
	mw->region = NULL;
	mw->qp = NULL;
	adv_mr_grant(adv_tpt_first_engine(mw->pd->tpt), &mw->key, 0);
	adv_list_del(&mw->node);
}

void adv_mw_destroy(struct adv_mw *mw)
{
	if (mw->region && mw->qp)
		withdraw_memory(mw->qp, mw->key.addr, mw->key.length);
	unbind_window(mw);
	adv_mr_table_remove(&mw->pd->tpt->keys, mw->key.key);
	adv_tpt_changed(mw->pd->tpt);
	mw->pd->tpt->mw_count--;
	mw->pd->users--;
	free(mw);
}

uint32_t adv_mw_rkey(const struct adv_mw *mw)
{
	return mw->key.key;
}

void adv_mw_forget(struct adv_qp *qp)
{
	while (!adv_list_empty(&qp->windows)) {
		adv_tpt_lock_windows(qp->engine->tpt);
		unbind_window(adv_container_of(qp->windows.next, struct adv_mw, node));
		adv_tpt_unlock_windows(qp->engine->tpt);
	}
}

static struct adv_mw *find_window(const struct adv_qp *qp, uint32_t rkey)
{
	const struct adv_mr *key = adv_mr_table_find(&qp->engine->tpt->keys, rkey);

	return key && key->window && key->window->pd == qp->pd ? key->window : NULL;
}

/* Returns the region that the request names, if the window may be bound to it (C10-72 to C10-75).
 * Else returns NULL, and *why has the cause. */
static struct adv_mr *region_for(const struct adv_qp *qp, const struct adv_send_wqe *wqe,
				 enum adv_vendor_err *why)
{
	struct adv_mr *mr = adv_mr_table_find(&qp->engine->tpt->keys, wqe->remote_qkey);
	int access = (int)wqe->swap;

	*why = ADV_ERR_BIND_LKEY;
	if (!mr || mr->window || mr->key != wqe->remote_qkey || mr->pd != qp->pd)
		return NULL;
	*why = ADV_ERR_BIND_ACCESS;
	if (!(mr->granted & IBV_ACCESS_MW_BIND) || (mr->granted & IBV_ACCESS_ZERO_BASED))
		return NULL;
	if (access & ~(WINDOW_ACCESS | IGNORED_ACCESS))
		return NULL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(mr->granted & IBV_ACCESS_LOCAL_WRITE))
		return NULL;
	*why = ADV_ERR_BIND_BOUNDS;
	if (!adv_mr_contains(mr, wqe->remote_addr, wqe->compare_add))
		return NULL;
	return mr;
}

/* With the lock of windows. */
static enum adv_vendor_err bind_window(struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	struct adv_mw *mw = find_window(qp, wqe->rkey);
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_mr *mr = NULL;

	if (!mw || mw->type_2 != (wqe->opcode == IBV_WR_BIND_MW))
		return ADV_ERR_WINDOW;
	/* A bound window of type 2 must be invalidated before a new binding, which has a new
	 * key. */
	if (mw->type_2 && mw->region)
		return ADV_ERR_WINDOW_BOUND;
	if (mw->type_2 && wqe->compare_add == 0)
		return ADV_ERR_WINDOW_LENGTH;
	if (mw->type_2 && wqe->rkey == mw->key.key)
		return ADV_ERR_WINDOW_KEY;
	if (wqe->compare_add) {
		mr = region_for(qp, wqe, &why);
		if (!mr)
			return why;
	}
	unbind_window(mw);
	__atomic_store_n(&mw->key.key, wqe->rkey, __ATOMIC_RELAXED);
	if (!mr)
		return ADV_ERR_NONE;
	adv_mr_grant(qp->engine, &mw->key,
		     ((int)wqe->swap & WINDOW_ACCESS) | (mr->granted & IBV_ACCESS_ON_DEMAND));
	mw->key.addr = (uint8_t *)((uintptr_t)mr->addr + (wqe->remote_addr - mr->iova));
	mw->key.length = wqe->compare_add;
	mw->key.iova = mw->key.granted & IBV_ACCESS_ZERO_BASED ? 0 : wqe->remote_addr;
	mw->region = mr;
	mr->windows++;
	if (mw->type_2) {
		mw->qp = qp;
		adv_list_add_tail(&qp->windows, &mw->node);
	}
	return ADV_ERR_NONE;
}

enum adv_vendor_err adv_mw_execute(struct adv_qp *qp, const struct adv_send_wqe *wqe)
{
	enum adv_vendor_err why;

	if (wqe->opcode == IBV_WR_LOCAL_INV)
		return adv_mw_invalidate(qp, wqe->imm) ? ADV_ERR_NONE : ADV_ERR_LOCAL_INVALIDATE;
	adv_tpt_lock_windows(qp->engine->tpt);
	why = bind_window(qp, wqe);
	adv_tpt_unlock_windows(qp->engine->tpt);
	return why;
}

/* With the lock of windows. Returns the window with this key if it is bound to the QP; else NULL.
 */
static struct adv_mw *bound_window(const struct adv_qp *qp, uint32_t rkey)
{
	struct adv_mw *mw = find_window(qp, rkey);

	return mw && mw->type_2 && mw->key.key == rkey && mw->qp == qp ? mw : NULL;
}

bool adv_mw_invalidate(struct adv_qp *qp, uint32_t rkey)
{
	const void *addr = NULL;
	uint64_t length = 0;
	struct adv_mw *mw;

	adv_tpt_lock_windows(qp->engine->tpt);
	mw = bound_window(qp, rkey);
	if (mw) {
		addr = mw->key.addr;
		length = mw->key.length;
		unbind_window(mw);
	}
	adv_tpt_unlock_windows(qp->engine->tpt);
	if (mw)
		withdraw_memory(qp, addr, length);
	return mw;
}
