/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hosts whose frames come from outside of the simulation: from programs. Such a host keeps its
 * engine too, so simulated flows and a program share its NIC, its cable and the queues of the
 * switches.
 *
 *	adv_fabric_set_external(f, &ops, user);
 *	adv_fabric_attach(f, host);
 *	adv_fabric_ready(f, host);	 when the program has sent
 *	adv_fabric_run(f, until);	 calls ops.pull and ops.deliver
 *
 * The NIC pulls a frame when its wire is free. While a priority is paused, it pulls no frame of
 * that priority: PFC stops the program.
 */
#ifndef ADV_FABRIC_NETWORK_EXTERNAL_H
#define ADV_FABRIC_NETWORK_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/wire/headers.h"

struct adv_fabric;
struct adv_packet;

/* The largest frame from outside, from the BTH to the end of the padding: bytes. */
#define ADV_FABRIC_EXTERNAL_MAX (ADV_HEADERS_MAX + 4096u)

struct adv_fabric_frame {
	uint32_t from; /* host; deliver() only */
	uint32_t to;   /* host */
	uint16_t sport;
	uint8_t tclass; /* DSCP << 2 | ECN; v1: no ECN, so switches do not mark the frame */
	uint8_t hop_limit;
	bool v1;	      /* RoCE v1: a frame with a VLAN tag. pull() only */
	uint8_t sl;	      /* v1: service level, which is the PCP of the tag. pull() only */
	uint8_t tag;	      /* any value; deliver() gets that of pull() */
	uint32_t length;      /* bytes from the BTH to the end of the padding */
	const uint8_t *bytes; /* valid during the call (deliver) or until the next call (pull) */
};

/* Both functions are called within adv_fabric_run() and adv_fabric_ready(). They must not change
 * the fabric. */
struct adv_fabric_external_ops {
	/* Fetches the host's next frame of one of the priorities `wanted` (a bit each). The
	 * priority of a frame is adv_fabric_frame_priority(). Returns false if there is none. */
	bool (*pull)(void *user, uint32_t host, uint8_t wanted, struct adv_fabric_frame *frame);
	/* Takes a frame that has arrived at the host. */
	void (*deliver)(void *user, uint32_t host, const struct adv_fabric_frame *frame);
	/* Sees a frame (fabric/network/packet.h) at an end of a cable that adv_fabric_tap() has
	 * named. out: it begins to leave there; otherwise it has arrived. */
	void (*seen)(void *user, uint32_t link, unsigned end, bool out,
		     const struct adv_packet *packet);
};

/* Sets whether ops.seen() sees the frames at end `end` (0 or 1) of a cable. */
void adv_fabric_tap(struct adv_fabric *f, uint32_t link, unsigned end, bool on);

/* Sets the functions for all hosts. Call it once, before the first run and adv_fabric_attach().
 * `ops` must exist as long as the fabric. */
void adv_fabric_set_external(struct adv_fabric *f, const struct adv_fabric_external_ops *ops,
			     void *user);

/* From now on the host sends and receives frames from outside. */
void adv_fabric_attach(struct adv_fabric *f, uint32_t host);
/* The host pulls no frame any more. Frames that arrive for it are dropped, and counted in
 * adv_fabric_external_counters.rx_detached. Frames that it has sent stay in the network. */
void adv_fabric_detach(struct adv_fabric *f, uint32_t host);

/* Tells an attached host that pull() has frames after it had none. */
void adv_fabric_ready(struct adv_fabric *f, uint32_t host);

/* Returns the time of the next event, ps, or up to 511 ps less; ADV_CALENDAR_NEVER: there is none.
 * Until then adv_fabric_run() does nothing. */
uint64_t adv_fabric_next(const struct adv_fabric *f);

/* Returns the priority of a traffic class (DSCP << 2 | ECN). */
uint8_t adv_fabric_priority(const struct adv_fabric *f, uint8_t tclass);
/* Returns the priority of a frame: of RoCE v1 its service level, otherwise that of its traffic
 * class. */
uint8_t adv_fabric_frame_priority(const struct adv_fabric *f, const struct adv_fabric_frame *frame);

#endif
