/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists: order, removal, and the two loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/list.h"

struct entry {
	unsigned number;
	struct adv_list node;
};

static struct adv_list head;
static struct entry entries[4];

/* A list of the entries 0, 1, 2, 3. */
static void make_list(void)
{
	adv_list_init(&head);
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(entries); i++) {
		entries[i].number = i;
		adv_list_add_tail(&head, &entries[i].node);
	}
}

static void test_for_each(void **state)
{
	unsigned next = 0;

	make_list();
	adv_list_for_each(struct entry, e, &head, node)
		assert_ptr_equal(e, &entries[next++]);
	assert_int_equal(next, 4);
	next = 0;
	adv_list_for_each(const struct entry, e, &head, node) {
		if (e->number == 1)
			continue;
		if (e->number == 3)
			break;
		next += 10 + e->number;
	}
	assert_int_equal(next, 10 + 12);
	adv_list_init(&head);
	assert_int_equal(adv_list_length(&head), 0);
}

static void test_for_each_safe(void **state)
{
	unsigned next = 0;

	make_list();
	adv_list_for_each_safe(struct entry, e, &head, node) {
		assert_ptr_equal(e, &entries[next++]);
		if (e->number % 2) {
			adv_list_del(&e->node);
			e->number = 100;
		}
	}
	assert_int_equal(next, 4);
	assert_int_equal(adv_list_length(&head), 2);
	adv_list_for_each_safe(struct entry, e, &head, node)
		adv_list_del(&e->node);
	assert_true(adv_list_empty(&head));
}

static void test_nested(void **state)
{
	unsigned pairs = 0;

	make_list();
	adv_list_for_each(const struct entry, a, &head, node)
		adv_list_for_each(const struct entry, b, &head, node)
			pairs += a->number < b->number;
	assert_int_equal(pairs, 6);
}

static void test_add_and_move(void **state)
{
	struct adv_list other;

	make_list();
	adv_list_init(&other);
	adv_list_move_tail(&other, &head);
	assert_true(adv_list_empty(&head));
	adv_list_move_tail(&other, &head);
	assert_int_equal(adv_list_length(&other), 4);
	adv_list_del(&entries[2].node);
	assert_true(adv_list_empty(&entries[2].node));
	adv_list_del(&entries[2].node);
	adv_list_add(&other, &entries[2].node);
	assert_ptr_equal(other.next, &entries[2].node);
	assert_int_equal(adv_list_length(&other), 4);
	adv_list_move_tail(&head, &other);
	assert_ptr_equal(head.next, &entries[2].node);
	assert_ptr_equal(head.prev, &entries[3].node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_for_each),
		cmocka_unit_test(test_for_each_safe),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_add_and_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
