/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A call of libibverbs for librdmacm, and for programs of ours that can do without it. It is no
 * part of the ABI of rdma-core. */
#ifndef ADV_ABI_VERBS_WAIT_H
#define ADV_ABI_VERBS_WAIT_H

#include <infiniband/verbs.h>
#include <poll.h>

/* Entries that adv_ibv_wait() needs behind the caller's descriptors. */
#define ADV_IBV_WAIT_ROOM 4

/*
 * Waits as poll(2) for `count` descriptors. Meanwhile the caller receives for the newest CQ of
 * `channel`, like a thread in ibv_get_cq_event(). The channel's descriptor is one of fds and is
 * non-blocking. fds has room for ADV_IBV_WAIT_ROOM more entries, which the call uses.
 *
 * Returns 0 if a descriptor has events, the time is over, or the channel has an event; -1 and EINTR
 * after a signal handler. Stores in *cq the CQ of an event that the call has taken from the
 * channel, or NULL; the caller acknowledges it (ibv_ack_cq_events()). It is a cancellation point.
 */
int adv_ibv_wait(struct ibv_comp_channel *channel, struct pollfd *fds, unsigned count,
		 int timeout_ms, struct ibv_cq **cq);

#endif
