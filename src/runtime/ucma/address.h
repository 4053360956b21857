/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of ids: conversion from and to sockaddr, and binding. */
#ifndef ADV_RUNTIME_UCMA_ADDRESS_H
#define ADV_RUNTIME_UCMA_ADDRESS_H

#include "runtime/ucma/state.h"

/* Converts *in to *out. False: *in is neither IPv4 nor IPv6. */
bool adv_ucma_from_sockaddr(const union adv_ucma_sockaddr *in, struct adv_cm_addr *out);
void adv_ucma_to_sockaddr(const struct adv_cm_addr *in, union adv_ucma_sockaddr *out);
bool adv_ucma_is_any(const struct adv_cm_addr *a);
bool adv_ucma_is_link_local(const struct adv_gid *g);
/* Returns the entry of the GID table with this address (on this interface; 0: any), or NULL. */
const struct adv_gid_entry *adv_ucma_find_gid(const struct adv_ucma *u, const struct adv_gid *gid,
					      uint32_t ifindex);
/* Returns the index that an entry of the GID table, in the version of RoCE, has in the table of a
 * process with these versions; -1: that table has no room for it. */
int adv_ucma_gid_index(const struct adv_ucma *u, enum adv_roce roce, const struct adv_gid_entry *e,
		       bool v1);
/* Fills in the id's addresses and path, as far as they are known. */
void adv_ucma_fill_route(const struct adv_ucma_id *id, struct adv_ucma_route *out);

#endif
