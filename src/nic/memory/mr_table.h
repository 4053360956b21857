/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of memory keys: finds the region or window that an L_Key or R_Key names. It is a hash
 * table with open addressing by the upper 24 bits of the key. The number of slots is a power of
 * two, and at most half of them are used.
 */
#ifndef ADV_NIC_MEMORY_MR_TABLE_H
#define ADV_NIC_MEMORY_MR_TABLE_H

#include "nic/engine/engine.h"

struct adv_mr {
	struct adv_pd *pd;
	uint32_t key; /* read it with adv_mr_key() if it may be a window's. L_Key and R_Key: 24
			 random bits that name the region or window, 8 random bits of tag */
	int access;   /* access granted without paging; 0 if pages must be brought in first */
	int granted;  /* IBV_ACCESS_*, ADV_ACCESS_LOCAL_READ */
	uint8_t *addr;
	uint64_t length;
	uint64_t iova;
	uint32_t windows;      /* windows bound to the region */
	struct adv_mw *window; /* the window that has this key; NULL: a region has it */
};

struct adv_mr_table {
	struct adv_mr **slot;
	uint32_t room;
	uint32_t count;
};

/* Makes room for one more key. Returns 0 or ENOMEM (also beyond ADV_MAX_MR). */
int adv_mr_table_reserve(struct adv_mr_table *table);
/* Adds mr under mr->key. Returns false if the upper 24 bits of the key are 0 or in use. */
bool adv_mr_table_add(struct adv_mr_table *table, struct adv_mr *mr);
void adv_mr_table_remove(struct adv_mr_table *table, uint32_t key);

/* Returns the key. A binding may change the tag of a window's key meanwhile (tpt.h). */
static inline uint32_t adv_mr_key(const struct adv_mr *mr)
{
	return __atomic_load_n(&mr->key, __ATOMIC_RELAXED);
}

static inline uint32_t adv_mr_table_home(const struct adv_mr_table *table, uint32_t key)
{
	return (key >> 8) & (table->room - 1);
}

/* Returns the slot of the region or window whose key has the same upper 24 bits as `key`. If there
 * is none, returns the empty slot for it. */
static inline uint32_t adv_mr_table_probe(const struct adv_mr_table *table, uint32_t key)
{
	uint32_t i = adv_mr_table_home(table, key);

	while (table->slot[i] && adv_mr_key(table->slot[i]) >> 8 != key >> 8)
		i = (i + 1) & (table->room - 1);
	return i;
}

/* Returns the region or window whose key has the same upper 24 bits as `key`; NULL: none. */
static inline struct adv_mr *adv_mr_table_find(const struct adv_mr_table *table, uint32_t key)
{
	return table->count ? table->slot[adv_mr_table_probe(table, key)] : NULL;
}

/* True if [va, va + length) lies in the region. */
static inline bool adv_mr_contains(const struct adv_mr *mr, uint64_t va, uint64_t length)
{
	/* If va is below iova, the difference wraps and exceeds mr->length, because iova + length
	 * does not wrap. */
	return va - mr->iova <= mr->length && length <= mr->length - (va - mr->iova);
}

#endif
