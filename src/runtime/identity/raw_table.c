/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/raw_table.h"

#include <string.h>

_Static_assert(ADV_GID_TABLE_ENTRIES <= ADV_RAW_ADDRESSES, "the link takes a whole table");

void adv_raw_table_set(struct adv_link *raw, const struct adv_gid_table *table)
{
	struct adv_raw_address own[ADV_GID_TABLE_ENTRIES];

	for (uint32_t i = 0; i < table->count; i++) {
		const struct adv_gid_entry *e = &table->entry[i];

		own[i] = (struct adv_raw_address){.gid = e->gid, .ifindex = e->ifindex};
		if (!e->loopback)
			memcpy(own[i].mac, e->mac, sizeof(own[i].mac));
	}
	(void)adv_raw_set_addresses(raw, own, table->count); /* a table always fits */
}
