/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "harness.h"

struct entry {
	struct adv_cm_node node;
	unsigned number;
};

static struct entry *find(const struct adv_cm_table *t, const uint64_t key[2], unsigned number)
{
	uint64_t hash = adv_cm_hash(key, number, 0);
	struct adv_cm_node *n = NULL;

	while ((n = adv_cm_table_next(t, hash, n))) {
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
	struct adv_cm_table t;
	unsigned i;

	assert_non_null(entries);
	assert_int_equal(adv_cm_table_init(&t), 0);
	for (i = 0; i < ENTRIES; i++) {
		entries[i].number = i;
		adv_cm_node_init(&entries[i].node);
		assert_false(adv_cm_node_in_table(&entries[i].node));
		adv_cm_table_remove(&t, &entries[i].node);
		adv_cm_table_add(&t, &entries[i].node, adv_cm_hash(key, i, 0));
	}
	assert_int_equal(t.count, ENTRIES);
	assert_true(t.buckets >= ENTRIES / 2);
	for (i = 0; i < ENTRIES; i++)
		assert_ptr_equal(find(&t, key, i), &entries[i]);
	for (i = 0; i < ENTRIES; i += 2)
		adv_cm_table_remove(&t, &entries[i].node);
	for (i = 0; i < ENTRIES; i++)
		assert_ptr_equal(find(&t, key, i), i % 2 ? &entries[i] : NULL);
	assert_int_equal(t.count, ENTRIES / 2);
	adv_cm_table_free(&t);
	free(entries);
}

/* The same hash, and hashes that only share a bucket. */
static void test_collisions(void **state)
{
	struct entry e[4];
	struct adv_cm_table t;
	unsigned i;

	assert_int_equal(adv_cm_table_init(&t), 0);
	for (i = 0; i < 4; i++) {
		adv_cm_node_init(&e[i].node);
		adv_cm_table_add(&t, &e[i].node, i < 3 ? 5 : 5 + 64);
	}
	assert_ptr_equal(adv_cm_table_next(&t, 5, NULL), &e[0].node);
	assert_ptr_equal(adv_cm_table_next(&t, 5, &e[0].node), &e[1].node);
	assert_ptr_equal(adv_cm_table_next(&t, 5, &e[2].node), NULL);
	assert_ptr_equal(adv_cm_table_next(&t, 69, NULL), &e[3].node);
	adv_cm_table_free(&t);
}

/* Other keys, other hashes: numbers that are close, and swapped, lie apart. */
static void test_hash(void **state)
{
	static const uint64_t key[2] = {1, 2}, other[2] = {1, 3};
	struct adv_gid gid = ipv4(1);

	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(key, 2, 1));
	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(other, 1, 2));
	assert_true(adv_cm_hash(key, 1, 2) != adv_cm_hash(key, 1, 3));
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) == adv_cm_hash_gid(key, &gid, 1, 2));
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) != adv_cm_hash_gid(key, &gid, 2, 1));
	gid.raw[15]++;
	assert_true(adv_cm_hash_gid(key, &gid, 1, 2) != adv_cm_hash_gid(other, &gid, 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests_name("cm table", tests, NULL, NULL);
}
