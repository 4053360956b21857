/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/gid_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/control/gid_table.h"

/* adverbd notifies its processes of a new table before it answers. */
#define ROUNDS 100
#define ROUND  1000000 /* ns */

int adv_rdma_find_gid(const struct ibv_gid_entry *entry, size_t count,
		      const struct adv_ucma_route *route)
{
	const uint32_t type = route->v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	int found = -1;

	for (size_t i = 0; i < count; i++) {
		if (memcmp(entry[i].gid.raw, route->sgid.raw, sizeof(route->sgid.raw)) != 0 ||
		    entry[i].ndev_ifindex != route->ifindex)
			continue;
		if (entry[i].gid_type == type)
			return (int)entry[i].gid_index;
		found = (int)entry[i].gid_index;
	}
	return found;
}

int adv_rdma_own_gid_index(struct ibv_context *context, struct adv_ucma_route *route)
{
	static const struct adv_gid none;
	const struct timespec round = {.tv_nsec = ROUND};
	struct ibv_gid_entry *entry;
	int index = -1;

	if (!context || adv_gid_equal(&route->sgid, &none))
		return 0;
	entry = calloc(ADV_GID_TABLE_ENTRIES, sizeof(*entry));
	if (!entry)
		return ENOMEM;
	for (unsigned i = 0; index < 0 && i < ROUNDS; i++) {
		ssize_t n;

		if (i > 0)
			nanosleep(&round, NULL);
		n = ibv_query_gid_table(context, entry, ADV_GID_TABLE_ENTRIES, 0);
		index = adv_rdma_find_gid(entry, n > 0 ? (size_t)n : 0, route);
	}
	free(entry);
	if (index < 0)
		return EADDRNOTAVAIL;
	route->sgid_index = (uint8_t)index;
	return 0;
}
