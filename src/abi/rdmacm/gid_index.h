/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The index of a GID in the table of this process. An index from adverbd is that of adverbd's
 * table: after a change of addresses, the process may have the older table for a moment, in which
 * another GID has that index.
 */
#ifndef ADV_ABI_RDMACM_GID_INDEX_H
#define ADV_ABI_RDMACM_GID_INDEX_H

#include <stddef.h>

#include <infiniband/verbs.h>

#include "runtime/control/ucma_protocol.h"

/* Returns the index of the entry that has the GID, the interface and, if there are several, the
 * version of RoCE of *route; -1: there is none. */
int adv_rdma_find_gid(const struct ibv_gid_entry *entry, size_t count,
		      const struct adv_ucma_route *route);

/* Sets route->sgid_index to that in the table of the context. Waits for a moment if the GID is not
 * there yet. 0, also if *route has no GID; EADDRNOTAVAIL: the GID is not in the table; ENOMEM. */
int adv_rdma_own_gid_index(struct ibv_context *context, struct adv_ucma_route *route);

#endif
