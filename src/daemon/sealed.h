/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that other processes map, see memfd_create(2): only its maker can write it. */
#ifndef ADV_DAEMON_SEALED_H
#define ADV_DAEMON_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/* Makes memory of `size` bytes, all 0, and maps it here. *fd can be mapped for reading only, and
 * can neither grow nor shrink. NULL and errno, *fd -1. */
void *adv_sealed_make(const char *name, size_t size, int *fd);

/* Copies the first `len` of the `size` bytes of a descriptor from any source. False: it has another
 * size, or may shrink. */
bool adv_sealed_copy(int fd, size_t size, void *to, size_t len);

#endif
