/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The service thread of rsockets: it waits for the connection manager's events and for the UDP
 * sockets of datagram rsockets, and sends keepalives. It runs while there is an rsocket to serve.
 * All of these with or without a lock held.
 */
#ifndef ADV_RDMACM_RSOCKET_SERVICE_H
#define ADV_RDMACM_RSOCKET_SERVICE_H

#include "rdmacm/rsocket_state.h"

/* From now on the thread serves rs, which is in the table. 0; or -1 and errno. */
int adv_rs_service_add(struct adv_rsocket *rs);

/* No longer, if at all. The thread ends with its last rsocket. */
void adv_rs_service_remove(struct adv_rsocket *rs);

/* Keepalive of rs, a stream, has changed: (re)starts its clock. */
void adv_rs_service_keepalive(struct adv_rsocket *rs);

/* In a child after fork(): there is no thread. */
void adv_rs_service_forget(void);

#endif
