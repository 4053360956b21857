/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The switch's own structures, shared by its files, and by settle.c and ahead.h, which run for each
 * frame. The functions that each frame passes are inline, here and in frame.h.
 *
 * switch.c	    create, marks, drops
 * frame.c   frames in and out
 * buffer.c  allocation of the buffer, and pauses of peers
 * timer.c   repeated and expired pauses, the watchdog
 */
#ifndef ADV_FABRIC_SWITCH_INTERNAL_H
#define ADV_FABRIC_SWITCH_INTERNAL_H

#include <assert.h>
#include <stddef.h>

#include "base/rng.h"
#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"
#include "fabric/switch/switch.h"

/* The watchdog's state of a queue. */
struct adv_guard {
	uint64_t sent;	 /* frames sent until the last check */
	uint64_t paused; /* total time of pauses until the last check, ps */
	uint64_t stuck;	 /* time for which the queue has been stuck, ps */
	uint64_t calm;	 /* in a storm: time without a pause, ps */
};

/* The first cache line has what each frame needs, and each queue is one. */
struct adv_switch_port {
	uint8_t told;	 /* priorities in which the peer is paused */
	uint8_t to_tell; /* priorities whose state the next pause frame carries */
	uint8_t storm;	 /* priorities that the watchdog acts on */
	bool sending;
	bool in_ready;	     /* true if the port is in the list of ready ports */
	uint16_t next_ready; /* next port of the list of ready ports */
	uint32_t number;     /* adv_switch_config.number */
	struct adv_egress egress;
	uint64_t repeat_at;	 /* time of the next repeated pause frame, ps */
	uint64_t repeat;	 /* interval of repeated pause frames, ps */
	struct adv_guard *guard; /* watchdog's state by priority; NULL: no watchdog */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct adv_switch_port, egress.queue) == 64, "queues are cache lines");

#define ADV_NO_PORT UINT16_MAX

struct adv_switch {
	const struct adv_route_table *routes;
	struct adv_packet_pool *pool;
	uint64_t shared; /* size of the shared buffer, bytes */
	uint64_t shared_used;
	uint64_t used; /* bytes of all stored frames */
	uint32_t route_seed;
	enum adv_balance balance;
	uint16_t ports;
	uint16_t pause_quanta;
	uint16_t ready_first; /* list of ports that may have become able to send */
	uint16_t ready_last;
	uint32_t pausing; /* input ports and priorities whose peer is paused */
	bool owes;	  /* a port owes its peer a pause frame since adv_fabric_serve() */
	uint64_t deadline;
	struct adv_switch_counters counters;
	struct adv_class class[ADV_PRIORITIES];
	struct adv_rng rng;
	struct adv_watchdog watchdog;
	uint64_t poll_at;
	adv_switch_watch_fn *watch;
	void *watch_user;
	struct adv_ingress *ingress; /* by priority and port */
	struct adv_switch_port port[];
};

/* Returns the stored frames of an input port and priority. */
static inline struct adv_ingress *adv_switch_in(const struct adv_switch *s, unsigned port,
						unsigned priority)
{
	return &s->ingress[priority * s->ports + port];
}

static inline void adv_switch_tell(struct adv_switch *s, uint64_t now, enum adv_switch_event what,
				   unsigned port, unsigned priority, const struct adv_packet *p,
				   uint64_t value)
{
	if (s->watch)
		s->watch(s->watch_user, now, what, port, priority, p, value);
}

/* Adds a port that does not send to the list of adv_switch_next_ready(). */
static inline void adv_switch_wake(struct adv_switch *s, unsigned port)
{
	struct adv_switch_port *pt = &s->port[port];

	if (pt->in_ready || pt->sending)
		return;
	pt->in_ready = true;
	pt->next_ready = ADV_NO_PORT;
	if (s->ready_first == ADV_NO_PORT)
		s->ready_first = (uint16_t)port;
	else
		s->port[s->ready_last].next_ready = (uint16_t)port;
	s->ready_last = (uint16_t)port;
}

/* As adv_switch_next_ready(), if there is a ready port. */
static inline uint16_t adv_switch_take_ready(struct adv_switch *s)
{
	uint16_t port = s->ready_first;

	s->ready_first = s->port[port].next_ready;
	s->port[port].in_ready = false;
	return port;
}

/* Returns the shortest interval of repeated pause frames of all ports, ps. */
static inline uint64_t adv_switch_repeat_min(const struct adv_switch *s)
{
	uint64_t least = s->port[0].repeat;

	for (unsigned i = 1; i < s->ports; i++)
		if (s->port[i].repeat < least)
			least = s->port[i].repeat;
	return least;
}

/* ---- what few frames need: switch.c ---- */

/* Counts a drop and returns the frame to the pool. */
void adv_switch_drop(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p,
		     enum adv_drop reason);
/* Returns the output port of a frame that is sent by any port of its route; ADV_NO_PORT: it has no
 * route, and was dropped. */
uint16_t adv_switch_choose(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p);
/* Marks a frame, by RED with the length `bytes` of the queue that it has left, which is above
 * ecn_min, instead of an average. */
void adv_switch_mark_long(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p,
			  uint64_t bytes);
/* Adds the state of a port to the telemetry of a frame that leaves it. */
void adv_switch_add_hop(const struct adv_egress *e, uint64_t now, struct adv_telemetry *t);

/* ---- the buffer: buffer.c ---- */

/* Takes room for a frame in the headroom of its input port, and pauses the peer. False: there is no
 * room. */
bool adv_buffer_take_headroom(struct adv_switch *s, uint64_t now, const struct adv_packet *p);
/* Resumes the peer of an input port that it has paused, if possible. */
void adv_buffer_resume(struct adv_switch *s, uint64_t now, unsigned port, unsigned priority);
/* Returns the pause frame that the port has to send to its peer; NULL: no memory. */
struct adv_packet *adv_buffer_pause_frame(struct adv_switch *s, uint64_t now, unsigned port);

/* Returns the limit of an input port if `shared_used` of the `shared` bytes are in use. */
static inline uint64_t adv_buffer_limit(const struct adv_class *class, uint64_t shared,
					uint64_t shared_used)
{
	if (class->lossless && class->xoff)
		return class->xoff;
	return class->reserved + (shared - shared_used) * class->alpha_1024 / 1024;
}

/* Returns how many bytes more of the shared buffer an input port uses with `used` bytes instead of
 * `less`. */
static inline uint64_t adv_buffer_shared_part(const struct adv_class *class, uint64_t less,
					      uint64_t used)
{
	uint64_t reserved = class->reserved;

	if (less >= reserved)
		return used - less;
	return used > reserved ? used - reserved : 0;
}

/* Allocates `bytes` for an input port. False: its use would exceed the limit, or the shared buffer
 * is full. */
static inline bool adv_buffer_take_shared(struct adv_switch *s, const struct adv_class *class,
					  struct adv_ingress *in, uint32_t bytes, uint64_t limit)
{
	uint64_t used = (uint64_t)in->used + bytes;
	uint64_t more = adv_buffer_shared_part(class, in->used, used);

	if (used > limit || s->shared_used + more > s->shared)
		return false;
	in->used += bytes;
	s->shared_used += more;
	return true;
}

/* Allocates room for a received frame that is to be sent by `egress`, and pauses the peer if
 * necessary. False: there is no room; *why has the reason. */
static inline bool adv_buffer_admit(struct adv_switch *s, uint64_t now, const struct adv_packet *p,
				    const struct adv_egress *egress, enum adv_drop *why)
{
	const struct adv_class *class = &s->class[p->priority];
	struct adv_ingress *in = adv_switch_in(s, p->in_port, p->priority);
	uint64_t limit = adv_buffer_limit(class, s->shared, s->shared_used);

	if (class->lossless) {
		*why = ADV_DROP_HEADROOM;
		if (!adv_buffer_take_shared(s, class, in, p->bytes, limit) &&
		    !adv_buffer_take_headroom(s, now, p))
			return false;
	} else {
		*why = ADV_DROP_QUEUE;
		if ((uint64_t)egress->queue[p->priority].bytes + p->bytes > limit)
			return false;
		*why = ADV_DROP_BUFFER;
		if (!adv_buffer_take_shared(s, class, in, p->bytes, UINT64_MAX))
			return false;
	}
	s->used += p->bytes;
	s->counters.most_used = s->used > s->counters.most_used ? s->used : s->counters.most_used;
	return true;
}

/* Frees the room of a frame of `size` bytes, and resumes the peer if possible. */
static inline void adv_buffer_release(struct adv_switch *s, uint64_t now, unsigned port,
				      unsigned priority, uint32_t size)
{
	const struct adv_class *class = &s->class[priority];
	struct adv_ingress *in = adv_switch_in(s, port, priority);
	uint32_t bytes = size;

	if (in->headroom_used) {
		uint32_t back = bytes < in->headroom_used ? bytes : in->headroom_used;

		in->headroom_used -= back;
		bytes -= back;
	}
	assert(in->used >= bytes);
	s->shared_used -= adv_buffer_shared_part(class, in->used - bytes, in->used);
	in->used -= bytes;
	s->used -= size;
	if (in->paused)
		adv_buffer_resume(s, now, port, priority);
}

#endif
