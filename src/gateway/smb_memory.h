/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory of reassembled messages of SMB, which all clients share. */
#ifndef ADV_GATEWAY_SMB_MEMORY_H
#define ADV_GATEWAY_SMB_MEMORY_H

#include "gateway/session.h"

/* The longest message, bytes. Servers accept WRITEs of up to 8 MiB, and clients over TCP such as
 * smbclient make use of it. */
enum { ADV_SMB_MESSAGE_MAX = (8 << 20) + (64 << 10) };

/* Returns memory for a reassembled message; NULL: there is as much as the gateway may use. */
uint8_t *adv_smb_message_get(struct adv_gateway *g, size_t length);
/* Frees it. The caller starts the task that gives memory to waiting messages. */
void adv_smb_message_put(struct adv_gateway *g, uint8_t *message, size_t length);

#endif
