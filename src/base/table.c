/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_MIN 64u
#define BUCKETS_MAX (1u << 30)

static struct adv_list *new_buckets(uint32_t n)
{
	struct adv_list *bucket = malloc(n * sizeof(*bucket));

	for (uint32_t i = 0; bucket && i < n; i++)
		adv_list_init(&bucket[i]);
	return bucket;
}

int adv_table_init(struct adv_table *t)
{
	t->bucket = new_buckets(BUCKETS_MIN);
	t->buckets = BUCKETS_MIN;
	t->count = 0;
	return t->bucket ? 0 : ENOMEM;
}

void adv_table_free(struct adv_table *t)
{
	free(t->bucket);
	t->bucket = NULL;
}

void adv_table_node_init(struct adv_table_node *n)
{
	adv_list_init(&n->link);
	n->hash = 0;
}

bool adv_table_node_is_in(const struct adv_table_node *n)
{
	return !adv_list_empty(&n->link);
}

static struct adv_list *bucket_of(const struct adv_table *t, uint64_t hash)
{
	return &t->bucket[hash & (t->buckets - 1)];
}

static void double_buckets(struct adv_table *t)
{
	struct adv_list *old = t->bucket;
	uint32_t n = t->buckets;
	struct adv_list *bucket = new_buckets(2 * n);

	if (!bucket)
		return;
	t->bucket = bucket;
	t->buckets = 2 * n;
	for (uint32_t i = 0; i < n; i++) {
		adv_list_for_each_safe(struct adv_table_node, node, &old[i], link) {
			adv_list_del(&node->link);
			adv_list_add_tail(bucket_of(t, node->hash), &node->link);
		}
	}
	free(old);
}

void adv_table_add(struct adv_table *t, struct adv_table_node *n, uint64_t hash)
{
	if (t->count >= t->buckets && t->buckets < BUCKETS_MAX)
		double_buckets(t);
	n->hash = hash;
	adv_list_add_tail(bucket_of(t, hash), &n->link);
	t->count++;
}

void adv_table_remove(struct adv_table *t, struct adv_table_node *n)
{
	if (!adv_table_node_is_in(n))
		return;
	adv_list_del(&n->link);
	t->count--;
}

struct adv_table_node *adv_table_next(const struct adv_table *t, uint64_t hash,
				      const struct adv_table_node *after)
{
	const struct adv_list *head = bucket_of(t, hash);
	struct adv_list *link = after ? after->link.next : head->next;

	for (; link != head; link = link->next) {
		struct adv_table_node *n = adv_container_of(link, struct adv_table_node, link);

		if (n->hash == hash)
			return n;
	}
	return NULL;
}
