/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending side of one port, of a switch or of a host: a queue a priority, which of them is next
 * (IEEE 802.1Q, 8.6.8: strict priority, and ETS by deficit round robin), and which a peer has
 * paused (36.1). Free of any clock: time comes in as picoseconds.
 */
#ifndef ADV_FABRIC_EGRESS_H
#define ADV_FABRIC_EGRESS_H

#include "fabric/packet.h"

struct adv_egress_queue {
	struct adv_packet_list packets;
	uint64_t bytes; /* of the frames in it */
	uint32_t count;
	int32_t deficit; /* bytes on the wire that it may send still in its turn */
	uint64_t sent;	 /* frames, ever */
	uint64_t sent_bytes;
	uint64_t most;		/* bytes that were ever in it at once */
	uint64_t peak;		/* ... since adv_egress_take_peak() */
	uint64_t paused_until;	/* ps; 0: it is not paused */
	uint64_t paused_since;	/* of the pause that is on */
	uint64_t paused_before; /* ps of all pauses that are over */
	uint64_t pauses;	/* how many began */
};

struct adv_egress {
	uint8_t filled;	 /* a bit a priority: there are frames */
	uint8_t paused;	 /* ... its peer has paused it */
	uint8_t ignores; /* ... it sends although paused: the watchdog's FORWARD */
	uint8_t strict;	 /* ... it goes before all that have weights, the highest first */
	uint8_t turn;	 /* whose turn it is of those with weights */
	bool granted;	 /* it has had this turn's quantum */
	uint32_t ps_per_byte;
	uint32_t quantum[ADV_PRIORITIES]; /* bytes a turn */
	struct adv_egress_queue queue[ADV_PRIORITIES];
};

/* weight[p]: the share of the link that p may count on, of the sum of all; 0: strict. An egress is
 * all zero before. */
void adv_egress_init(struct adv_egress *e, uint32_t ps_per_byte,
		     const uint8_t weight[ADV_PRIORITIES]);

void adv_egress_push(struct adv_egress *e, struct adv_packet *p);

/* Takes the frame that is to be sent next; NULL: there is none that may be. */
struct adv_packet *adv_egress_pop(struct adv_egress *e);

/* Takes the oldest frame of one priority, paused or not, without counting it as sent; or NULL. */
struct adv_packet *adv_egress_flush(struct adv_egress *e, unsigned priority);

/* True where adv_egress_pop() would find one. */
static inline bool adv_egress_ready(const struct adv_egress *e)
{
	return (e->filled & (uint8_t)(~e->paused | e->ignores)) != 0;
}

/* A pause frame says so: times by its mask, 0 resumes. */
void adv_egress_pause(struct adv_egress *e, uint64_t now, const struct adv_packet *frame);

/* When the first pause that is on ends by itself; ADV_CALENDAR_NEVER. And ends those that do. */
uint64_t adv_egress_deadline(const struct adv_egress *e);
void adv_egress_expire(struct adv_egress *e, uint64_t now);

/* The most bytes that were in the queue at once since this was asked last, or ever. */
uint64_t adv_egress_take_peak(struct adv_egress *e, unsigned priority);

/* ps for which the priority was paused, up to now. */
uint64_t adv_egress_paused_for(const struct adv_egress *e, unsigned priority, uint64_t now);

/* ps that a frame takes to be sent. */
static inline uint64_t adv_wire_time(uint32_t ps_per_byte, uint32_t frame_bytes)
{
	return (uint64_t)ps_per_byte * (frame_bytes + ADV_WIRE_OVERHEAD);
}

#endif
