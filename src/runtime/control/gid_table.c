/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/gid_table.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

#define READ_TRIES 1000

bool adv_gid_table_read(const struct adv_gid_table *shared, struct adv_gid_table *copy)
{
	const size_t from = offsetof(struct adv_gid_table, count);

	for (int i = 0; i < READ_TRIES; i++) {
		uint32_t before = atomic_load_explicit(&shared->sequence, memory_order_acquire);
		uint32_t after;

		if (before & 1) { /* the writer may need this processor */
			sched_yield();
			continue;
		}
		memcpy((char *)copy + from, (const char *)shared + from, sizeof(*copy) - from);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&shared->sequence, memory_order_relaxed);
		if (after != before)
			continue;
		atomic_init(&copy->sequence, before);
		return copy->count <= ADV_GID_TABLE_ENTRIES && copy->pkeys.count <= ADV_PKEYS_MAX;
	}
	return false;
}

void adv_gid_table_to_mac(struct adv_gid_table *table)
{
	static const uint8_t none[sizeof(table->entry[0].mac)];
	struct adv_gid_entry *e = &table->entry[0];

	if (table->count > 1)
		table->count = 1;
	memset(&e->gid, 0, sizeof(e->gid));
	memcpy(e->gid.raw, memcmp(e->mac, none, sizeof(none)) ? (void *)e->mac : &table->node_guid,
	       sizeof(e->mac));
	e->type = ADV_GID_ROCE_V1; /* shown as "IB/RoCE v1", which is the kernel's type 0 */
}
