/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory for blocks and data, in huge pages where the system has them. */
#ifndef ADV_STORAGE_KIT_MEMORY_H
#define ADV_STORAGE_KIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Maps `size` bytes of zeros, which need no memory before they are written. Returns NULL with
 * errno. Free them by munmap(). */
uint8_t *adv_kit_memory_map(size_t size);

/* Fetches the start of `size` bytes that will be read soon into the cache. It does not wait. */
void adv_kit_memory_fetch(const uint8_t *at, size_t size);
/* The same of bytes that will be written. */
void adv_kit_memory_fetch_to_write(const uint8_t *at, size_t size);

#endif
