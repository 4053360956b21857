/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queues of outstanding requests: their order, what is found and dropped, and the counts of CQs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abi/check/work.h"

static const struct adv_check_stack stack = {.count = 1, .frame = {0x1234}};

static struct adv_check_work *add(struct adv_check_queue *q, uint64_t wr_id)
{
	const struct ibv_sge sge[] = {{.addr = 64, .length = 100}, {.addr = 4096, .length = 28}};
	struct adv_check_work *w = adv_check_queue_add(q, wr_id, sge, 2, &stack);

	assert_non_null(w);
	return w;
}

static void test_copy_of_request(void **state)
{
	struct adv_check_queue q;
	struct adv_check_work *w;

	adv_check_queue_init(&q, false, false);
	w = add(&q, 7);
	assert_int_equal(w->wr_id, 7);
	assert_int_equal(w->num_sge, 2);
	assert_int_equal(w->length, 128);
	assert_int_equal(w->sge[1].addr, 4096);
	assert_int_equal(w->posted.frame[0], 0x1234);
	assert_false(w->is_recv);
	w = adv_check_queue_add(&q, 8, NULL, 3, &stack);
	assert_int_equal(w->num_sge, 0);
	adv_check_queue_clear(&q);
	assert_int_equal(q.count, 0);
	assert_true(adv_list_empty(&q.works));
}

/* Records serve again: a later request has room for its SGEs, and nothing of the earlier one. */
static void test_records_serve_again(void **state)
{
	const struct adv_check_stack posted = {.count = 1};
	const struct ibv_sge sge[9] = {{.length = 1}, {.length = 2}, [8] = {.length = 3}};
	struct adv_check_queue q;

	adv_check_queue_init(&q, false, false);
	for (int round = 0; round < 3; round++) {
		for (int n = 0; n <= 9; n++) {
			struct adv_check_work *w =
				adv_check_queue_add(&q, (uint64_t)n, sge, n, &posted);

			assert_non_null(w);
			assert_int_equal(w->num_sge, n);
			assert_memory_equal(w->sge, sge, (size_t)n * sizeof(sge[0]));
			assert_int_equal(w->length, n == 0 ? 0 : n == 1 ? 1 : n < 9 ? 3 : 6);
			assert_false(w->signaled || w->has_mark || w->unpolled);
			w->signaled = w->has_mark = true;
		}
		adv_check_queue_clear(&q);
	}
}

/* Of requests with the same wr_id, the oldest one completes first. */
static void test_oldest_is_found(void **state)
{
	struct adv_check_work *first, *second;
	struct adv_check_queue q;

	adv_check_queue_init(&q, true, false);
	first = add(&q, 1);
	second = add(&q, 1);
	assert_ptr_equal(adv_check_queue_find(&q, 1), first);
	adv_check_queue_remove(&q, first);
	assert_ptr_equal(adv_check_queue_find(&q, 1), second);
	assert_null(adv_check_queue_find(&q, 2));
	adv_check_queue_clear(&q);
}

static void test_newest_are_dropped(void **state)
{
	struct adv_check_queue q;

	adv_check_queue_init(&q, true, false);
	for (uint64_t i = 0; i < 4; i++)
		add(&q, i);
	adv_check_queue_drop_newest(&q, 3);
	assert_int_equal(q.count, 1);
	assert_non_null(adv_check_queue_find(&q, 0));
	adv_check_queue_drop_newest(&q, 5);
	assert_int_equal(q.count, 0);
}

/* A request that leaves the queue is no longer expected in its CQ. */
static void test_count_of_cq(void **state)
{
	uint32_t unpolled = 2;
	struct adv_check_queue q;
	struct adv_check_work *w;

	adv_check_queue_init(&q, false, false);
	w = add(&q, 1);
	w->unpolled = &unpolled;
	add(&q, 2)->unpolled = &unpolled;
	adv_check_queue_remove(&q, w);
	assert_int_equal(unpolled, 1);
	adv_check_queue_clear(&q);
	assert_int_equal(unpolled, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_of_request), cmocka_unit_test(test_records_serve_again),
		cmocka_unit_test(test_oldest_is_found), cmocka_unit_test(test_newest_are_dropped),
		cmocka_unit_test(test_count_of_cq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
