/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The service thread of rsockets. It handles the connection manager's events and the UDP sockets of
 * datagram rsockets, and sends keepalives. The thread runs while there is an rsocket to serve. The
 * functions may be called with or without a lock held.
 */
#ifndef ADV_RDMACM_RSOCKET_SERVICE_H
#define ADV_RDMACM_RSOCKET_SERVICE_H

#include "rdmacm/rsocket_state.h"

/* Makes the thread serve rs, which is in the table. 0; or -1 and errno. */
int adv_rs_service_add(struct adv_rsocket *rs);

/* Makes the thread stop serving rs, if it serves rs. The thread ends when it serves no rsocket. */
void adv_rs_service_remove(struct adv_rsocket *rs);

/* Restarts the keepalive time of the stream rs. Call it when its keepalive option has changed. */
void adv_rs_service_keepalive(struct adv_rsocket *rs);

/* Forgets the service thread, in a child after fork(): the child has no such thread. */
void adv_rs_service_forget(void);

#endif
