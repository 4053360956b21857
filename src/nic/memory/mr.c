/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions (IBTA 10.6). Keys are random: a peer cannot guess one, and a released key is
 * unlikely to name another region soon.
 */
#include <stdlib.h>

#include "nic/memory/domain.h"
#include "nic/memory/mr.h"
#include "nic/memory/mw_key.h"
#include "nic/memory/paging.h"
#include "nic/memory/tpt_engines.h"

/* IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT are newer than the headers of some distributions. */
#define ACCESS_FLUSH (3 << 8)
#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | ACCESS_FLUSH)

/* Adds mr under a new key; the table has room. */
static void insert_under_new_key(struct adv_engine *e, struct adv_mr *mr)
{
	do
		mr->key = (uint32_t)adv_rng_secret(&e->rng, e->secret_key);
	while (!adv_mr_table_add(&e->tpt->keys, mr));
}

int adv_mr_insert(struct adv_engine *e, struct adv_mr *mr)
{
	if (adv_mr_table_reserve(&e->tpt->keys))
		return ENOMEM;
	insert_under_new_key(e, mr);
	return 0;
}

/* Waits until no other process reads the region's memory as the payload of a long packet. */
static void withdraw_region(const struct adv_mr *mr)
{
	adv_list_for_each(const struct adv_engine, e, &mr->pd->tpt->engines, tpt_node)
		if (e->withdraw)
			e->withdraw(e->long_user, NULL, mr->addr, mr->length);
}

/* 0 or EINVAL. */
static int check_access(int access)
{
	access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	if (access & ~ACCESS_ALL)
		return adv_reason(EINVAL,
				  "access 0x%x has bits that do not exist: possible are 0x%x",
				  (unsigned)access, ACCESS_ALL);
	/* IBTA 10.6.3.1: remote write and remote atomic need local write. */
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return adv_reason(EINVAL,
				  "access 0x%x has IBV_ACCESS_REMOTE_WRITE or _REMOTE_ATOMIC: "
				  "these need IBV_ACCESS_LOCAL_WRITE too",
				  (unsigned)access);
	return 0;
}

/* 0 or EINVAL. */
static int check_range(const void *addr, uint64_t length, uint64_t iova)
{
	if ((uintptr_t)addr + length >= length && iova + length >= length)
		return 0;
	return adv_reason(EINVAL, "addr or iova + length is beyond the end of the address space");
}

/* Returns the access without the optional bits, which grant nothing. */
static int granted_access(int access)
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
	struct adv_engine *e = adv_tpt_first_engine(pd->tpt);
	struct adv_mr *mr;

	iova = first_address(iova, access);
	if (check_access(access) || check_range(addr, length, iova)) {
		errno = EINVAL;
		return NULL;
	}
	mr = adv_lines_calloc(sizeof(*mr));
	if (!mr || adv_mr_table_reserve(&e->tpt->keys)) {
		free(mr);
		return adv_reason_no_object(
			ENOMEM, "no memory, or the device has %d regions (max_mr)", ADV_MAX_MR);
	}
	mr->pd = pd;
	adv_mr_grant(e, mr, granted_access(access));
	mr->addr = addr;
	mr->length = length;
	mr->iova = iova;
	insert_under_new_key(e, mr);
	pd->users++;
	return mr;
}

int adv_mr_reregister(struct adv_mr *mr, int flags, struct adv_pd *pd, void *addr, uint64_t length,
		      uint64_t iova, int access)
{
	struct adv_engine *e = adv_tpt_first_engine(mr->pd->tpt);
	struct adv_mr next = *mr;

	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return adv_reason(EINVAL, "flags 0x%x: name a change", (unsigned)flags);
	if (mr->windows)
		return adv_reason(EBUSY, "windows bound to it: %u; unbind them first", mr->windows);
	if (flags & IBV_REREG_MR_CHANGE_ACCESS) {
		if (check_access(access))
			return EINVAL;
		adv_mr_grant(e, &next, granted_access(access));
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		if (!length)
			return EINVAL;
		next.addr = addr;
		next.length = length;
		next.iova = iova;
	}
	next.iova = first_address(next.iova, next.granted);
	if (check_range(next.addr, next.length, next.iova))
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		if (!pd || pd->tpt != e->tpt)
			return EINVAL;
		next.pd = pd;
	}
	mr->pd->users--;
	next.pd->users++;
	adv_tpt_changed(e->tpt);
	withdraw_region(mr);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		/* A holder of the old key must not reach the new memory. */
		adv_mr_table_remove(&e->tpt->keys, mr->key);
		*mr = next;
		insert_under_new_key(e, mr);
	} else {
		*mr = next;
	}
	return 0;
}

void adv_mr_move(struct adv_mr *mr, void *addr)
{
	mr->addr = addr;
}

int adv_mr_deregister(struct adv_mr *mr)
{
	if (mr->windows)
		return adv_reason(EBUSY, "windows bound to it: %u; unbind or deallocate them first",
				  mr->windows);
	withdraw_region(mr);
	adv_mr_table_remove(&mr->pd->tpt->keys, mr->key);
	adv_tpt_changed(mr->pd->tpt);
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

	/* IBTA 9.7.4.1.4, 10.6.3: the key of zero bytes is not checked. */
	if (!length)
		return (uint8_t *)(uintptr_t)e;
	mr = adv_mr_table_find(&e->tpt->keys, key);
	if (mr && mr->window)
		return adv_mw_resolve_type_1(e, pd, key, va, length, need, why);
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
	if (!adv_mr_contains(mr, va, length)) {
		*why = ADV_ERR_LOCAL_BOUNDS;
		return NULL;
	}
	return mr->addr + (va - mr->iova);
}

enum adv_vendor_err adv_mr_remote_cause(enum adv_vendor_err local)
{
	switch (local) {
	case ADV_ERR_LKEY:
		return ADV_ERR_RKEY;
	case ADV_ERR_LKEY_PD:
		return ADV_ERR_RKEY_PD;
	case ADV_ERR_LOCAL_ACCESS:
		return ADV_ERR_REMOTE_ACCESS;
	case ADV_ERR_LOCAL_UNMAPPED:
		return ADV_ERR_REMOTE_UNMAPPED;
	default:
		assert(local == ADV_ERR_LOCAL_BOUNDS);
		return ADV_ERR_REMOTE_BOUNDS;
	}
}
