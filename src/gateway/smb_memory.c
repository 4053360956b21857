/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory of reassembled messages, which all clients share, and the end of a client. */
#include <stdio.h>
#include <stdlib.h>

#include "gateway/smb_session_internal.h"

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

void adv_smb_session_end(struct adv_smb_session *s, const char *why)
{
	if (s->closing)
		return;
	s->closing = true;
	if (why)
		fprintf(stderr, "%s: %s\n", s->peer, why);
	adv_smb_direct_close(s->direct);
}
