/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers for the data of commands: a buddy allocator over one registered region. One thread. */
#ifndef ADV_STORAGE_KIT_BUFFERS_H
#define ADV_STORAGE_KIT_BUFFERS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adv_kit_buffers;

/* Makes a pool of `size` bytes, rounded up to MiB, whose largest buffer is `largest` bytes, a power
 * of two from 4 KiB up. NULL and errno. */
struct adv_kit_buffers *adv_kit_buffers_create(struct ibv_pd *pd, size_t size, size_t largest);
void adv_kit_buffers_destroy(struct adv_kit_buffers *b);

/* Returns a buffer of at least `len` bytes, from 1 to the largest; NULL: none is free now. */
uint8_t *adv_kit_buffers_get(struct adv_kit_buffers *b, size_t len);
/* Frees a buffer that was allocated with this length. Memory of others, or NULL: does nothing. */
void adv_kit_buffers_put(struct adv_kit_buffers *b, uint8_t *buffer, size_t len);
/* True if the address is in the pool. */
bool adv_kit_buffers_owns(const struct adv_kit_buffers *b, const uint8_t *address);
uint32_t adv_kit_buffers_lkey(const struct adv_kit_buffers *b);

#endif
