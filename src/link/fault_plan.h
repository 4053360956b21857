/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The language in which it is said how packets are to be disturbed (docs/faults.md), as a
 * structure and back. Pure: no allocation, no system call; any text whatever may be parsed.
 */
#ifndef ADV_LINK_FAULT_PLAN_H
#define ADV_LINK_FAULT_PLAN_H

#include "link/fault_opcode.h"
#include "wire/packet.h"

#define ADV_FAULT_RULES	     32
#define ADV_FAULT_TEXT_MAX   65536	 /* longer texts are refused */
#define ADV_FAULT_SEEDS	     1000000	 /* one that we choose is below: it is to be typed again */
#define ADV_FAULT_CERTAIN    1000000000u /* a chance of 1 */
#define ADV_FAULT_COPIES_MAX 16
#define ADV_FAULT_BITS_MAX   4096
#define ADV_FAULT_LENGTH_MAX 4096

enum adv_fault_action {
	ADV_FAULT_DROP,
	ADV_FAULT_DUPLICATE,
	ADV_FAULT_REORDER,
	ADV_FAULT_CORRUPT,
	ADV_FAULT_DELAY,
	ADV_FAULT_MARK,
	ADV_FAULT_DOWN,
	/* Of work requests, and so of programs that post them: */
	ADV_FAULT_POST,
	ADV_FAULT_COMPLETE,
	ADV_FAULT_RNR,
	/* Of the device, at a time: */
	ADV_FAULT_PORT_DOWN,
	ADV_FAULT_DEVICE_FATAL,
	ADV_FAULT_EVENT,
	ADV_FAULT_ACTIONS
};

/* Bits of actions: those of packets, of work requests, of the device. */
#define ADV_FAULT_OF_PACKETS ((1u << ADV_FAULT_POST) - 1)
#define ADV_FAULT_OF_WORK    (1u << ADV_FAULT_POST | 1u << ADV_FAULT_COMPLETE | 1u << ADV_FAULT_RNR)
#define ADV_FAULT_OF_DEVICE                                                                        \
	(1u << ADV_FAULT_PORT_DOWN | 1u << ADV_FAULT_DEVICE_FATAL | 1u << ADV_FAULT_EVENT)

/* Where a work request is posted. */
enum adv_fault_work_queue {
	ADV_FAULT_SEND_QUEUE,
	ADV_FAULT_RECV_QUEUE,
	ADV_FAULT_SHARED_QUEUE,
	ADV_FAULT_QUEUES
};

/* Which packets or requests a rule is about, of those which it hits, and what it does to them. */
struct adv_fault_rule {
	enum adv_fault_action action;
	/* All of these must be so. */
	bool tx; /* packets going out are meant; both false only in rules about work
		  * requests and events */
	bool rx;
	uint8_t queues; /* bits of enum adv_fault_work_queue; 0: any */
	bool has_kinds;
	struct adv_fault_kinds kinds;
	uint8_t peer_bits; /* length of the prefix, of 128; 0: any peer */
	struct adv_gid peer;
	bool has_qpn;
	uint32_t qpn_first; /* destination QP of the packet; the QP itself of a work request, an
			     * event */
	uint32_t qpn_last;
	bool has_psn;
	uint32_t psn_first; /* on the circle: may be above psn_last */
	uint32_t psn_last;
	uint64_t from;	/* ns after the plan began */
	uint64_t until; /* 0: for ever */
	/* Of the packets for which they are so, the rule hits these. */
	uint64_t nth_first; /* counted from 1; 0: any */
	uint64_t nth_last;
	uint64_t every;	 /* each so many-th; 0: all */
	uint32_t chance; /* of ADV_FAULT_CERTAIN */
	uint64_t times;	 /* at most so often; 0: no limit */
	/* What happens then. */
	uint64_t time;	 /* ns: DELAY, DOWN, PORT_DOWN: how long; DUPLICATE: the copy comes so much
			  * later; REORDER: held no longer than that */
	uint64_t jitter; /* ns, DELAY */
	uint32_t count;	 /* DUPLICATE: copies; REORDER: packets that overtake; CORRUPT: bits */
	int32_t length;	 /* CORRUPT: bytes put on or, negative, cut off */
	bool icrc_right; /* CORRUPT: the receiver's ICRC check does not find it */
	uint32_t value;	 /* POST: errno; COMPLETE: enum ibv_wc_status; EVENT: enum ibv_event_type */
};

struct adv_fault_plan {
	bool has_seed;
	uint64_t seed;
	unsigned count;
	struct adv_fault_rule rule[ADV_FAULT_RULES];
};

struct adv_fault_error {
	size_t at;	/* offset in the text of what is wrong */
	char text[200]; /* one line without an end: what is wrong, and what was expected */
};

/*
 * Reads a plan from len bytes. An empty text is a plan of no rule. False: *error says what is
 * wrong, and *plan is unspecified.
 */
bool adv_fault_plan_parse(struct adv_fault_plan *plan, const char *text, size_t len,
			  struct adv_fault_error *error);

/* Writes the plan as text that parses to just it. As snprintf(3): returns the length, which is
 * below ADV_FAULT_TEXT_MAX for any plan that was parsed. */
size_t adv_fault_plan_print(const struct adv_fault_plan *plan, char *out, size_t room);

/*
 * Writes three lines for a person: what is wrong, the line of the plan where it is, and a caret
 * below the place. As snprintf(3).
 */
size_t adv_fault_error_print(const struct adv_fault_error *error, const char *text, size_t len,
			     char *out, size_t room);

/* "drop", ... */
const char *adv_fault_action_name(enum adv_fault_action action);

/* The action is POST, COMPLETE or EVENT, and the rule has a value. */
bool adv_fault_has_value(enum adv_fault_action action);

/*
 * fault_name.c: names of values, with or without "IBV_WC_" and "IBV_EVENT_", in letters of either
 * size. False: there is no such value for the action; NULL: it has no name.
 */
bool adv_fault_value(enum adv_fault_action action, const char *name, size_t len, uint32_t *value);
const char *adv_fault_value_name(enum adv_fault_action action, uint32_t value);
/* An asynchronous event (enum ibv_event_type) is of a QP, a CQ or an SRQ; else of the port or the
 * device. */
bool adv_fault_event_has_object(uint32_t event);
/* "send", "recv" or "srq". */
const char *adv_fault_queue_name(enum adv_fault_work_queue queue);

#endif
