/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shared GID table: making it and writing it. */
#ifndef ADV_DAEMON_GID_PUBLISH_H
#define ADV_DAEMON_GID_PUBLISH_H

#include <stdint.h>

#include "host/gid_table.h"

/* A new page, all 0; *fd can be mapped for reading only. NULL and errno. */
struct adv_gid_page *adv_gid_publish_create(int *fd);

/* Asks the kernel anew and writes what changed. Returns ADV_CONTROL_NOTICE_* bits, 0 where
 * nothing did or the kernel could not be asked (logged). */
uint32_t adv_gid_publish(struct adv_gid_table *shared);

#endif
