/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that others map, see memfd_create(2): who made it writes there, all others can only read.
 */
#ifndef ADV_DAEMON_SEALED_H
#define ADV_DAEMON_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/* New memory of `size` bytes, all 0, mapped for us; *fd can be mapped for reading only, and neither
 * grows nor shrinks. NULL and errno, *fd -1. */
void *adv_sealed_make(const char *name, size_t size, int *fd);

/* Copies the first `len` of the `size` bytes behind a descriptor, whoever it is from. False: it is
 * not of that size, or may shrink. */
bool adv_sealed_copy(int fd, size_t size, void *to, size_t len);

#endif
