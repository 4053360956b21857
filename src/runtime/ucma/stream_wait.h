/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an iWARP id's connection waits for: events of its socket, and its timer. */
#ifndef ADV_RUNTIME_UCMA_STREAM_WAIT_H
#define ADV_RUNTIME_UCMA_STREAM_WAIT_H

#include "runtime/ucma/stream_state.h"

/* Watches the socket for `events` (epoll_ctl(2)), in place of those before. What does not matter in
 * a state is not watched, so that nothing is reported twice. */
void adv_ucma_stream_watch(struct adv_ucma_stream *s, uint32_t events);
/* Stops watching the socket, if there is one. A copy of it may stay open. */
void adv_ucma_stream_unwatch(struct adv_ucma_stream *s);
/* Sets the stream's timer, in place of the one before. 0: no timer. */
void adv_ucma_stream_set_timer(struct adv_ucma_stream *s, unsigned ms);

#endif
