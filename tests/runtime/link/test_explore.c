/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The explorer finds known errors, and reports none in correct programs. */
#include "explore_atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct {
	_Alignas(8) _Atomic uint32_t x, y;
	_Atomic uint32_t seen_x, seen_y;
} shared;

static bool with_fence;
static int order;

static void begin_execution(struct explore *e)
{
	memset(&shared, 0, sizeof(shared));
	e->shared[0] = (struct explore_region){&shared, sizeof(shared)};
	e->regions = 1;
}

/* ---- each actor stores, then loads the other's variable ---- */

static void store_x(void *user)
{
	atomic_store_explicit(&shared.x, 1, memory_order_relaxed);
	if (with_fence)
		atomic_thread_fence(memory_order_seq_cst);
	shared.seen_y = atomic_load_explicit(&shared.y, memory_order_relaxed);
}

static void store_y(void *user)
{
	atomic_store_explicit(&shared.y, 1, memory_order_relaxed);
	if (with_fence)
		atomic_thread_fence(memory_order_seq_cst);
	shared.seen_x = atomic_load_explicit(&shared.x, memory_order_relaxed);
}

static const char *one_sees_the_other(struct explore *e)
{
	return shared.seen_x || shared.seen_y ? NULL : "neither saw the other";
}

static void test_store_load(void **state)
{
	struct explore e = {
		begin_execution, one_sees_the_other, {store_x, store_y}, 2, {{0}}, 0, NULL};
	struct explore_result r;

	with_fence = true;
	r = explore_all(&e);
	assert_null(r.wrong);
	assert_true(r.states > 10);
	with_fence = false;
	r = explore_all(&e);
	assert_string_equal(r.wrong, "neither saw the other");
}

/* ---- one actor publishes a value for the other ---- */

static void hand_over(void *user)
{
	atomic_store_explicit(&shared.x, 7, memory_order_relaxed);
	atomic_store_explicit(&shared.y, 1, order);
}

static void take_over(void *user)
{
	if (atomic_load_explicit(&shared.y, memory_order_acquire))
		shared.seen_x = 1 + atomic_load_explicit(&shared.x, memory_order_relaxed);
}

static const char *all_or_nothing(struct explore *e)
{
	return shared.seen_x == 0 || shared.seen_x == 8 ? NULL : "the flag came first";
}

static void test_release(void **state)
{
	struct explore e = {
		begin_execution, all_or_nothing, {hand_over, take_over}, 2, {{0}}, 0, NULL};

	order = memory_order_release;
	assert_null(explore_all(&e).wrong);
	order = memory_order_relaxed;
	assert_string_equal(explore_all(&e).wrong, "the flag came first");
}

/* ---- one actor waits for the other ---- */

static bool x_is_set(void *user)
{
	return shared.x != 0;
}

static void wait_for_x(void *user)
{
	shared.seen_x = explore_wait(x_is_set, NULL);
}

static void exchange_x(void *user)
{
	if (!user)
		(void)atomic_exchange_explicit(&shared.x, 1, memory_order_relaxed);
}

static const char *was_woken(struct explore *e)
{
	return shared.seen_x ? NULL : "it was not woken";
}

static void test_wait(void **state)
{
	struct explore e = {
		begin_execution, was_woken, {wait_for_x, exchange_x}, 2, {{0}}, 0, NULL};

	assert_null(explore_all(&e).wrong);
	e.user = &e;
	assert_string_equal(explore_all(&e).wrong, "an actor sleeps that no other wakes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store_load),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
