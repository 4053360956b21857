/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cancellation of threads in rsocket calls. Programs cancel threads asynchronously that call
 * recv(2) or send(2) in a loop; iperf3 does. A thread that ends inside a call must not leave a lock
 * held. So a call defers asynchronous cancellation, and a thread can be cancelled only where it
 * sleeps: there the call is a cancellation point, as recv(2) and poll(2) are (pthreads(7)).
 */
#ifndef ADV_ABI_RSOCKET_CANCEL_H
#define ADV_ABI_RSOCKET_CANCEL_H

#include <poll.h>

#include "abi/rsocket/state.h"

/* Begins a call on the rsocket with the number `fd`: as adv_rs_get(), and defers cancellation until
 * adv_rs_end(). NULL and errno EBADF: there is none, and nothing is deferred. */
struct adv_rsocket *adv_rs_begin(int fd);
/* Ends the call: releases the reference, and permits cancellation as before. */
void adv_rs_end(struct adv_rsocket *rs);

/* For calls on no rsocket or on several: defers cancellation, until adv_rs_restore_cancel(). Such
 * calls do not nest. */
void adv_rs_defer_cancel(void);
void adv_rs_restore_cancel(void);

struct adv_rs_sleep {
	struct pollfd *fds; /* with a channel: room for ADV_IBV_WAIT_ROOM more entries */
	unsigned count;
	int timeout_ms;
	struct ibv_comp_channel *channel; /* the thread receives for it: adv_ibv_wait(); NULL: it
					     does not receive */
	void (*abandon)(void *);	  /* ends the call of a thread that is cancelled */
	void *arg;			  /* for abandon() */
	struct ibv_cq *cq; /* result: the CQ of an event taken from the channel, or NULL */
};

/* As poll(2): -1, or another value, which does not count the descriptors if there is a channel. The
 * caller holds no lock. */
int adv_rs_sleep(struct adv_rs_sleep *sleep);

/* For abandon(): releases the locks of rs that the thread holds, and the reference of
 * adv_rs_begin(). */
void adv_rs_abandon(struct adv_rsocket *rs);

#endif
