/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that other processes map, see memfd_create(2): only the process that made it can write
 * it. */
#ifndef ADV_RUNTIME_KEEPER_SEALED_H
#define ADV_RUNTIME_KEEPER_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/* Makes memory of `size` bytes, all 0, and returns its writable mapping. *fd can be mapped only for
 * reading, and can neither grow nor shrink. NULL and errno, *fd -1. */
void *adv_sealed_make(const char *name, size_t size, int *fd);

/* Copies the first `len` bytes of the memory behind `fd`, which may come from any process. False:
 * the memory does not have `size` bytes, or may shrink. */
bool adv_sealed_copy(int fd, size_t size, void *to, size_t len);

#endif
