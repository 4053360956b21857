/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory that is source and destination of all transfers of a fabric, or of a part of one. */
#ifndef ADV_FABRIC_NETWORK_PAYLOAD_H
#define ADV_FABRIC_NETWORK_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/* Returns `bytes` bytes. Nobody pays for pages that no transfer uses. NULL: no
 * memory. */
uint8_t *adv_fabric_payload_create(size_t bytes);
/* `bytes`: as at its creation. `payload` may be NULL. */
void adv_fabric_payload_destroy(uint8_t *payload, size_t bytes);

#endif
