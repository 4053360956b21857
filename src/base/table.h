/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash table of nodes that are members of the caller's structures. The caller computes the hash;
 * if a peer chooses the keys, with adv_siphash_words(). The table compares hashes only. The caller
 * compares the keys of the nodes that the table returns. Not thread safe.
 */
#ifndef ADV_BASE_TABLE_H
#define ADV_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct adv_table_node {
	struct adv_list link;
	uint64_t hash;
};

struct adv_table {
	struct adv_list *bucket;
	uint32_t buckets; /* a power of two */
	uint32_t count;
};

/* Returns 0 or ENOMEM. */
int adv_table_init(struct adv_table *t);
/* Frees the buckets. The nodes belong to the caller. */
void adv_table_free(struct adv_table *t);

/* Initializes a node that is in no table. */
void adv_table_node_init(struct adv_table_node *n);
/* True if the node is in a table. */
bool adv_table_node_is_in(const struct adv_table_node *n);

/* Adds a node that is in no table. Never fails: if there is no memory to grow, the table becomes
 * slower. */
void adv_table_add(struct adv_table *t, struct adv_table_node *n, uint64_t hash);
/* Removes a node, if it is in the table. */
void adv_table_remove(struct adv_table *t, struct adv_table_node *n);

/* Returns the next node with this hash behind `after`; if `after` is NULL, the first node. NULL:
 * there is none. */
struct adv_table_node *adv_table_next(const struct adv_table *t, uint64_t hash,
				      const struct adv_table_node *after);

#endif
