/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protection domains, memory regions and the table that finds a region by its key
 * (IBTA vol. 1, 10.6). Keys are random, so that a peer cannot guess one, and a key once
 * given back is unlikely to name anything again soon.
 */
#include <stdlib.h>

#include "transport/internal.h"

#define TABLE_MIN 64u

/* IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT are newer than the headers of some distributions. */
#define ACCESS_FLUSH (3 << 8)
#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | ACCESS_FLUSH)

struct adv_pd *adv_pd_create(struct adv_engine *e)
{
	struct adv_pd *pd = e->pd_count < ADV_MAX_PD ? calloc(1, sizeof(*pd)) : NULL;

	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	pd->engine = e;
	pd->owner = e->owner;
	pd->number = ++e->numbers;
	adv_list_add_tail(&e->pds, &pd->node);
	e->pd_count++;
	return pd;
}

int adv_pd_destroy(struct adv_pd *pd)
{
	if (pd->users)
		return EBUSY;
	adv_list_del(&pd->node);
	pd->engine->pd_count--;
	free(pd);
	return 0;
}

/* ---- the table ---- */

static uint32_t home(const struct adv_mr_table *table, uint32_t key)
{
	return (key >> 8) & (table->room - 1);
}

/* The slot of the region whose upper 24 key bits are those of `key`, or the empty one for it. */
static uint32_t probe(const struct adv_mr_table *table, uint32_t key)
{
	uint32_t i = home(table, key);

	while (table->slot[i] && table->slot[i]->key >> 8 != key >> 8)
		i = (i + 1) & (table->room - 1);
	return i;
}

struct adv_mr *adv_mr_find(const struct adv_engine *e, uint32_t key)
{
	return e->mrs.count ? e->mrs.slot[probe(&e->mrs, key)] : NULL;
}

static int make_room(struct adv_mr_table *table)
{
	struct adv_mr_table bigger = {.room = table->room ? table->room * 2 : TABLE_MIN};

	if (table->count >= ADV_MAX_MR)
		return ENOMEM;
	if (2 * (table->count + 1) <= table->room)
		return 0;
	bigger.slot = calloc(bigger.room, sizeof(struct adv_mr *));
	if (!bigger.slot)
		return ENOMEM;
	for (uint32_t i = 0; i < table->room; i++)
		if (table->slot[i])
			bigger.slot[probe(&bigger, table->slot[i]->key)] = table->slot[i];
	bigger.count = table->count;
	free(table->slot);
	*table = bigger;
	return 0;
}

/* Gives mr a new key and puts it in; make_room() was called. */
static void insert(struct adv_engine *e, struct adv_mr *mr)
{
	struct adv_mr_table *table = &e->mrs;
	uint32_t i;

	/* 0 stays unused: programs take it for "no key". */
	do {
		mr->key = (uint32_t)adv_rng_secret(&e->rng, e->secret_key);
		i = probe(table, mr->key);
	} while (mr->key >> 8 == 0 || table->slot[i]);
	table->slot[i] = mr;
	table->count++;
}

/* Moves what follows up into the gap, so that no probe ever ends too early. */
static void remove_key(struct adv_mr_table *table, uint32_t key)
{
	uint32_t mask = table->room - 1;
	uint32_t gap = probe(table, key);

	assert(table->slot[gap]);
	for (uint32_t i = (gap + 1) & mask; table->slot[i]; i = (i + 1) & mask) {
		uint32_t distance = (i - home(table, table->slot[i]->key)) & mask;

		if (distance < ((i - gap) & mask))
			continue;
		table->slot[gap] = table->slot[i];
		gap = i;
	}
	table->slot[gap] = NULL;
	table->count--;
}

int adv_mr_insert(struct adv_engine *e, struct adv_mr *mr)
{
	if (make_room(&e->mrs))
		return ENOMEM;
	insert(e, mr);
	return 0;
}

void adv_mr_remove(struct adv_engine *e, const struct adv_mr *mr)
{
	remove_key(&e->mrs, mr->key);
}

/* ---- regions ---- */

static bool good_access(int access)
{
	access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	if (access & ~ACCESS_ALL)
		return false;
	/* IBTA 10.6.3.1: remote write and atomic need local write. */
	return !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) ||
	       (access & IBV_ACCESS_LOCAL_WRITE);
}

static bool good_range(const void *addr, uint64_t length, uint64_t iova)
{
	return (uintptr_t)addr + length >= length && iova + length >= length;
}

/* Optional bits grant nothing. */
static int granted(int access)
{
	return (access & ~IBV_ACCESS_OPTIONAL_RANGE) | ADV_ACCESS_LOCAL_READ;
}

static uint64_t first_address(uint64_t iova, int access)
{
	return access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
}

struct adv_mr *adv_mr_register(struct adv_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       int access)
{
	struct adv_engine *e = pd->engine;
	struct adv_mr *mr;

	iova = first_address(iova, access);
	if (!good_access(access) || !good_range(addr, length, iova)) {
		errno = EINVAL;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr || make_room(&e->mrs)) {
		free(mr);
		errno = ENOMEM;
		return NULL;
	}
	mr->pd = pd;
	adv_mr_grant(e, mr, granted(access));
	mr->addr = addr;
	mr->length = length;
	mr->iova = iova;
	insert(e, mr);
	pd->users++;
	return mr;
}

int adv_mr_reregister(struct adv_mr *mr, int flags, struct adv_pd *pd, void *addr, uint64_t length,
		      uint64_t iova, int access)
{
	struct adv_engine *e = mr->pd->engine;
	struct adv_mr next = *mr;

	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return EINVAL;
	if (mr->windows)
		return EBUSY;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS) {
		if (!good_access(access))
			return EINVAL;
		adv_mr_grant(e, &next, granted(access));
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		if (!length)
			return EINVAL;
		next.addr = addr;
		next.length = length;
		next.iova = iova;
	}
	next.iova = first_address(next.iova, next.granted);
	if (!good_range(next.addr, next.length, next.iova))
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		if (!pd || pd->engine != e)
			return EINVAL;
		next.pd = pd;
	}
	mr->pd->users--;
	next.pd->users++;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		/* Who holds the old key must not reach the new memory. */
		remove_key(&e->mrs, mr->key);
		*mr = next;
		insert(e, mr);
	} else {
		*mr = next;
	}
	return 0;
}

int adv_mr_deregister(struct adv_mr *mr)
{
	if (mr->windows)
		return EBUSY;
	remove_key(&mr->pd->engine->mrs, mr->key);
	mr->pd->users--;
	free(mr);
	return 0;
}

uint32_t adv_mr_lkey(const struct adv_mr *mr)
{
	return mr->key;
}

uint32_t adv_mr_rkey(const struct adv_mr *mr)
{
	return mr->key;
}

uint8_t *adv_mr_resolve(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			uint64_t va, uint64_t length, int need, enum adv_vendor_err *why)
{
	const struct adv_mr *mr;

	/* IBTA 9.7.4.1.4, 10.6.3: the key of zero bytes is not looked at. */
	if (!length)
		return (uint8_t *)(uintptr_t)e;
	mr = e->mrs.count ? e->mrs.slot[probe(&e->mrs, key)] : NULL;
	if (!mr || mr->key != key) {
		*why = ADV_ERR_LKEY;
		return NULL;
	}
	if (mr->pd != pd) {
		*why = ADV_ERR_LKEY_PD;
		return NULL;
	}
	if ((mr->access & need) != need)
		return adv_mr_resolve_paged(e, pd, key, va, length, need, why);
	/* va below iova wraps to a distance no region can have: iova + length did not wrap. */
	if (va - mr->iova > mr->length || length > mr->length - (va - mr->iova)) {
		*why = ADV_ERR_LOCAL_BOUNDS;
		return NULL;
	}
	return mr->addr + (va - mr->iova);
}
