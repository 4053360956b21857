/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The versions of RoCE that a process uses, which its environment chooses. adverbd's table has the
 * GIDs of RoCE v2. A process with RoCE v1 changes its copy of the table; so other processes never
 * see GIDs that they cannot use.
 */
#ifndef ADV_RUNTIME_IDENTITY_ROCE_H
#define ADV_RUNTIME_IDENTITY_ROCE_H

#include "runtime/control/gid_table.h"

enum adv_roce {
	ADV_ROCE_V2,
	ADV_ROCE_V1,   /* all GIDs are those of RoCE v1 */
	ADV_ROCE_BOTH, /* GIDs of RoCE v1 follow those of RoCE v2 */
	ADV_ROCE_UNKNOWN,
};

#define ADV_ROCE_NAMES	  "v1, v2, both"
#define ADV_ROCE_VARIABLE "ADVERB_ROCE"

/* Returns the versions of this name; ADV_ROCE_UNKNOWN: there are none. */
enum adv_roce adv_roce_named(const char *name);

/*
 * Returns the versions of this process; RoCE v2 if the environment variable is not set. The first
 * call decides. A process that may not open packet sockets (CAP_NET_RAW) has no RoCE v1, except on
 * a host of an emulated fabric: for it, "both" is RoCE v2; "v1" stays, and the device cannot be
 * opened.
 */
enum adv_roce adv_roce(void);

/* Changes a copy of adverbd's table to that of a process with these versions. */
void adv_roce_change_table(struct adv_gid_table *table, enum adv_roce roce);

/* Returns the index that the v1 GID of an address has in a table of these versions;
 * ADV_GID_TABLE_ENTRIES or more: the table has no room for it. index, count: of adverbd's table. */
static inline uint32_t adv_roce_v1_index(enum adv_roce roce, uint32_t index, uint32_t count)
{
	return roce == ADV_ROCE_BOTH ? index + count : index;
}

#endif
