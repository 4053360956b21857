/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "gateway/smb_memory.h"

#include <stdlib.h>

enum { OVERHEAD = 1024 }; /* bytes that go with a message: its request or response */

uint8_t *adv_smb_message_get(struct adv_gateway *g, size_t length)
{
	size_t left = g->buffer_bytes - g->message_bytes;
	uint8_t *message;

	if (left < OVERHEAD || length > left - OVERHEAD)
		return NULL;
	message = malloc(length);
	if (message)
		g->message_bytes += length + OVERHEAD;
	return message;
}

void adv_smb_message_put(struct adv_gateway *g, uint8_t *message, size_t length)
{
	free(message);
	g->message_bytes -= length + OVERHEAD;
}
