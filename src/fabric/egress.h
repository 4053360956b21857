/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending side of one port of a switch or a host: a queue for each priority, the choice of
 * the next queue (IEEE 802.1Q 8.6.8: strict priority, and ETS by deficit round robin), and
 * pauses by the peer (36.1). It reads no clock: the caller passes the time in picoseconds. */
#ifndef ADV_FABRIC_EGRESS_H
#define ADV_FABRIC_EGRESS_H

#include "fabric/packet.h"

/* What a frame needs comes first. 32 bits hold the size of a switch's buffer. */
struct adv_egress_queue {
	struct adv_packet_list packets;
	uint32_t bytes;	 /* size of the queued frames */
	uint32_t count;	 /* queued frames */
	int32_t deficit; /* bytes on the wire that the queue may still send in this turn */
	uint32_t most;	 /* longest queue, bytes */
	uint32_t peak;	 /* longest queue since adv_egress_take_peak(), bytes */
	uint64_t sent;	 /* frames */
	uint64_t sent_bytes;
	uint64_t paused_until; /* end of the pause, ps; 0: not paused */
	uint64_t paused_for;   /* duration of all past pauses, ps; while a pause lasts, less the
				  time at which it began (modulo 2^64) */
	uint64_t pauses;       /* number of pauses */
};

struct adv_egress {
	uint8_t filled;	 /* priorities (a bit each) with frames */
	uint8_t paused;	 /* priorities that the peer has paused */
	uint8_t ignores; /* priorities that send although they are paused: the watchdog's "forward"
			  */
	uint8_t strict; /* priorities of strict priority: served before those with a weight, highest
			   first */
	uint8_t turn;	/* priority with a weight that is served now */
	bool granted;	/* priority `turn` has received the quantum of this turn */
	uint32_t ps_per_byte;
	uint32_t quantum[ADV_PRIORITIES]; /* bytes per turn */
	struct adv_egress_queue queue[ADV_PRIORITIES];
};

/* Initializes an egress that is all zero. weight[p] is the share of priority p of the link,
 * relative to the sum of all weights; 0: strict priority. */
void adv_egress_init(struct adv_egress *e, uint32_t ps_per_byte,
		     const uint8_t weight[ADV_PRIORITIES]);

void adv_egress_push(struct adv_egress *e, struct adv_packet *p);

/* Dequeues the next frame to send. NULL: no frame may be sent. */
struct adv_packet *adv_egress_pop(struct adv_egress *e);

/* Dequeues the oldest frame of a priority, also if it is paused. Does not count the frame as
 * sent. NULL: the queue is empty. */
struct adv_packet *adv_egress_flush(struct adv_egress *e, unsigned priority);

/* True if adv_egress_pop() would return a frame. */
static inline bool adv_egress_ready(const struct adv_egress *e)
{
	return (e->filled & (uint8_t)(~e->paused | e->ignores)) != 0;
}

/* Applies the mask and the times of a received pause frame. Time 0 ends a pause. */
void adv_egress_pause(struct adv_egress *e, uint64_t now, const struct adv_packet *frame);

/* Ends all pauses. */
void adv_egress_resume(struct adv_egress *e, uint64_t now);

/* Returns the time at which the next pause expires, ps, or ADV_CALENDAR_NEVER. */
uint64_t adv_egress_deadline(const struct adv_egress *e);
/* Ends the pauses that have expired at `now`. */
void adv_egress_expire(struct adv_egress *e, uint64_t now);

/* Returns the longest queue of the priority since the last call, in bytes. The first call returns
 * the longest queue since the beginning. */
uint64_t adv_egress_take_peak(struct adv_egress *e, unsigned priority);

/* Returns the total time for which the priority was paused until `now`, ps. */
uint64_t adv_egress_paused_for(const struct adv_egress *e, unsigned priority, uint64_t now);

/* Returns the time for which a frame occupies the wire, ps. */
static inline uint64_t adv_wire_time(uint32_t ps_per_byte, uint32_t frame_bytes)
{
	return (uint64_t)ps_per_byte * (frame_bytes + ADV_WIRE_OVERHEAD);
}

#endif
