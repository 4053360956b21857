/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes and updates the shared GID table. */
#ifndef ADV_RUNTIME_STEERING_GID_PUBLISH_H
#define ADV_RUNTIME_STEERING_GID_PUBLISH_H

#include <stdint.h>

#include "runtime/control/gid_table.h"

/* Returns a new page, all 0; *fd can be mapped for reading only. NULL and errno. */
struct adv_gid_page *adv_gid_publish_create(int *fd);

/* Queries the kernel and writes the changes. Returns ADV_CONTROL_NOTICE_* bits; 0: nothing has
 * changed, or the query failed (logged). */
uint32_t adv_gid_publish(struct adv_gid_table *shared);

#endif
