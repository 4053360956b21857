/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event channels. The descriptor that the application sees is a socket on which the daemon puts
 * one byte for each event: it can be polled, made non-blocking, waited on.
 *
 * A channel lives until the application has destroyed it and its last id is gone.
 */
#ifndef ADV_RDMACM_CHANNEL_H
#define ADV_RDMACM_CHANNEL_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "rdmacm/connection.h"

struct adv_rdma_channel {
	struct rdma_event_channel channel; /* first: what the application has */
	struct adv_rdma_connection *connection;
	uint32_t handle;
	unsigned refs; /* the application's, one an id, one a thread that waits */
	bool closed;   /* the application has destroyed it */
	struct adv_rdma_waiter waiter;
	struct adv_list ids; /* those with DEVICE_REMOVAL reported come last */
};

struct adv_rdma_channel *adv_rdma_channel_of(struct rdma_event_channel *channel);

/* One more, or one less, user of it; with the connection's lock held, and without. */
void adv_rdma_channel_hold(struct adv_rdma_channel *ch);
void adv_rdma_channel_release(struct adv_rdma_channel *ch);

/* Waits for an event as read(2) on the descriptor does: 1 there may be one; 0 the daemon is gone;
 * -1 and errno (EAGAIN, EINTR, EBADF: it is destroyed). A cancellation point. Without the lock. */
int adv_rdma_channel_wait(struct adv_rdma_channel *ch);

#endif
