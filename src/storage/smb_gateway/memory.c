/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb_gateway/memory.h"

#include <stdlib.h>

enum { OVERHEAD = 1024 }; /* bytes that go with a message: its request or response */

uint8_t *adv_smb_message_get(struct adv_gateway *g, struct adv_kit_turn *t, size_t length)
{
	size_t left = g->buffer_bytes - g->message_bytes;
	uint8_t *message = NULL;

	if (adv_kit_turn_has_come(&g->message_turns, t) && left >= OVERHEAD &&
	    length <= left - OVERHEAD)
		message = malloc(length);
	if (message)
		g->message_bytes += length + OVERHEAD;
	else
		adv_kit_turn_wait(&g->message_turns, t);
	return message;
}

void adv_smb_message_put(struct adv_gateway_buffers *b, uint8_t *message, size_t length)
{
	free(message);
	b->gateway->message_bytes -= length + OVERHEAD;
	adv_gateway_serve_turns(b);
}
