/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event channels. The application's descriptor is a socket to which the daemon sends one byte for
 * each event. It can be polled, read and made non-blocking.
 *
 * A channel exists until the application has destroyed it and its last id is destroyed.
 */
#ifndef ADV_ABI_RDMACM_CHANNEL_H
#define ADV_ABI_RDMACM_CHANNEL_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "abi/rdmacm/connection.h"

struct adv_rdma_channel {
	struct rdma_event_channel channel; /* first: the application's part */
	struct adv_rdma_connection *connection;
	uint32_t handle;
	/* References: one of the application, one of each id, one of each thread in
	 * rdma_get_cm_event(). */
	atomic_uint refs;
	atomic_bool closed; /* the application has destroyed the channel */
	pthread_t closer;   /* if it has: its thread */
	/* The threads in rdma_get_cm_event(). Their read(2) must not find another descriptor with
	 * this number: if the channel is destroyed meanwhile, the last one closes the socket. */
	atomic_uint readers;
	atomic_int to_close;	       /* the socket, if the channel is destroyed; else -1 */
	struct adv_rdma_waiter waiter; /* its fd: the socket */
	struct adv_list ids;	       /* ids with DEVICE_REMOVAL reported come last */
};

struct adv_rdma_channel *adv_rdma_channel_of(struct rdma_event_channel *channel);

/* Adds a reference. The caller has one, or holds the lock of a connection that has an id of the
 * channel. */
void adv_rdma_channel_hold(struct adv_rdma_channel *ch);
/* Adds the reference of a thread that begins to wait. Call it without the connection's lock. 0;
 * EBADF: the calling thread has destroyed the channel; EINTR: another thread has, and this one
 * waited for a signal. Programs such as rping destroy a channel while their thread is between two
 * waits, and end if the thread's call fails. The memory of the channel destroyed last is kept for
 * such a call. */
int adv_rdma_channel_enter(struct adv_rdma_channel *ch);
/* Ends the call of a thread that has entered, and releases its reference. */
void adv_rdma_channel_leave(struct adv_rdma_channel *ch);
/* Releases a reference. Call it without the connection's lock. */
void adv_rdma_channel_release(struct adv_rdma_channel *ch);

/* Waits for an event as read(2) does on the descriptor. Returns 1: an event may be available; 0:
 * the daemon has exited; -1 and errno (EAGAIN, EINTR). If the channel is destroyed before or during
 * the call, only a signal ends the wait (EINTR). The call is a cancellation point. Call it without
 * the connection's lock. */
int adv_rdma_channel_wait(struct adv_rdma_channel *ch);

#endif
