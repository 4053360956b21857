/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hash table: entries, collisions, growth, and no memory to grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/siphash.h"
#include "base/table.h"
#include "no_memory.h"

struct entry {
	struct adv_table_node node;
	unsigned number;
};

static struct entry *find_entry(const struct adv_table *t, const uint64_t key[2], unsigned number)
{
	uint64_t hash = adv_siphash(key, number);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(t, hash, n))) {
		struct entry *e = adv_container_of(n, struct entry, node);

		if (e->number == number)
			return e;
	}
	return NULL;
}

static void test_many(void **state)
{
	static const uint64_t key[2] = {1, 2};
	enum { ENTRIES = 10000 };
	struct entry *entries = calloc(ENTRIES, sizeof(*entries));
	struct adv_table t;
	unsigned i;

	assert_non_null(entries);
	assert_int_equal(adv_table_init(&t), 0);
	for (i = 0; i < ENTRIES; i++) {
		entries[i].number = i;
		adv_table_node_init(&entries[i].node);
		assert_false(adv_table_node_is_in(&entries[i].node));
		adv_table_remove(&t, &entries[i].node);
		adv_table_add(&t, &entries[i].node, adv_siphash(key, i));
	}
	assert_int_equal(t.count, ENTRIES);
	assert_true(t.buckets >= ENTRIES / 2);
	for (i = 0; i < ENTRIES; i++)
		assert_ptr_equal(find_entry(&t, key, i), &entries[i]);
	for (i = 0; i < ENTRIES; i += 2)
		adv_table_remove(&t, &entries[i].node);
	for (i = 0; i < ENTRIES; i++)
		assert_ptr_equal(find_entry(&t, key, i), i % 2 ? &entries[i] : NULL);
	assert_int_equal(t.count, ENTRIES / 2);
	adv_table_free(&t);
	free(entries);
}

/* Equal hashes, and different hashes in one bucket. */
static void test_collisions(void **state)
{
	struct entry e[4];
	struct adv_table t;
	unsigned i;

	assert_int_equal(adv_table_init(&t), 0);
	for (i = 0; i < 4; i++) {
		adv_table_node_init(&e[i].node);
		adv_table_add(&t, &e[i].node, i < 3 ? 5 : 5 + 64);
	}
	assert_ptr_equal(adv_table_next(&t, 5, NULL), &e[0].node);
	assert_ptr_equal(adv_table_next(&t, 5, &e[0].node), &e[1].node);
	assert_ptr_equal(adv_table_next(&t, 5, &e[2].node), NULL);
	assert_ptr_equal(adv_table_next(&t, 69, NULL), &e[3].node);
	adv_table_free(&t);
}

/* More entries than buckets, while there is no memory for more buckets. */
static void test_no_memory(void **state)
{
	struct adv_table_node node[200];
	struct adv_table t;
	unsigned i;

	assert_int_equal(adv_table_init(&t), 0);
	for (i = 0; i < 200; i++) {
		adv_table_node_init(&node[i]);
		no_memory_at = 1;
		adv_table_add(&t, &node[i], i);
	}
	no_memory_at = 0;
	assert_int_equal(t.buckets, 64);
	for (i = 0; i < 200; i++)
		assert_ptr_equal(adv_table_next(&t, i, NULL), &node[i]);
	adv_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
