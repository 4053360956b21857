/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What becomes of each packet under a fault plan. Pure: time comes in, randomness from the
 * plan's seed, so that the same packets at the same times meet the same fate. The link
 * wrapper (fault.h) and the simulator both ask here.
 */
#ifndef ADV_LINK_FAULT_DECIDE_H
#define ADV_LINK_FAULT_DECIDE_H

#include "base/list.h"
#include "base/rng.h"
#include "link/fault_plan.h"

/* What rules look at. */
struct adv_fault_packet {
	bool tx;
	enum adv_ecn ecn;
	bool is_packet; /* there is a whole BTH; else only direction and peer count */
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t dest_qpn;
	uint32_t psn;
	const struct adv_gid *peer; /* the other end's address */
};

/* Reads what rules look at from the bytes at the BTH, whatever they are. */
void adv_fault_packet_read(struct adv_fault_packet *p, bool tx, const struct adv_gid *peer,
			   enum adv_ecn ecn, const uint8_t *data, size_t len);

/* What rules about work requests look at. */
struct adv_fault_work {
	enum adv_fault_action action; /* POST, COMPLETE or RNR: what may happen to it */
	enum adv_fault_work_queue queue;
	uint8_t opcode; /* of a packet that carries such a request out; 0xff: none does */
	uint32_t qpn;	/* 0: that of no QP */
};

/* What is to be done; all zero: nothing. */
struct adv_fault_verdict {
	bool drop;
	bool mark;	 /* ECN: congestion experienced */
	bool corrupt;	 /* by adv_fault_alter() */
	bool icrc_right; /* ... and the receiver does not notice */
	unsigned copies; /* beyond the packet itself */
	uint64_t delay;	 /* ns, of the packet and its copies */
	uint64_t after;	 /* ns between the packet and each copy */
	unsigned behind; /* this many later packets of its direction go first ... */
	uint64_t hold;	 /* ... but it waits no longer than so many ns */
	unsigned bits;	 /* to flip */
	int32_t length;	 /* bytes to put on or to cut off */
	uint64_t dice;	 /* for adv_fault_alter() */
};

struct adv_fault_rule_state {
	uint64_t seen; /* packets for which the conditions held */
	uint64_t hits;
	uint64_t down_until;
};

struct adv_fault_counters {
	uint64_t packets;		  /* looked at */
	uint64_t hits[ADV_FAULT_ACTIONS]; /* DOWN, PORT_DOWN, DEVICE_FATAL: packets lost by it;
					   * EVENT: events told */
	uint64_t lost; /* counted by who keeps packets: those for which there was no room */
};

struct adv_fault_state {
	struct adv_fault_plan plan;
	struct adv_rng rng;
	uint64_t start;
	struct adv_fault_rule_state rule[ADV_FAULT_RULES];
	struct adv_fault_counters counters;
	uint64_t port_asked; /* adv_fault_port_blinked() has seen what began before; from the start
			      */
	uint64_t again; /* an event is due, but nothing was there that it is of: look then; 0: no */
};

/* Begins a plan (copied), which must have its seed, at this time. */
void adv_fault_begin(struct adv_fault_state *s, const struct adv_fault_plan *plan, uint64_t now);

/* Fills *v. Returns false where nothing is to be done with the packet. */
bool adv_fault_decide(struct adv_fault_state *s, uint64_t now, const struct adv_fault_packet *p,
		      struct adv_fault_verdict *v);

/* Says what happens to a request: an errno, a status, or 1 (RNR: there is no receive request). 0:
 * nothing. */
uint32_t adv_fault_decide_work(struct adv_fault_state *s, uint64_t now,
			       const struct adv_fault_work *w);

/* The device at this time: its port is down; it has failed for good. */
bool adv_fault_port_is_down(const struct adv_fault_state *s, uint64_t now);
bool adv_fault_device_is_dead(const struct adv_fault_state *s, uint64_t now);
/* Whether the port has gone down and come up again since this was asked last, or the plan began,
 * and is up at this time. */
bool adv_fault_port_blinked(struct adv_fault_state *s, uint64_t now);
/* Tells the event of the rule, of all that it is about; how many of these there are. */
typedef unsigned adv_fault_tell_fn(void *user, const struct adv_fault_rule *r);
/* Has each event told whose time has come, once; or again later, where nothing was there yet. */
void adv_fault_events(struct adv_fault_state *s, uint64_t now, adv_fault_tell_fn *tell, void *user);
/* When any of that changes next, after `now`; UINT64_MAX: never. */
uint64_t adv_fault_device_due(const struct adv_fault_state *s, uint64_t now);

/* Flips the bits and changes the length as *v says, a BTH remains; data has `room` bytes. Returns
 * the length. */
uint32_t adv_fault_alter(const struct adv_fault_verdict *v, uint8_t *data, uint32_t len,
			 uint32_t room);

/* ---- packets that wait -------------------------------------------------------------- */

/* Part of a packet that is kept; the owner is the caller's. */
struct adv_fault_held {
	struct adv_list node;
	uint64_t due;
	unsigned behind; /* 0: only the time counts */
};

/* Of one direction, the earliest first. */
struct adv_fault_queue {
	struct adv_list held;
	unsigned count;
	unsigned behind; /* those that wait for others to go first */
};

void adv_fault_queue_init(struct adv_fault_queue *q);
/* Puts it in; what is due at the same time keeps its order. */
void adv_fault_queue_put(struct adv_fault_queue *q, struct adv_fault_held *h);
/* A packet has passed at `now`: whom that was the last to go before is due. */
void adv_fault_queue_passed(struct adv_fault_queue *q, uint64_t now);
/* Takes out the first that is due; NULL: none. */
struct adv_fault_held *adv_fault_queue_take(struct adv_fault_queue *q, uint64_t now);
/* When the first will be due; UINT64_MAX: none waits. */
uint64_t adv_fault_queue_due(const struct adv_fault_queue *q);

#endif
