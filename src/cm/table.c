/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "cm/table.h"
#include "wire/bytes.h"

#define BUCKETS_MIN 64u

static struct adv_list *new_buckets(uint32_t n)
{
	struct adv_list *bucket = malloc(n * sizeof(*bucket));
	uint32_t i;

	if (bucket)
		for (i = 0; i < n; i++)
			adv_list_init(&bucket[i]);
	return bucket;
}

int adv_cm_table_init(struct adv_cm_table *t)
{
	t->bucket = new_buckets(BUCKETS_MIN);
	t->buckets = BUCKETS_MIN;
	t->count = 0;
	return t->bucket ? 0 : ENOMEM;
}

void adv_cm_table_free(struct adv_cm_table *t)
{
	free(t->bucket);
	t->bucket = NULL;
}

void adv_cm_node_init(struct adv_cm_node *n)
{
	adv_list_init(&n->link);
	n->hash = 0;
}

bool adv_cm_node_in_table(const struct adv_cm_node *n)
{
	return !adv_list_empty(&n->link);
}

static struct adv_list *bucket_of(const struct adv_cm_table *t, uint64_t hash)
{
	return &t->bucket[hash & (t->buckets - 1)];
}

static void grow(struct adv_cm_table *t)
{
	struct adv_list *old = t->bucket;
	uint32_t n = t->buckets, i;
	struct adv_list *bucket = new_buckets(2 * n);

	if (!bucket)
		return;
	t->bucket = bucket;
	t->buckets = 2 * n;
	for (i = 0; i < n; i++) {
		while (!adv_list_empty(&old[i])) {
			struct adv_list *link = old[i].next;

			adv_list_del(link);
			adv_list_add_tail(
				bucket_of(t,
					  adv_container_of(link, struct adv_cm_node, link)->hash),
				link);
		}
	}
	free(old);
}

void adv_cm_table_add(struct adv_cm_table *t, struct adv_cm_node *n, uint64_t hash)
{
	if (t->count >= t->buckets && t->buckets < 1u << 30)
		grow(t);
	n->hash = hash;
	adv_list_add_tail(bucket_of(t, hash), &n->link);
	t->count++;
}

void adv_cm_table_remove(struct adv_cm_table *t, struct adv_cm_node *n)
{
	if (!adv_cm_node_in_table(n))
		return;
	adv_list_del(&n->link);
	t->count--;
}

struct adv_cm_node *adv_cm_table_next(const struct adv_cm_table *t, uint64_t hash,
				      const struct adv_cm_node *after)
{
	const struct adv_list *head = bucket_of(t, hash);
	struct adv_list *link = after ? after->link.next : head->next;

	for (; link != head; link = link->next) {
		struct adv_cm_node *n = adv_container_of(link, struct adv_cm_node, link);

		if (n->hash == hash)
			return n;
	}
	return NULL;
}

/* The product of two numbers that nobody outside knows, folded. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t adv_cm_hash(const uint64_t key[2], uint64_t a, uint64_t b)
{
	return fold(fold(a ^ key[0], 0x9e3779b97f4a7c15u) ^ key[1],
		    fold(b ^ key[1], 0xbf58476d1ce4e5b9u) ^ key[0]);
}

uint64_t adv_cm_hash_gid(const uint64_t key[2], const struct adv_gid *gid, uint64_t a, uint64_t b)
{
	uint64_t address = adv_cm_hash(key, adv_get_be64(gid->raw), adv_get_be64(gid->raw + 8));

	return adv_cm_hash(key, address, adv_cm_hash(key, a, b));
}
