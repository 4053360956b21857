/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registered memory of a stream: whole pages of its own. */
#ifndef ADV_ABI_RSOCKET_MEMORY_H
#define ADV_ABI_RSOCKET_MEMORY_H

#include "abi/rsocket/stream.h"

/* Allocates and registers at least `len` bytes, zeroed. 0; or -1 and errno: adv_rs_memory_free()
 * frees what was made. */
int adv_rs_memory_make(struct ibv_pd *pd, struct adv_rs_memory *memory, size_t len, int access);
void adv_rs_memory_free(struct adv_rs_memory *memory);

#endif
