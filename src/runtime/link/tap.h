/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A tap: a link that wraps another link and writes a copy of each packet that passes into the rings
 * of captures (runtime/link/tap_ring.h). Without a capture there is no wrapper, so it costs
 * nothing.
 *
 * The copy of an outgoing packet is made before the inner link sends it. The copy of an incoming
 * packet is made before the owner handles it, so the answer follows it in the ring; the payload of
 * a packet that is away (nic/wire/packet.h) is copied when the owner reads it.
 *
 * All calls are made under the lock of the link's owner.
 */
#ifndef ADV_RUNTIME_LINK_TAP_H
#define ADV_RUNTIME_LINK_TAP_H

#include "runtime/link/link.h"
#include "runtime/link/tap_ring.h"

#define ADV_TAP_CAPTURES 4 /* captures of a tap at the same time */

struct adv_tap_capture {
	struct adv_tap_writer writer;
	int life; /* socket; the capture has ended when its other end is closed */
};

struct adv_tap {
	struct adv_link link;
	struct adv_link *inner;
	unsigned count;
	struct adv_tap_capture capture[ADV_TAP_CAPTURES];
	/* The caller of the current receive(): */
	adv_link_rx_fn *fn;
	void *user;
};

/* Initializes a tap without a capture. */
void adv_tap_init(struct adv_tap *t);

/*
 * Returns the link to use in place of `inner`: the tap, which owns `inner` from now on, or `inner`
 * itself if the tap has no capture. Call it again after adv_tap_attach() and adv_tap_detach(), and
 * to replace `inner`.
 */
struct adv_link *adv_tap_wrap(struct adv_tap *t, struct adv_link *inner);

/*
 * Begins a capture: makes a ring with `size` bytes of records (ADV_TAP_SIZE_*), which keeps `limit`
 * bytes of each packet from the BTH on. Sets *memory_fd to the memory, sealed; the caller passes it
 * on and closes it. The tap owns `life` from now on, unless the call fails. 0; EINVAL: the size
 * does not fit; EBUSY: there are ADV_TAP_CAPTURES captures; ENOMEM, EMFILE.
 */
int adv_tap_attach(struct adv_tap *t, uint32_t size, uint32_t limit, int life, int *memory_fd);

/* Writes a packet into the rings of the captures. For an owner whose packets pass no link. */
void adv_tap_record(struct adv_tap *t, const struct adv_tap_packet *p);

/* Returns the socket of a capture whose other end is closed; -1: none. Never blocks. */
int adv_tap_ended(const struct adv_tap *t);

/* Ends the capture with this socket, and closes the socket. */
void adv_tap_detach(struct adv_tap *t, int life);

/* In a child of fork(): closes the child's copies of the sockets. Async-signal-safe. */
void adv_tap_abandon(const struct adv_tap *t);

#endif
