/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue of kept packets: the order and the time in which they are due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/fault/queue.h"

static void test_order(void **unused)
{
	struct adv_fault_held h[4] = {
		{.due = 30}, {.due = 10}, {.due = 30}, {.due = 90, .behind = 2}};
	struct adv_fault_queue q;

	adv_fault_queue_init(&q);
	assert_int_equal(adv_fault_queue_due(&q), UINT64_MAX);
	assert_null(adv_fault_queue_take(&q, 100));
	for (unsigned i = 0; i < 4; i++)
		adv_fault_queue_put(&q, &h[i]);
	assert_int_equal(q.count, 4);
	assert_int_equal(q.behind, 1);
	assert_int_equal(adv_fault_queue_due(&q), 10);
	assert_null(adv_fault_queue_take(&q, 9));
	assert_ptr_equal(adv_fault_queue_take(&q, 10), &h[1]);
	adv_fault_queue_passed(&q, 15);
	assert_int_equal(adv_fault_queue_due(&q), 30);
	adv_fault_queue_passed(&q, 20);
	assert_int_equal(q.behind, 0);
	adv_fault_queue_passed(&q, 20);
	assert_ptr_equal(adv_fault_queue_take(&q, 20), &h[3]);
	assert_null(adv_fault_queue_take(&q, 20));
	assert_ptr_equal(adv_fault_queue_take(&q, 30), &h[0]);
	assert_ptr_equal(adv_fault_queue_take(&q, 30), &h[2]);
	assert_int_equal(q.count, 0);
}

/* A packet is due at its time even if fewer packets overtook it than the plan demands. */
static void test_time_before_overtaking(void **unused)
{
	struct adv_fault_queue q;
	struct adv_fault_held h[3];

	adv_fault_queue_init(&q);
	for (unsigned i = 0; i < 3; i++) {
		h[i] = (struct adv_fault_held){.due = 50 + i, .behind = 1 + i};
		adv_fault_queue_put(&q, &h[i]);
	}
	assert_int_equal(q.behind, 3);
	assert_ptr_equal(adv_fault_queue_take(&q, 50), &h[0]);
	assert_int_equal(q.behind, 2);
	adv_fault_queue_passed(&q, 51);
	adv_fault_queue_passed(&q, 51);
	assert_int_equal(q.behind, 1);
	adv_fault_queue_passed(&q, 51);
	assert_int_equal(q.behind, 0);
	assert_ptr_equal(adv_fault_queue_take(&q, 51), &h[1]);
	assert_ptr_equal(adv_fault_queue_take(&q, 51), &h[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_time_before_overtaking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
