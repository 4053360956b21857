/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces and addresses of this network namespace, asked of the kernel by rtnetlink. */
#ifndef ADV_DAEMON_SNAPSHOT_H
#define ADV_DAEMON_SNAPSHOT_H

#include <stddef.h>

#include "daemon/gid_policy.h"

/* Fills *s. Blocks for as long as the kernel takes. 0 or errno: keep what you had. */
int adv_snapshot_take(struct adv_snapshot *s);

/* Reads one netlink message of a dump into *s; hostile lengths are survived. True: more follow. */
bool adv_snapshot_parse(struct adv_snapshot *s, const void *data, size_t len, int *error);

/* A non-blocking netlink socket that becomes readable when interfaces or addresses change;
 * -1 and errno. */
int adv_snapshot_watch(void);

/* Empties that socket. True where something may have changed (an overflow is a change too). */
bool adv_snapshot_changed(int fd);

#endif
