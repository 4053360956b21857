/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ends the connections of iWARP ids, in order: what was sent before reaches the peer. The functions
 * that return int return 0 or errno. */
#ifndef ADV_RUNTIME_UCMA_STREAM_END_H
#define ADV_RUNTIME_UCMA_STREAM_END_H

#include "runtime/ucma/stream_state.h"

/* Refuses a request, with private data, or a reply. No event follows. EINVAL: there is neither. */
int adv_ucma_stream_reject(struct adv_ucma_id *id, const uint8_t *private_data, uint8_t len);
/* Ends the connection: the event DISCONNECTED follows when the peer has ended it, too. EINVAL:
 * there is none. */
int adv_ucma_stream_disconnect(struct adv_ucma_id *id);
/* Closes the id's stream, before the id is freed: refuses an unanswered request, and ends a
 * connection. */
void adv_ucma_stream_close(struct adv_ucma_id *id);
/* True while connections without an id end. */
bool adv_ucma_streams_ending(const struct adv_ucma *u);

/* ---- for stream.c ---- */

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
