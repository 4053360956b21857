/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The service thread of rsockets. It handles the connection manager's events and the UDP sockets of
 * datagram rsockets, and sends keepalives. The thread runs while there is an rsocket to serve. The
 * functions may be called with or without a lock held.
 */
#ifndef ADV_ABI_RSOCKET_SERVICE_H
#define ADV_ABI_RSOCKET_SERVICE_H

#include "abi/rsocket/state.h"

/* Makes the thread watch the descriptor rs->fd of rs, which is in the table. 0; or -1 and errno. */
int adv_rs_service_add(struct adv_rsocket *rs);

/* Call it when a watched rsocket is in the table under another number as well: the thread then
 * finds it by rs->fd. It goes on watching the first descriptor, which the rsocket keeps open. */
void adv_rs_service_renumber(struct adv_rsocket *rs);

/* Makes the thread stop watching, if it does. Keepalives go on. */
void adv_rs_service_unwatch(struct adv_rsocket *rs);

/* Makes the thread stop watching rs and sending its keepalives. Call it when rs->closed is set, so
 * that they do not begin again. The thread ends when it serves no rsocket. */
void adv_rs_service_remove(struct adv_rsocket *rs);

/* Begins, restarts or ends the keepalives of the stream rs, as its options say. They hold a
 * reference until adv_rs_service_remove(). Call it with the lock of rs held, when the stream is
 * connected or the options have changed. Without a thread, logs that there are none. */
void adv_rs_service_keepalive(struct adv_rsocket *rs);

/* Forgets the service thread, in a child after fork(): the child has no such thread. */
void adv_rs_service_forget(void);

#endif
