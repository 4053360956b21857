/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backlog of an iWARP listener: the connections that it has accepted, and that its program has
 * not fetched. They are connections without a whole request (the listener's children), requests,
 * and connections that the device has refused and that have not ended (children, too).
 */
#ifndef ADV_RUNTIME_UCMA_STREAM_BACKLOG_H
#define ADV_RUNTIME_UCMA_STREAM_BACKLOG_H

#include "runtime/ucma/stream_state.h"

/* Returns a number for the address of a connection's peer: with IPv6, for its network of 64 bits.
 * Peers cannot choose addresses with the same number. */
uint32_t adv_ucma_source_of(const struct adv_ucma *u, const struct adv_cm_addr *remote);

/*
 * Makes room for one more connection, from this source, if the backlog is full: frees a connection
 * of the source that holds most, or else the oldest one whose request has not arrived. False: there
 * is no room, since the listener is full of requests.
 */
bool adv_ucma_backlog_make_room(struct adv_ucma_stream *listener, uint32_t source);

#endif
