/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash table of nodes that live in other structures. The hash is keyed, since others choose
 * much of what is hashed here. Who looks something up compares it himself: equal hashes are
 * only very likely the same.
 */
#ifndef ADV_CM_TABLE_H
#define ADV_CM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "wire/packet.h"

struct adv_cm_node {
	struct adv_list link;
	uint64_t hash;
};

struct adv_cm_table {
	struct adv_list *bucket;
	uint32_t buckets; /* a power of two */
	uint32_t count;
};

/* 0 or ENOMEM. */
int adv_cm_table_init(struct adv_cm_table *t);
/* The nodes are the owner's. */
void adv_cm_table_free(struct adv_cm_table *t);

/* A node that is in no table: may be taken out harmlessly. */
void adv_cm_node_init(struct adv_cm_node *n);
bool adv_cm_node_in_table(const struct adv_cm_node *n);

/* Never fails: without memory to grow, the table only becomes slower. n is in no table. */
void adv_cm_table_add(struct adv_cm_table *t, struct adv_cm_node *n, uint64_t hash);
void adv_cm_table_remove(struct adv_cm_table *t, struct adv_cm_node *n);

/* The next node with this hash behind `after` (NULL: the first), or NULL. */
struct adv_cm_node *adv_cm_table_next(const struct adv_cm_table *t, uint64_t hash,
				      const struct adv_cm_node *after);

/* A keyed hash of two numbers; and of a GID and two. */
uint64_t adv_cm_hash(const uint64_t key[2], uint64_t a, uint64_t b);
uint64_t adv_cm_hash_gid(const uint64_t key[2], const struct adv_gid *gid, uint64_t a, uint64_t b);

#endif
