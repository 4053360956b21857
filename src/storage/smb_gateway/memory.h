/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory of reassembled messages of SMB, which all clients share. */
#ifndef ADV_STORAGE_SMB_GATEWAY_MEMORY_H
#define ADV_STORAGE_SMB_GATEWAY_MEMORY_H

#include "storage/gateway/memory.h"

/* The longest message, bytes. Servers accept WRITEs of up to 8 MiB, and clients over TCP such as
 * smbclient make use of it. */
enum { ADV_SMB_MESSAGE_MAX = (8 << 20) + (64 << 10) };

/* Returns memory for a reassembled message. NULL: there is as much as the gateway may use, or
 * others were first; the turn waits. */
uint8_t *adv_smb_message_get(struct adv_gateway *g, struct adv_kit_turn *t, size_t length);
/* Frees it; those who wait get memory soon. `b`: any buffers of the gateway. */
void adv_smb_message_put(struct adv_gateway_buffers *b, uint8_t *message, size_t length);

#endif
