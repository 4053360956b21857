/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/gid_publish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fnv.h"
#include "base/log.h"
#include "runtime/keeper/sealed.h"
#include "runtime/steering/snapshot.h"
#include "runtime/control/protocol.h"

struct adv_gid_page *adv_gid_publish_create(int *fd)
{
	return adv_sealed_make("adverb-gids", sizeof(struct adv_gid_page), fd);
}

/* Returns the seed of the GUID for a host without a MAC: the same value for one namespace during
 * one boot. */
static uint64_t guid_seed(void)
{
	uint64_t hash = ADV_FNV_BASIS;
	char id[64] = "";
	struct stat st;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f) {
		if (!fgets(id, sizeof(id), f))
			id[0] = 0;
		fclose(f);
	}
	hash = adv_fnv_add_bytes(hash, id, strlen(id));
	if (stat("/proc/self/ns/net", &st) == 0)
		hash = adv_fnv_add(hash, st.st_ino);
	return hash;
}

static void write_table(struct adv_gid_table *shared, const struct adv_gid_table *next)
{
	const size_t from = offsetof(struct adv_gid_table, count);
	uint32_t sequence = atomic_load_explicit(&shared->sequence, memory_order_relaxed);

	/* The sequence is already odd if a worker died during an update. */
	sequence |= 1;
	atomic_store_explicit(&shared->sequence, sequence, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	memcpy((char *)shared + from, (const char *)next + from, sizeof(*next) - from);
	atomic_store_explicit(&shared->sequence, sequence + 1, memory_order_release);
}

uint32_t adv_gid_publish(struct adv_gid_table *shared)
{
	static struct adv_snapshot snapshot;
	static struct adv_gid_table next;
	const size_t from = offsetof(struct adv_gid_table, count);
	uint32_t what = 0;
	bool torn = atomic_load_explicit(&shared->sequence, memory_order_relaxed) & 1;
	int error = adv_snapshot_take(&snapshot);

	if (error) {
		adv_warn("cannot read the host's addresses: %s", strerror(error));
		return 0;
	}
	if (snapshot.left_out)
		adv_warn("the GID table is full: %u addresses are not in it", snapshot.left_out);
	adv_gid_policy_fill(&snapshot, torn ? NULL : shared, &next);
	/* A GUID never changes. */
	next.node_guid = shared->node_guid && !torn ? shared->node_guid
						    : adv_gid_policy_guid(&snapshot, guid_seed());
	next.pkeys = shared->pkeys;
	if (!torn && memcmp((char *)&next + from, (char *)shared + from, sizeof(next) - from) == 0)
		return 0;
	what = ADV_CONTROL_NOTICE_GIDS;
	if (next.port_active != shared->port_active)
		what |= ADV_CONTROL_NOTICE_PORT;
	write_table(shared, &next);
	adv_info("%u GIDs, port %s", next.count, next.port_active ? "active" : "down");
	return what;
}
