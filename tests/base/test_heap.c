/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The heap against a sorted list: order, positions, changes of keys, removal, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/heap.h"
#include "base/rng.h"
#include "no_memory.h"

#define ITEMS 300

struct item {
	uint64_t key;
	uint32_t position;
};

static bool item_before(const void *a, const void *b)
{
	return (*(struct item *const *)a)->key < (*(struct item *const *)b)->key;
}

static void item_moved(void *element, uint32_t position)
{
	(*(struct item **)element)->position = position;
}

static const struct adv_heap_kind item_kind = {sizeof(struct item *), item_before, item_moved};

static bool value_before(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b;
}

static const struct adv_heap_kind value_kind = {sizeof(uint32_t), value_before, NULL};

static struct item items[ITEMS];

static struct item *item_at(const struct adv_heap *h, uint32_t position)
{
	return *(struct item **)adv_heap_at(h, &item_kind, position);
}

/* No element precedes its parent; every item of the heap knows its position, no other has one. */
static void check_items(const struct adv_heap *h)
{
	uint32_t in_heap = 0;

	for (unsigned i = 0; i < ITEMS; i++) {
		if (!items[i].position)
			continue;
		in_heap++;
		assert_ptr_equal(item_at(h, items[i].position), &items[i]);
		if (items[i].position > 1)
			assert_true(item_at(h, items[i].position / 2)->key <= items[i].key);
	}
	assert_int_equal(in_heap, h->count);
}

static void add_item(struct adv_heap *h, unsigned i)
{
	struct item *item = &items[i];

	assert_true(adv_heap_reserve(h, sizeof(item), h->count + 1));
	adv_heap_add(h, &item_kind, &item);
}

static void test_random_changes(void **state)
{
	struct adv_rng rng;
	struct adv_heap h = {0};

	adv_rng_seed(&rng, 1);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)adv_rng_below(&rng, ITEMS);

		/* Few keys, so that many are equal. */
		if (!items[i].position) {
			items[i].key = adv_rng_below(&rng, 40);
			add_item(&h, i);
		} else if (adv_rng_below(&rng, 2)) {
			items[i].key = adv_rng_below(&rng, 40);
			adv_heap_update(&h, &item_kind, items[i].position);
		} else if (adv_rng_below(&rng, 2)) {
			items[i].key = adv_rng_below(&rng, items[i].key + 1);
			adv_heap_update_earlier(&h, &item_kind, items[i].position);
		} else {
			adv_heap_remove(&h, &item_kind, items[i].position);
			assert_int_equal(items[i].position, 0);
		}
		check_items(&h);
	}
	while (h.count)
		adv_heap_remove(&h, &item_kind, 1);
	check_items(&h);
	assert_null(adv_heap_first(&h, &item_kind));
	adv_heap_free(&h);
}

/* The heap returns values in order, whatever the order of adding. */
static void test_values_in_order(void **state)
{
	uint32_t values[] = {5, 3, 9, 3, 0, 7, 1, 8, 2, 6, 4, 9};
	uint32_t last = 0, count = 0;
	struct adv_heap h = {0};

	assert_true(adv_heap_reserve(&h, sizeof(uint32_t), ADV_ARRAY_SIZE(values)));
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(values); i++)
		adv_heap_add(&h, &value_kind, &values[i]);
	for (uint32_t *first; (first = adv_heap_first(&h, &value_kind)); count++) {
		assert_true(*first >= last);
		last = *first;
		adv_heap_remove(&h, &value_kind, 1);
	}
	assert_int_equal(count, ADV_ARRAY_SIZE(values));
	assert_int_equal(last, 9);
	adv_heap_free(&h);
}

/* Without memory the heap keeps its elements and its room. */
static void test_no_memory(void **state)
{
	struct adv_heap h = {0};
	uint32_t value = 7;

	no_memory_at = 1;
	assert_false(adv_heap_reserve(&h, sizeof(value), 1));
	assert_true(adv_heap_reserve(&h, sizeof(value), 1));
	adv_heap_add(&h, &value_kind, &value);
	no_memory_at = 1;
	assert_true(adv_heap_reserve(&h, sizeof(value), 1));
	assert_int_equal(no_memory_at, 1);
	assert_false(adv_heap_reserve(&h, sizeof(value), 1000));
	assert_int_equal(*(uint32_t *)adv_heap_first(&h, &value_kind), 7);
	assert_int_equal(h.count, 1);
	adv_heap_free(&h);
}

/* Each reservation makes room for one more element; the last release frees the memory. */
static void test_reservations(void **state)
{
	struct adv_heap h = {0};

	for (uint32_t i = 0; i < 100; i++) {
		assert_true(adv_heap_reserve_one(&h, sizeof(i)));
		adv_heap_add(&h, &value_kind, &i);
	}
	no_memory_at = 1;
	while (no_memory_at)
		(void)adv_heap_reserve_one(&h, sizeof(uint32_t));
	assert_int_equal(h.reserved + 1, h.slots); /* the refused one does not count */
	while (h.count)
		adv_heap_remove(&h, &value_kind, 1);
	while (h.reserved > 1)
		adv_heap_release_one(&h);
	assert_non_null(h.slot);
	adv_heap_release_one(&h);
	assert_null(h.slot);
	assert_int_equal(h.slots, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_changes),
		cmocka_unit_test(test_values_in_order),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_reservations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
