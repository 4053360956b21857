/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The translation and protection table (TPT): protection domains, memory regions and windows, with
 * their keys. Several engines of one process may share a table, so that a region can be used by the
 * queue pairs of all of them. Each engine still has a lock of its own (engine.h):
 * - A call that changes the domains, the keys or a region needs the locks of all these engines. The
 *   engines therefore read them with their own lock only.
 * - Work requests bind and invalidate windows under the lock of one engine. `windows_lock` protects
 *   the members of all windows that a binding changes, and adv_mr.windows.
 */
#ifndef ADV_NIC_MEMORY_TPT_H
#define ADV_NIC_MEMORY_TPT_H

#include <stdatomic.h>

#include "base/list.h"
#include "nic/memory/mr_table.h"

struct adv_tpt {
	struct adv_mr_table keys;
	struct adv_list pds;
	uint32_t pd_count;
	uint32_t mw_count; /* windows among keys.count */
	atomic_flag windows_lock;
	struct adv_list engines; /* engines that share the table, by tpt_node */
};

/* Acquires windows_lock, which is held for a few instructions. */
static inline void adv_tpt_lock_windows(struct adv_tpt *tpt)
{
	while (atomic_flag_test_and_set_explicit(&tpt->windows_lock, memory_order_acquire))
		continue;
}

static inline void adv_tpt_unlock_windows(struct adv_tpt *tpt)
{
	atomic_flag_clear_explicit(&tpt->windows_lock, memory_order_release);
}

#endif
