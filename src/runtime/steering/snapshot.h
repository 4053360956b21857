/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces and addresses of this network namespace, by rtnetlink. */
#ifndef ADV_RUNTIME_STEERING_SNAPSHOT_H
#define ADV_RUNTIME_STEERING_SNAPSHOT_H

#include <stddef.h>

#include "runtime/steering/gid_policy.h"

/* Fills *s. Blocks until the kernel has answered. Returns 0 or errno. After an error *s is not
 * usable. */
int adv_snapshot_take(struct adv_snapshot *s);

/* Reads the netlink messages of one datagram of a dump into *s. The lengths in them may be wrong.
 * True: more datagrams follow. */
bool adv_snapshot_parse(struct adv_snapshot *s, const void *data, size_t len, int *error);

/* Returns a non-blocking netlink socket that becomes readable when interfaces or addresses change;
 * -1 and errno. */
int adv_snapshot_watch(void);

/* Reads all messages of the socket of adv_snapshot_watch(). True if interfaces or addresses may
 * have changed (also after an overflow). */
bool adv_snapshot_changed(int fd);

#endif
