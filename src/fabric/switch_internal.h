/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The switch's own structures, shared by its files only.
 *
 * switch.c	    create, frames in and out, marks
 * switch_ready.c   the list of ports that may be able to send
 * switch_buffer.c  allocation of the buffer, and pauses of peers
 * switch_timer.c   repeated and expired pauses, the watchdog
 */
#ifndef ADV_FABRIC_SWITCH_INTERNAL_H
#define ADV_FABRIC_SWITCH_INTERNAL_H

#include "base/rng.h"
#include "fabric/calendar.h"
#include "fabric/egress.h"
#include "fabric/switch.h"

/* The watchdog's state of a queue. */
struct adv_guard {
	uint64_t sent;	 /* frames sent until the last check */
	uint64_t paused; /* total time of pauses until the last check, ps */
	uint64_t stuck;	 /* time for which the queue has been stuck, ps */
	uint64_t calm;	 /* in a storm: time without a pause, ps */
};

struct adv_port {
	struct adv_egress egress;
	struct adv_ingress ingress[ADV_PRIORITIES];
	uint8_t told;	 /* priorities in which the peer is paused */
	uint8_t to_tell; /* priorities whose state the next pause frame carries */
	uint8_t storm;	 /* priorities that the watchdog acts on */
	bool sending;
	bool in_ready;		 /* true if the port is in the list of ready ports */
	uint16_t next_ready;	 /* next port of the list of ready ports */
	uint64_t repeat_at;	 /* time of the next repeated pause frame, ps */
	uint64_t repeat;	 /* interval of repeated pause frames, ps */
	struct adv_guard *guard; /* watchdog's state by priority; NULL: no watchdog */
};

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
	struct adv_class class[ADV_PRIORITIES];
	struct adv_switch_counters counters;
	struct adv_rng rng;
	struct adv_watchdog watchdog;
	uint64_t poll_at;
	uint64_t deadline;
	adv_switch_watch_fn *watch;
	void *watch_user;
	struct adv_port port[];
};

static inline void adv_switch_tell(struct adv_switch *s, uint64_t now, enum adv_switch_event what,
				   unsigned port, unsigned priority, const struct adv_packet *p,
				   uint64_t value)
{
	if (s->watch)
		s->watch(s->watch_user, now, what, port, priority, p, value);
}

/* switch_ready.c: adds a port that does not send to the list of adv_switch_next_ready(). */
void adv_switch_wake(struct adv_switch *s, unsigned port);
/* switch.c: counts a drop and returns the frame to the pool. */
void adv_switch_drop(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p,
		     enum adv_drop reason);

/* switch_buffer.c: allocates room for a received frame that is to be sent by `egress`, and pauses
 * the peer if necessary. False: there is no room; *why has the reason. */
bool adv_buffer_admit(struct adv_switch *s, uint64_t now, const struct adv_packet *p,
		      const struct adv_egress *egress, enum adv_drop *why);
/* switch_buffer.c: frees the room of a frame, and resumes the peer if possible. */
void adv_buffer_release(struct adv_switch *s, uint64_t now, const struct adv_packet *p);
/* switch_buffer.c: returns the pause frame that the port has to send to its peer; NULL: no
 * memory. */
struct adv_packet *adv_buffer_pause_frame(struct adv_switch *s, uint64_t now, unsigned port);

#endif
