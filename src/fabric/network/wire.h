/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_FABRIC_NETWORK_WIRE_H
#define ADV_FABRIC_NETWORK_WIRE_H

#include <stddef.h>

#include "fabric/network/packet.h"
#include "fabric/network/topology.h"

/* The way of a flow through the switch at the end of a wire: adv_packet.out of its frames. */
struct adv_way {
	uint32_t to; /* UINT32_MAX: none */
	uint32_t flow;
	uint16_t out;
};

/* One direction of a cable. The first cache line has what each frame needs. */
struct adv_wire {
	struct adv_link_end from;
	struct adv_link_end to;
	struct adv_packet *sending;
	struct adv_packet_list flying; /* frames sent and not received yet, in their order */
	uint64_t delay;		       /* ps */
	uint32_t ps_per_byte;
	uint32_t lose_per_million; /* frames that do not arrive, or arrive damaged */
	bool cut;     /* the frame being sent, or the next one, is lost: the cable failed */
	bool crosses; /* the ends are in different parts */
	bool seen_leaving : 1, seen_arriving : 1; /* such frames are shown to a tap (external.h) */
	bool shortened;				  /* the delay became shorter: see `not_before` */
	uint32_t corrupt_per_million; /* of those of lose_per_million: frames that arrive damaged */
	uint64_t not_before;	      /* if `shortened`: no frame arrives earlier */
	uint64_t fcs_errors;	      /* frames that arrived damaged */
	struct adv_packet_list pauses; /* pause frames that are received and not yet in effect */
	struct adv_way way[2];	       /* the last flows: a wire has few at a time */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct adv_wire, corrupt_per_million) < 64, "one cache line");

#endif
