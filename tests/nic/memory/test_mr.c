/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/memory/domain.h"
#include "nic/memory/mr.h"

#define MANY 3000

struct fixture {
	struct adv_engine *e;
	struct adv_pd *pd;
	struct adv_pd *other;
	uint8_t buf[4096];
};

static int setup(void **state)
{
	struct adv_engine_config c = {.seed = {1, 2, 3, 4}, .qpn_first = 1, .qpn_count = 8};
	struct fixture *f = calloc(1, sizeof(*f));

	f->e = adv_engine_create(&c);
	f->pd = adv_pd_create(f->e);
	f->other = adv_pd_create(f->e);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	adv_engine_destroy(f->e);
	free(f);
	return 0;
}

static uint8_t *resolve(struct fixture *f, uint32_t key, uint64_t va, uint64_t length, int need,
			enum adv_vendor_err *why)
{
	*why = ADV_ERR_NONE;
	return adv_mr_resolve(f->e, f->pd, key, va, length, need, why);
}

static void expect_refused(struct fixture *f, uint32_t key, uint64_t va, uint64_t length, int need,
			   enum adv_vendor_err reason)
{
	enum adv_vendor_err why;

	assert_null(resolve(f, key, va, length, need, &why));
	assert_int_equal(why, reason);
}

static void expect_found(struct fixture *f, uint32_t key, uint64_t va, uint64_t length, int need,
			 const uint8_t *where)
{
	enum adv_vendor_err why;

	assert_ptr_equal(resolve(f, key, va, length, need, &why), where);
}

static void test_bounds(void **state)
{
	struct fixture *f = *state;
	uint64_t va = (uintptr_t)f->buf;
	struct adv_mr *mr = adv_mr_register(f->pd, f->buf, 100, va, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = adv_mr_lkey(mr);

	expect_found(f, key, va, 100, 0, f->buf);
	expect_found(f, key, va + 99, 1, IBV_ACCESS_LOCAL_WRITE, f->buf + 99);
	expect_refused(f, key, va, 101, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va - 1, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va - 1, 2, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va + 100, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va + 99, 2, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va + 1, UINT64_MAX, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, va + 50, UINT64_MAX - va - 49, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, 0, UINT64_MAX, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, UINT64_MAX, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, key, UINT64_MAX, 101, 0, ADV_ERR_LOCAL_BOUNDS);
}

static void test_zero_length_needs_no_key(void **state)
{
	struct fixture *f = *state;
	enum adv_vendor_err why;

	assert_non_null(resolve(f, 12345, 0, 0, IBV_ACCESS_REMOTE_WRITE, &why));
}

static void test_access(void **state)
{
	struct fixture *f = *state;
	uint64_t va = (uintptr_t)f->buf;
	struct adv_mr *mr = adv_mr_register(f->pd, f->buf, 100, va, IBV_ACCESS_REMOTE_READ);
	uint32_t key = adv_mr_rkey(mr);

	expect_found(f, key, va, 1, 0, f->buf);
	expect_found(f, key, va, 1, IBV_ACCESS_REMOTE_READ, f->buf);
	expect_refused(f, key, va, 1, IBV_ACCESS_LOCAL_WRITE, ADV_ERR_LOCAL_ACCESS);
	expect_refused(f, key, va, 1, IBV_ACCESS_REMOTE_WRITE, ADV_ERR_LOCAL_ACCESS);
	expect_refused(f, key, va, 1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		       ADV_ERR_LOCAL_ACCESS);
}

static void test_keys(void **state)
{
	struct fixture *f = *state;
	uint64_t va = (uintptr_t)f->buf;
	struct adv_mr *mr = adv_mr_register(f->pd, f->buf, 100, va, 0);
	struct adv_mr *foreign = adv_mr_register(f->other, f->buf, 100, va, 0);
	uint32_t key = adv_mr_lkey(mr);

	assert_int_equal(key, adv_mr_rkey(mr));
	expect_refused(f, key ^ 1, va, 1, 0, ADV_ERR_LKEY);
	expect_refused(f, key ^ 0x100, va, 1, 0, ADV_ERR_LKEY);
	expect_refused(f, 0, va, 1, 0, ADV_ERR_LKEY);
	expect_refused(f, adv_mr_lkey(foreign), va, 1, 0, ADV_ERR_LKEY_PD);
	assert_int_equal(adv_mr_deregister(mr), 0);
	expect_refused(f, key, va, 1, 0, ADV_ERR_LKEY);
}

static void test_no_region_at_all(void **state)
{
	expect_refused(*state, 77, 0, 1, 0, ADV_ERR_LKEY);
}

static void test_iova(void **state)
{
	struct fixture *f = *state;
	uint64_t top = UINT64_MAX - 100;
	struct adv_mr *zero, *high, *chosen;

	zero = adv_mr_register(f->pd, f->buf, 100, (uintptr_t)f->buf, IBV_ACCESS_ZERO_BASED);
	expect_found(f, adv_mr_lkey(zero), 0, 100, 0, f->buf);
	expect_refused(f, adv_mr_lkey(zero), UINT64_MAX, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, adv_mr_lkey(zero), (uintptr_t)f->buf, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	chosen = adv_mr_register(f->pd, f->buf, 100, 0x1000, 0);
	expect_found(f, adv_mr_lkey(chosen), 0x1063, 1, 0, f->buf + 99);
	expect_refused(f, adv_mr_lkey(chosen), 0xfff, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	high = adv_mr_register(f->pd, f->buf, 100, top, 0);
	assert_non_null(high);
	expect_found(f, adv_mr_lkey(high), top + 99, 1, 0, f->buf + 99);
	expect_refused(f, adv_mr_lkey(high), top + 100, 1, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, adv_mr_lkey(high), top + 99, 2, 0, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(f, adv_mr_lkey(high), 0, 1, 0, ADV_ERR_LOCAL_BOUNDS);
}

/* The arguments of the last page_in() call, and its result. */
static struct {
	bool there;
	unsigned asked;
	void *addr;
	uint64_t length;
	bool to_write;
} pages;

static bool page_in(void *addr, uint64_t length, bool to_write)
{
	pages.asked++;
	pages.addr = addr;
	pages.length = length;
	pages.to_write = to_write;
	return pages.there;
}

static void expect_asked(const void *addr, uint64_t length, bool to_write)
{
	assert_int_equal(pages.asked, 1);
	assert_ptr_equal(pages.addr, addr);
	assert_int_equal(pages.length, length);
	assert_int_equal(pages.to_write, to_write);
	pages.asked = 0;
}

/* Pages of on-demand paging are brought in before each packet touches them. */
static void test_paged(void **state)
{
	struct adv_engine_config c = {
		.seed = {1, 2, 3, 4}, .qpn_first = 1, .qpn_count = 8, .page_in = page_in};
	struct fixture f = {.e = adv_engine_create(&c)};
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	const uint64_t at_once = ADV_PAGED_AT_ONCE;
	struct adv_mr *mr, *every;
	void *where;
	uint32_t key;

	f.pd = adv_pd_create(f.e);
	f.other = adv_pd_create(f.e);
	mr = adv_mr_register(f.pd, f.buf, 4096, 0x10000, all | IBV_ACCESS_ON_DEMAND);
	every = adv_mr_register(f.pd, NULL, UINT64_MAX, 0, all | IBV_ACCESS_ON_DEMAND);
	key = adv_mr_lkey(mr);
	pages.there = true;
	expect_found(&f, key, 0x10005, 7, IBV_ACCESS_REMOTE_READ, f.buf + 5);
	expect_asked(f.buf + 5, 7, false);
	expect_found(&f, key, 0x10000, 4096, IBV_ACCESS_REMOTE_WRITE, f.buf);
	expect_asked(f.buf, 4096, true);
	expect_found(&f, adv_mr_lkey(every), (uintptr_t)f.buf, 100, ADV_ACCESS_LOCAL_READ, f.buf);
	expect_asked(f.buf, 100, false);
	/* For a longer range only the bounds and the access are checked. */
	expect_found(&f, adv_mr_lkey(every), at_once, at_once + 1, IBV_ACCESS_REMOTE_READ,
		     (uint8_t *)(uintptr_t)at_once);
	expect_refused(&f, key, 0x10001, 4096, IBV_ACCESS_REMOTE_READ, ADV_ERR_LOCAL_BOUNDS);
	expect_refused(&f, key, 0x10000, 8, IBV_ACCESS_REMOTE_ATOMIC, ADV_ERR_LOCAL_ACCESS);
	expect_refused(&f, adv_mr_lkey(every), 0, 1, IBV_ACCESS_REMOTE_READ,
		       ADV_ERR_LOCAL_UNMAPPED);
	assert_int_equal(pages.asked, 0);
	pages.there = false;
	expect_refused(&f, key, 0x10000, 8, IBV_ACCESS_LOCAL_WRITE, ADV_ERR_LOCAL_UNMAPPED);
	expect_asked(f.buf, 8, true);
	assert_int_equal(adv_mr_paged(f.pd, key, 0x10010, 8, true, &where), 0);
	assert_ptr_equal(where, f.buf + 16);
	assert_int_equal(adv_mr_paged(f.pd, key, 0x10010, 4096, true, &where), EFAULT);
	assert_int_equal(adv_mr_paged(f.pd, key ^ 1, 0x10010, 8, true, &where), ENOENT);
	assert_int_equal(adv_mr_paged(f.other, key, 0x10010, 8, true, &where), EPERM);
	/* Without on-demand paging page_in() is not called. */
	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0, 0), 0);
	expect_found(&f, key, 0x10000, 8, ADV_ACCESS_LOCAL_READ, f.buf);
	assert_int_equal(adv_mr_paged(f.pd, key, 0x10010, 8, false, &where), EINVAL);
	assert_int_equal(pages.asked, 0);
	adv_engine_destroy(f.e);
}

static void expect_einval(struct adv_pd *pd, void *addr, uint64_t length, uint64_t iova, int access)
{
	errno = 0;
	assert_null(adv_mr_register(pd, addr, length, iova, access));
	assert_int_equal(errno, EINVAL);
}

static void test_refused_registrations(void **state)
{
	struct fixture *f = *state;
	uint64_t va = (uintptr_t)f->buf;

	expect_einval(f->pd, f->buf, 10, va, IBV_ACCESS_REMOTE_WRITE);
	expect_einval(f->pd, f->buf, 10, va, IBV_ACCESS_REMOTE_ATOMIC);
	expect_einval(f->pd, f->buf, 10, va, 1 << 15);
	expect_einval(f->pd, f->buf, UINT64_MAX, va, 0);
	expect_einval(f->pd, f->buf, 10, UINT64_MAX - 8, 0);
	assert_int_equal(f->pd->users, 0);
	assert_non_null(adv_mr_register(f->pd, f->buf, 10, va, IBV_ACCESS_RELAXED_ORDERING));
	expect_refused(f, adv_mr_lkey(adv_mr_register(f->pd, f->buf, 0, va, 0)), va, 1,
		       ADV_ACCESS_LOCAL_READ, ADV_ERR_LOCAL_BOUNDS);
}

static void test_reregister(void **state)
{
	struct fixture *f = *state;
	uint64_t va = (uintptr_t)f->buf;
	struct adv_mr *mr = adv_mr_register(f->pd, f->buf, 100, va, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = adv_mr_lkey(mr);

	assert_int_equal(adv_mr_reregister(mr, 0, NULL, NULL, 0, 0, 0), EINVAL);
	assert_int_equal(adv_mr_reregister(mr, 8, NULL, NULL, 0, 0, 0), EINVAL);
	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0, 0),
			 EINVAL);
	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
					   IBV_ACCESS_REMOTE_WRITE),
			 EINVAL);
	assert_int_equal(
		adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, f->buf, 0, va, 0),
		EINVAL);
	expect_found(f, key, va, 100, IBV_ACCESS_LOCAL_WRITE, f->buf);

	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, f->buf + 1000,
					   50, 0x5000, 0),
			 0);
	assert_int_not_equal(adv_mr_lkey(mr), key);
	expect_refused(f, key, va, 1, 0, ADV_ERR_LKEY);
	key = adv_mr_lkey(mr);
	expect_found(f, key, 0x5001, 49, IBV_ACCESS_LOCAL_WRITE, f->buf + 1001);
	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0, 0), 0);
	assert_int_equal(adv_mr_lkey(mr), key);
	expect_refused(f, key, 0x5001, 49, IBV_ACCESS_LOCAL_WRITE, ADV_ERR_LOCAL_ACCESS);
	assert_int_equal(adv_mr_reregister(mr, IBV_REREG_MR_CHANGE_PD, f->other, NULL, 0, 0, 0), 0);
	assert_int_equal(adv_mr_lkey(mr), key);
	expect_refused(f, key, 0x5001, 1, 0, ADV_ERR_LKEY_PD);
	assert_int_equal(f->pd->users, 0);
	assert_int_equal(adv_pd_destroy(f->other), EBUSY);
	assert_int_equal(adv_mr_deregister(mr), 0);
}

static void test_pd_counts(void **state)
{
	struct fixture *f = *state;
	struct adv_pd *pd = adv_pd_create(f->e);
	struct adv_mr *mr = adv_mr_register(pd, f->buf, 1, 0, 0);

	assert_int_equal(adv_pd_destroy(pd), EBUSY);
	adv_mr_deregister(mr);
	assert_int_equal(adv_pd_destroy(pd), 0);
}

/* While the table grows and keys are removed, every key finds its own region and no other. */
static void test_many(void **state)
{
	struct fixture *f = *state;
	struct adv_mr **mr = calloc(MANY, sizeof(*mr));
	uint32_t *gone = calloc(MANY, sizeof(*gone));
	struct adv_rng rng;

	adv_rng_seed(&rng, 3);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < MANY; i++) {
			if (adv_rng_below(&rng, 2))
				continue;
			if (mr[i]) {
				gone[i] = adv_mr_lkey(mr[i]);
				adv_mr_deregister(mr[i]);
				mr[i] = NULL;
			} else {
				mr[i] = adv_mr_register(f->pd, f->buf + i, 1, 0, 0);
			}
		}
		for (int i = 0; i < MANY; i++) {
			if (mr[i])
				expect_found(f, adv_mr_lkey(mr[i]), 0, 1, 0, f->buf + i);
			else if (gone[i])
				expect_refused(f, gone[i], 0, 1, 0, ADV_ERR_LKEY);
		}
	}
	for (int i = 0; i < MANY; i++)
		if (mr[i])
			adv_mr_deregister(mr[i]);
	assert_int_equal(f->e->tpt->keys.count, 0);
	assert_int_equal(f->pd->users, 0);
	free(mr);
	free(gone);
}

/* With keys of the same bucket, a removal must not end a probe too early. */
static void test_clusters(void **state)
{
	struct fixture *f = *state;
	struct adv_mr *mr[24];

	for (int i = 0; i < 24; i++)
		mr[i] = adv_mr_register(f->pd, f->buf + i, 1, 0, 0);
	/* The test puts the keys into a cluster that wraps around the end of the table. */
	memset(f->e->tpt->keys.slot, 0, f->e->tpt->keys.room * sizeof(struct adv_mr *));
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t name = (f->e->tpt->keys.room - 4 + i % 5) | (i + 1) << 12;

		mr[i]->key = name << 8;
		for (uint32_t k = name & (f->e->tpt->keys.room - 1);;
		     k = (k + 1) % f->e->tpt->keys.room) {
			if (f->e->tpt->keys.slot[k])
				continue;
			f->e->tpt->keys.slot[k] = mr[i];
			break;
		}
	}
	for (int i = 0; i < 24; i++) {
		int out = (i * 7) % 24;

		adv_mr_deregister(mr[out]);
		mr[out] = NULL;
		for (int k = 0; k < 24; k++)
			if (mr[k])
				expect_found(f, mr[k]->key, 0, 1, 0, f->buf + k);
	}
	assert_int_equal(f->e->tpt->keys.count, 0);
}

static void test_keys_are_random_and_unique(void **state)
{
	struct fixture *f = *state;
	uint8_t *seen = calloc(1, 1 << 24);
	uint32_t ored = 0, anded = UINT32_MAX;

	for (int i = 0; i < MANY; i++) {
		struct adv_mr *mr = adv_mr_register(f->pd, f->buf, 1, 0, 0);
		uint32_t key = adv_mr_lkey(mr);

		assert_int_not_equal(key >> 8, 0);
		assert_int_equal(seen[key >> 8], 0);
		seen[key >> 8] = 1;
		ored |= key;
		anded &= key;
	}
	assert_int_equal(ored, UINT32_MAX);
	assert_int_equal(anded, 0);
	free(seen);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_bounds),
		T(test_zero_length_needs_no_key),
		T(test_access),
		T(test_keys),
		T(test_no_region_at_all),
		T(test_iova),
		cmocka_unit_test(test_paged),
		T(test_refused_registrations),
		T(test_reregister),
		T(test_pd_counts),
		T(test_many),
		T(test_clusters),
		T(test_keys_are_random_and_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
