/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sending side of one port of a switch or a host: a queue for each priority, the choice of
 * the next queue (IEEE 802.1Q 8.6.8: strict priority, and ETS by deficit round robin), and
 * pauses by the peer (36.1). It reads no clock: the caller passes the time in picoseconds. */
#ifndef ADV_FABRIC_SWITCH_EGRESS_H
#define ADV_FABRIC_SWITCH_EGRESS_H

#include "fabric/network/packet.h"

/* 64 bytes, which are one cache line in the ports of switches. 32 bits hold the size of a switch's
 * buffer. */
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
};

_Static_assert(sizeof(struct adv_egress_queue) == 64, "one cache line");

/* Past pauses of a queue. */
struct adv_egress_pauses {
	uint64_t lasted; /* their duration, ps; while a pause lasts, less the time at which it began
			    (modulo 2^64) */
	uint64_t count;
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
	struct adv_egress_pauses pauses[ADV_PRIORITIES];
};

/* Initializes an egress that is all zero. weight[p] is the share of priority p of the link,
 * relative to the sum of all weights; 0: strict priority. */
void adv_egress_init(struct adv_egress *e, uint32_t ps_per_byte,
		     const uint8_t weight[ADV_PRIORITIES]);

/* A queue has become so long, bytes. */
static inline void adv_egress_note_length(struct adv_egress_queue *q, uint32_t bytes)
{
	q->peak = bytes > q->peak ? bytes : q->peak;
	q->most = q->peak > q->most ? q->peak : q->most;
}

static inline void adv_egress_push(struct adv_egress *e, struct adv_packet *p)
{
	struct adv_egress_queue *q = &e->queue[p->priority];

	adv_packet_list_push(&q->packets, p);
	q->bytes += p->bytes;
	q->count++;
	adv_egress_note_length(q, q->bytes);
	e->filled |= (uint8_t)(1u << p->priority);
}

/* Returns one of the priorities `may` (a bit each), which have frames, by deficit round robin
 * (Shreedhar and Varghese, SIGCOMM 1995), and charges its first frame. A paused queue is skipped
 * and keeps its deficit. */
unsigned adv_egress_next_by_weight(struct adv_egress *e, unsigned may);

/* As adv_egress_next_by_weight(), for one priority: the turns of the others are empty. */
static inline void adv_egress_charge_only(struct adv_egress *e, unsigned priority)
{
	struct adv_egress_queue *q = &e->queue[priority];
	int32_t need = (int32_t)(q->packets.head->bytes + ADV_WIRE_OVERHEAD);
	int32_t deficit = q->deficit;

	if (e->turn != priority || !e->granted)
		deficit += (int32_t)e->quantum[priority];
	deficit -= need;
	/* No branch: mostly one quantum is enough, and nobody can predict which frame needs it. */
	deficit += (int32_t)(e->quantum[priority] & -(uint32_t)(deficit < 0));
	while (deficit < 0)
		deficit += (int32_t)e->quantum[priority];
	q->deficit = deficit;
	e->turn = (uint8_t)priority;
	e->granted = true;
}

/* Dequeues the first frame of a priority, which has one. */
static inline struct adv_packet *adv_egress_dequeue(struct adv_egress *e, unsigned priority)
{
	struct adv_egress_queue *q = &e->queue[priority];
	struct adv_packet *p = adv_packet_list_pop(&q->packets);

	q->bytes -= p->bytes;
	q->count--;
	if (q->packets.head) {
		/* The next frame was prefetched when the last one left. The one behind it may come
		 * from the third-level cache, which can take longer than a transmission. */
		__builtin_prefetch(q->packets.head->next);
	} else {
		q->deficit = 0;
		e->filled &= (uint8_t) ~(1u << priority);
	}
	return p;
}

/* Dequeues the next frame to send. NULL: no frame may be sent. */
static inline struct adv_packet *adv_egress_pop(struct adv_egress *e)
{
	unsigned may = e->filled & (uint8_t)(~e->paused | e->ignores), strict = may & e->strict;
	struct adv_packet *p;
	unsigned priority;

	if (!may)
		return NULL;
	priority = 31u - (unsigned)__builtin_clz(strict ? strict : may);
	if (!strict && (may & (may - 1)))
		priority = adv_egress_next_by_weight(e, may);
	else if (!strict)
		adv_egress_charge_only(e, priority);
	p = adv_egress_dequeue(e, priority);
	e->queue[priority].sent++;
	e->queue[priority].sent_bytes += p->bytes;
	return p;
}

/* True if a frame of this priority would be sent at once, because none is queued. */
static inline bool adv_egress_free(const struct adv_egress *e, unsigned priority)
{
	return !e->filled && !(e->paused & ~e->ignores & (1u << priority));
}

/* Does what adv_egress_push() and adv_egress_pop() do, if adv_egress_free(). */
static inline void adv_egress_pass(struct adv_egress *e, const struct adv_packet *p)
{
	struct adv_egress_queue *q = &e->queue[p->priority];

	adv_egress_note_length(q, p->bytes);
	q->sent++;
	q->sent_bytes += p->bytes;
	if (e->strict & (1u << p->priority))
		return;
	e->turn = p->priority;
	e->granted = true;
}

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
