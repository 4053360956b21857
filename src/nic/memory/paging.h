/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On-demand paging: regions whose pages the engine brings in before it uses them. */
#ifndef ADV_NIC_MEMORY_PAGING_H
#define ADV_NIC_MEMORY_PAGING_H

#include "nic/engine/state.h"

/* Sets the access that the region or window grants. */
void adv_mr_grant(const struct adv_engine *e, struct adv_mr *mr, int access);
/* True if the key names a region or window whose pages must be brought in before use. */
bool adv_mr_is_paged(const struct adv_engine *e, uint32_t key);
/* Continues adv_mr_resolve() for a region whose `access` lacks bits of `need`. */
uint8_t *adv_mr_resolve_paged(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			      uint64_t va, uint64_t length, int need, enum adv_vendor_err *why);
/* As adv_mr_resolve_paged(), but for the region or window `mr` instead of a key. */
uint8_t *adv_mr_bring_in(const struct adv_engine *e, const struct adv_mr *mr, uint64_t va,
			 uint64_t length, int need, enum adv_vendor_err *why);

#endif
