/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending side of one port of a switch or a host: a queue for each priority, the choice of
 * the next queue (IEEE 802.1Q 8.6.8: strict priority, and ETS by deficit round robin), and
 * pauses by the peer (36.1). It reads no clock: the caller passes the time in picoseconds. */
#ifndef ADV_FABRIC_EGRESS_H
#define ADV_FABRIC_EGRESS_H

#include "fabric/packet.h"

struct adv_egress_queue {
	struct adv_packet_list packets;
	uint64_t bytes; /* of the queued frames */
	uint32_t count;
	int32_t deficit; /* bytes on the wire that it may still send in this turn */
	uint64_t sent;	 /* frames */
	uint64_t sent_bytes;
	uint64_t most;		/* longest queue, bytes */
	uint64_t peak;		/* longest since adv_egress_take_peak(), bytes */
	uint64_t paused_until;	/* ps; 0: not paused */
	uint64_t paused_since;	/* begin of the current pause, ps */
	uint64_t paused_before; /* duration of all past pauses, ps */
	uint64_t pauses;	/* number of pauses */
};

struct adv_egress {
	uint8_t filled;	 /* priorities (a bit each) with frames */
	uint8_t paused;	 /* priorities that the peer has paused */
	uint8_t ignores; /* priorities that send although paused: the watchdog's FORWARD */
	uint8_t strict;	 /* priorities before all with weights, the highest first */
	uint8_t turn;	 /* priority with weight whose turn it is */
	bool granted;	 /* that priority has received this turn's quantum */
	uint32_t ps_per_byte;
	uint32_t quantum[ADV_PRIORITIES]; /* bytes per turn */
	struct adv_egress_queue queue[ADV_PRIORITIES];
};

/* Initializes an egress that is all zero. weight[p] is p's share of the link, relative to the
 * sum of all; 0: strict priority. */
void adv_egress_init(struct adv_egress *e, uint32_t ps_per_byte,
		     const uint8_t weight[ADV_PRIORITIES]);

void adv_egress_push(struct adv_egress *e, struct adv_packet *p);

/* Dequeues the next frame to send. NULL: no frame may be sent. */
struct adv_packet *adv_egress_pop(struct adv_egress *e);

/* Dequeues the oldest frame of one priority, paused or not, and does not count it as sent. NULL:
 * none. */
struct adv_packet *adv_egress_flush(struct adv_egress *e, unsigned priority);

/* True if adv_egress_pop() would return a frame. */
static inline bool adv_egress_ready(const struct adv_egress *e)
{
	return (e->filled & (uint8_t)(~e->paused | e->ignores)) != 0;
}

/* Applies a received pause frame: its mask and times; time 0 resumes. */
void adv_egress_pause(struct adv_egress *e, uint64_t now, const struct adv_packet *frame);

/* adv_egress_deadline(): when the first current pause expires, or ADV_CALENDAR_NEVER.
 * adv_egress_expire() ends the expired ones. */
uint64_t adv_egress_deadline(const struct adv_egress *e);
void adv_egress_expire(struct adv_egress *e, uint64_t now);

/* Returns the longest queue since the last call, or since the beginning, in bytes. */
uint64_t adv_egress_take_peak(struct adv_egress *e, unsigned priority);

/* Returns how long the priority was paused until now, ps. */
uint64_t adv_egress_paused_for(const struct adv_egress *e, unsigned priority, uint64_t now);

/* Returns how long the wire is busy with a frame, ps. */
static inline uint64_t adv_wire_time(uint32_t ps_per_byte, uint32_t frame_bytes)
{
	return (uint64_t)ps_per_byte * (frame_bytes + ADV_WIRE_OVERHEAD);
}

#endif
