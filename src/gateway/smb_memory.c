/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "gateway/smb_memory.h"

#include <stdlib.h>

uint8_t *adv_smb_message_get(struct adv_gateway *g, size_t length)
{
	uint8_t *message;

	if (length > g->buffer_bytes - g->message_bytes)
		return NULL;
	message = malloc(length);
	if (message)
		g->message_bytes += length;
	return message;
}

void adv_smb_message_put(struct adv_gateway *g, uint8_t *message, size_t length)
{
	free(message);
	g->message_bytes -= length;
}
