/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Engines that share protection domains, regions and windows. */
#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "../engine/harness.h"
#include "nic/queue/ah.h"
#include "nic/queue/cq.h"
#include "nic/memory/domain.h"
#include "nic/memory/mr.h"
#include "nic/fast/mr_memo.h"
#include "nic/memory/mw.h"
#include "nic/memory/tpt_engines.h"
#include "nic/engine/resources.h"

#define LEN    4096
#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Two engines, each with a QP of the shared PD. */
struct world {
	struct adv_engine *e[2];
	struct adv_pd *pd;
	struct adv_cq *cq[2];
	struct adv_qp *qp[2];
	uint8_t memory[LEN];
	struct adv_mr *mr;
};

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < 2; i++) {
		struct adv_engine_config c = {.seed = {i + 1},
					      .qpn_first = 0x800 * (i + 2),
					      .qpn_count = 0x800,
					      .shares = i ? w->e[0] : NULL};

		w->e[i] = adv_engine_create(&c);
		assert_non_null(w->e[i]);
	}
	w->pd = adv_pd_create(w->e[0]);
	for (unsigned i = 0; i < 2; i++) {
		struct adv_qp_config c = {.type = IBV_QPT_RC, .pd = w->pd, .cap = {1, 1, 1, 1, 0}};

		w->cq[i] = adv_cq_create(w->e[i], 4, NULL);
		c.send_cq = c.recv_cq = w->cq[i];
		w->qp[i] = adv_qp_create(w->e[i], &c);
		assert_non_null(w->qp[i]);
	}
	w->mr = adv_mr_register(w->pd, w->memory, LEN, (uintptr_t)w->memory,
				IBV_ACCESS_LOCAL_WRITE | REMOTE | IBV_ACCESS_MW_BIND);
	assert_non_null(w->mr);
}

static void close_world(struct world *w)
{
	adv_engine_destroy(w->e[1]);
	adv_engine_destroy(w->e[0]);
}

static uint8_t *resolve(const struct world *w, unsigned i, uint32_t key, uint64_t offset,
			uint64_t length)
{
	enum adv_vendor_err why;

	return adv_mw_remote(w->qp[i], w->pd, key, (uintptr_t)w->memory + offset, length,
			     IBV_ACCESS_REMOTE_WRITE, &why);
}

/* Binds a window to all of the region but its first byte. Changes *key to its new key. */
static enum adv_vendor_err bind(struct world *w, unsigned i, struct adv_mw *mw, uint32_t *key)
{
	uint32_t next = (*key & ~0xffu) | ((*key + 1) & 0xff);
	const struct adv_send_wqe wqe = {
		.opcode = mw->type_2 ? (uint8_t)IBV_WR_BIND_MW : (uint8_t)ADV_WR_BIND_TYPE_1,
		.rkey = mw->type_2 ? next : *key,
		.remote_qkey = adv_mr_lkey(w->mr),
		.remote_addr = (uintptr_t)w->memory + 1,
		.compare_add = LEN - 1,
		.swap = REMOTE,
	};
	enum adv_vendor_err why = adv_mw_execute(w->qp[i], &wqe);

	if (!why)
		*key = wqe.rkey;
	return why;
}

/* Queue pairs of both engines use a region, and no longer after its deregistration. */
static void shares_regions(void **state)
{
	struct adv_mr_memo memo = {0};
	struct world w;
	uint32_t key;

	open_world(&w);
	key = adv_mr_rkey(w.mr);
	for (unsigned i = 0; i < 2; i++)
		assert_ptr_equal(resolve(&w, i, key, 5, 10), w.memory + 5);
	assert_non_null(adv_mr_recall(w.qp[1], &memo, key, (uintptr_t)w.memory, 1,
				      IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(adv_mr_deregister(w.mr), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_null(resolve(&w, i, key, 5, 10));
	assert_null(adv_mr_recall(w.qp[1], &memo, key, (uintptr_t)w.memory, 1,
				  IBV_ACCESS_REMOTE_WRITE));
	close_world(&w);
}

/* A change of access applies to the queue pairs of both engines at once. */
static void shares_changes(void **state)
{
	struct adv_mr_memo memo[2] = {{0}, {0}};
	struct world w;

	open_world(&w);
	for (unsigned i = 0; i < 2; i++)
		assert_non_null(adv_mr_recall(w.qp[i], &memo[i], adv_mr_rkey(w.mr),
					      (uintptr_t)w.memory, 1, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(adv_mr_reregister(w.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, w.memory, 8,
					   (uintptr_t)w.memory, 0),
			 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_null(adv_mr_recall(w.qp[i], &memo[i], adv_mr_rkey(w.mr), (uintptr_t)w.memory,
					  9, IBV_ACCESS_REMOTE_WRITE));
		assert_non_null(resolve(&w, i, adv_mr_rkey(w.mr), 0, 8));
	}
	close_world(&w);
}

/* A window of type 1 that one engine binds serves the queue pairs of both. */
static void shares_windows_of_type_1(void **state)
{
	struct adv_mw *mw;
	struct world w;
	uint32_t key;

	open_world(&w);
	mw = adv_mw_create(w.pd, IBV_MW_TYPE_1);
	key = adv_mw_rkey(mw);
	assert_int_equal(bind(&w, 0, mw, &key), ADV_ERR_NONE);
	for (unsigned i = 0; i < 2; i++) {
		assert_ptr_equal(resolve(&w, i, key, 1, LEN - 1), w.memory + 1);
		assert_null(resolve(&w, i, key, 0, 1));
	}
	assert_int_equal(adv_mr_deregister(w.mr), EBUSY);
	adv_mw_destroy(mw);
	for (unsigned i = 0; i < 2; i++)
		assert_null(resolve(&w, i, key, 1, 1));
	assert_int_equal(adv_mr_deregister(w.mr), 0);
	close_world(&w);
}

/* A window of type 2 serves the queue pair that it is bound to. No other queue pair can bind or
 * invalidate it meanwhile. */
static void guards_windows_of_type_2(void **state)
{
	struct adv_mw *mw;
	struct world w;
	uint32_t key;

	open_world(&w);
	mw = adv_mw_create(w.pd, IBV_MW_TYPE_2);
	key = adv_mw_rkey(mw);
	assert_int_equal(bind(&w, 1, mw, &key), ADV_ERR_NONE);
	assert_null(resolve(&w, 0, key, 1, 1));
	assert_ptr_equal(resolve(&w, 1, key, 1, 1), w.memory + 1);
	assert_int_equal(bind(&w, 0, mw, &key), ADV_ERR_WINDOW_BOUND);
	assert_false(adv_mw_invalidate(w.qp[0], key));
	assert_int_equal(adv_qp_destroy(w.qp[1]), 0);
	assert_int_equal(bind(&w, 0, mw, &key), ADV_ERR_NONE);
	assert_ptr_equal(resolve(&w, 0, key, 1, 1), w.memory + 1);
	close_world(&w);
}

#define ROUNDS 200000

struct binder {
	struct world *w;
	unsigned engine;
	struct adv_mw *mw[2]; /* type 1, type 2 */
	unsigned bound;
	unsigned wrong;
};

/* Binds and invalidates the windows, as one engine under its own lock. */
static void *bind_often(void *arg)
{
	struct binder *b = arg;

	for (unsigned n = 0; n < ROUNDS; n++) {
		for (unsigned i = 0; i < 2; i++) {
			uint32_t key = adv_mr_key(&b->mw[i]->key);
			uint8_t *p = resolve(b->w, b->engine, key, 1, LEN - 1);

			b->wrong += p && p != b->w->memory + 1;
			if (bind(b->w, b->engine, b->mw[i], &key))
				continue;
			b->bound++;
			if (i == 1)
				b->wrong += !adv_mw_invalidate(b->w->qp[b->engine], key);
		}
	}
	return NULL;
}

/* Two threads, with one engine each, bind the same windows. */
static void binds_in_two_threads(void **state)
{
	struct binder b[2];
	pthread_t thread[2];
	struct world w;

	open_world(&w);
	b[0] = (struct binder){
		&w,
		0,
		{adv_mw_create(w.pd, IBV_MW_TYPE_1), adv_mw_create(w.pd, IBV_MW_TYPE_2)},
		0,
		0};
	b[1] = b[0];
	b[1].engine = 1;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, bind_often, &b[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(b[0].wrong + b[1].wrong, 0);
	assert_true(b[0].bound > 0 && b[1].bound > 0);
	assert_int_equal(w.mr->windows, 1);
	adv_mw_destroy(b[0].mw[0]);
	adv_mw_destroy(b[0].mw[1]);
	assert_int_equal(w.mr->windows, 0);
	close_world(&w);
}

/* The objects of an owner end in both engines; the PD and the region end with the first. */
static void releases_an_owner(void **state)
{
	static int owner;
	struct world w;
	uint32_t key;

	open_world(&w);
	key = adv_mr_rkey(w.mr);
	w.pd->owner = &owner;
	w.cq[0]->owner = w.cq[1]->owner = &owner;
	adv_engine_release(w.e[1], &owner);
	assert_int_equal(w.e[1]->cq_count, 0);
	assert_non_null(resolve(&w, 0, key, 0, 1));
	adv_engine_release(w.e[0], &owner);
	assert_int_equal(w.e[0]->tpt->pd_count, 0);
	assert_int_equal(w.e[0]->tpt->keys.count, 0);
	close_world(&w);
}

/* Each region and PD is listed once. */
static void lists_regions_once(void **state)
{
	static const enum adv_resource_kind kind[] = {ADV_RESOURCE_MR, ADV_RESOURCE_PD};
	struct adv_object out[4];
	const void *owners[4];
	struct world w;

	open_world(&w);
	for (unsigned k = 0; k < ADV_ARRAY_SIZE(kind); k++) {
		unsigned found = 0;

		for (unsigned i = 0; i < 2; i++) {
			for (uint64_t from = 0; from != ADV_RESOURCES_END;)
				found += adv_engine_resources(w.e[i], kind[k], &from, out, owners,
							      4);
		}
		assert_int_equal(found, 1);
	}
	close_world(&w);
}

/* An engine other than the first uses a copy of an address handle, which lives as long as its
 * requests. */
static void copies_address_handles(void **state)
{
	struct adv_ah *ah = calloc(1, sizeof(*ah)), *copy;
	struct world w;

	open_world(&w);
	ah->pd = w.pd;
	ah->path.sport = 77;
	assert_ptr_equal(adv_ah_of(w.e[0], ah), ah);
	copy = adv_ah_of(w.e[1], ah);
	assert_ptr_not_equal(copy, ah);
	assert_ptr_equal(adv_ah_of(w.e[1], ah), copy);
	assert_true(copy->pd == w.pd && copy->path.sport == 77);
	copy->outstanding = 1;
	adv_ah_destroy(ah);
	assert_int_equal(copy->path.sport, 77);
	adv_ah_release(w.e[1], copy);
	adv_ahs_free(w.e[1]);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_regions),
		cmocka_unit_test(shares_changes),
		cmocka_unit_test(shares_windows_of_type_1),
		cmocka_unit_test(guards_windows_of_type_2),
		cmocka_unit_test(binds_in_two_threads),
		cmocka_unit_test(releases_an_owner),
		cmocka_unit_test(lists_regions_once),
		cmocka_unit_test(copies_address_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
