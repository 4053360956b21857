/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ends the connections of iWARP ids, in order: what was sent before reaches the peer. */
#ifndef ADV_DAEMON_UCMA_STREAM_END_H
#define ADV_DAEMON_UCMA_STREAM_END_H

#include "daemon/ucma_stream_state.h"

/* Closes the socket, if there is one. The state is ENDED. */
void adv_ucma_stream_end(struct adv_ucma_stream *s);
/* Closes the socket, and frees the stream. */
void adv_ucma_stream_free(struct adv_ucma_stream *s);
/* Refuses a request that the program does not see. Its connection counts for the backlog until it
 * ends. */
void adv_ucma_stream_refuse_awaited(struct adv_ucma_stream *s);
/* Discards what a peer still sends after this end has refused or ended the connection: unread bytes
 * would turn the end into a reset, and the peer could lose what was sent to it before. Frees a
 * stream without an id if the peer has ended the connection. */
void adv_ucma_stream_discard(struct adv_ucma_stream *s);
/* The timer of a refused or ending connection has expired: ends this direction, or the whole. A
 * stream without an id may be freed. */
void adv_ucma_stream_end_is_due(struct adv_ucma_stream *s);
/* The connection is at its end: frees a stream without an id, or reports DISCONNECTED to
 * a program that has seen the connection. */
void adv_ucma_stream_ended(struct adv_ucma_stream *s);

#endif
