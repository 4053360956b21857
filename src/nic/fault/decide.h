/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applies a fault plan: decides about each packet, each work request and the device. Pure: the time
 * is passed in, and the randomness comes from the plan's seed. So the same packets at the same
 * times get the same verdicts. The link wrapper (runtime/link/fault_link.h), the daemon and the
 * simulator use it.
 */
#ifndef ADV_NIC_FAULT_DECIDE_H
#define ADV_NIC_FAULT_DECIDE_H

#include "base/rng.h"
#include "nic/fault/plan.h"

/* The properties of a packet that rules test. */
struct adv_fault_packet {
	bool tx;
	enum adv_ecn ecn;
	bool is_packet; /* false: shorter than a BTH; only direction, ECN and peer are known */
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t dest_qpn;
	uint32_t psn;
	const struct adv_gid *peer; /* address of the other end */
};

/* Fills *p from any bytes that begin at the BTH. */
void adv_fault_packet_read(struct adv_fault_packet *p, bool tx, const struct adv_gid *peer,
			   enum adv_ecn ecn, const uint8_t *data, size_t len);

/* The properties of a work request that rules test. */
struct adv_fault_work {
	enum adv_fault_action action; /* action that the caller queries: a bit of OF_WORK */
	enum adv_fault_work_queue queue;
	uint8_t opcode; /* opcode of a packet that carries such a request; 0xff: no packet does */
	uint32_t qpn;	/* 0: the request is not of a particular QP */
};

/* The verdict on a packet. If all members are 0, the packet passes unchanged. */
struct adv_fault_verdict {
	bool drop;
	bool mark;	 /* ECN: congestion experienced */
	bool corrupt;	 /* call adv_fault_alter() */
	bool icrc_right; /* the receiver does not detect the corruption */
	unsigned copies; /* number of copies besides the packet itself */
	uint64_t delay;	 /* ns, for the packet and its copies */
	uint64_t after;	 /* ns between the packet and each copy */
	unsigned behind; /* this many later packets of its direction overtake it */
	uint64_t hold;	 /* ns: the longest wait for the packets of `behind` */
	unsigned bits;	 /* number of bits to flip */
	int32_t length;	 /* bytes to append or, if negative, to cut off */
	uint64_t dice;	 /* seed for adv_fault_alter() */
};

struct adv_fault_rule_state {
	uint64_t seen; /* packets that matched the conditions */
	uint64_t hits;
	uint64_t down_until;
};

struct adv_fault_counters {
	uint64_t packets;		  /* examined */
	uint64_t hits[ADV_FAULT_ACTIONS]; /* DOWN, PORT_DOWN, DEVICE_FATAL: packets lost by it;
					   * EVENT: events raised */
	uint64_t lost; /* packets for which the queues of the owner had no room; the owner counts
			  them */
};

struct adv_fault_state {
	struct adv_fault_plan plan;
	struct adv_rng rng;
	uint64_t start;
	struct adv_fault_rule_state rule[ADV_FAULT_RULES];
	struct adv_fault_counters counters;
	uint64_t port_asked; /* adv_fault_port_blinked() has reported all outages that began before
			      * this time, counted from `start` */
	uint64_t again; /* time to retry an event whose object did not exist; 0: there is none */
};

/* Starts a plan (copied) at the time `now`. The plan must have a seed. */
void adv_fault_begin(struct adv_fault_state *s, const struct adv_fault_plan *plan, uint64_t now);

/* Fills *v. Returns false if no rule hits the packet. */
bool adv_fault_decide(struct adv_fault_state *s, uint64_t now, const struct adv_fault_packet *p,
		      struct adv_fault_verdict *v);

/* Decides about a work request. Returns the errno (POST), the status (COMPLETE), 1 (RNR: no
 * receive request is available), or a duration in ns (TEAR). Returns 0 if no rule hits the request.
 */
uint32_t adv_fault_decide_work(struct adv_fault_state *s, uint64_t now,
			       const struct adv_fault_work *w);

/* True while the plan keeps the port down. */
bool adv_fault_port_is_down(const struct adv_fault_state *s, uint64_t now);

/* True once the plan has made the device fail, permanently. */
bool adv_fault_device_is_dead(const struct adv_fault_state *s, uint64_t now);

/* True if the port is up, but was down at some time after the previous call. The first call covers
 * the time since the start of the plan. */
bool adv_fault_port_blinked(struct adv_fault_state *s, uint64_t now);

/* Raises the rule's event on each object that the rule concerns. Returns the number of objects. */
typedef unsigned adv_fault_raise_fn(void *user, const struct adv_fault_rule *r);

/* Raises each event that is due, once. An event whose object does not exist yet is tried again
 * later. */
void adv_fault_raise_events(struct adv_fault_state *s, uint64_t now, adv_fault_raise_fn *raise,
			    void *user);

/* Returns the first time after `now` at which the state of the port or the device changes, or an
 * event is due. UINT64_MAX: never. */
uint64_t adv_fault_device_due(const struct adv_fault_state *s, uint64_t now);

/* Flips bits and changes the length as *v says; the BTH is never cut off. data has `room` bytes.
 * Returns the new length. */
uint32_t adv_fault_alter(const struct adv_fault_verdict *v, uint8_t *data, uint32_t len,
			 uint32_t room);

#endif
