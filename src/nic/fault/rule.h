/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One rule of a fault plan: its action, its conditions and its parameters. */
#ifndef ADV_NIC_FAULT_RULE_H
#define ADV_NIC_FAULT_RULE_H

#include "nic/fault/kinds.h"
#include "nic/wire/packet.h"

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
	/* These act on work requests: */
	ADV_FAULT_POST,
	ADV_FAULT_COMPLETE,
	ADV_FAULT_RNR,
	ADV_FAULT_TEAR,
	/* These act on the device, at a given time: */
	ADV_FAULT_PORT_DOWN,
	ADV_FAULT_DEVICE_FATAL,
	ADV_FAULT_EVENT,
	ADV_FAULT_ACTIONS
};

/* Bit masks of the actions on packets, on work requests and on the device. */
#define ADV_FAULT_OF_PACKETS ((1u << ADV_FAULT_POST) - 1)
#define ADV_FAULT_OF_WORK                                                                          \
	(1u << ADV_FAULT_POST | 1u << ADV_FAULT_COMPLETE | 1u << ADV_FAULT_RNR |                   \
	 1u << ADV_FAULT_TEAR)
#define ADV_FAULT_OF_DEVICE                                                                        \
	(1u << ADV_FAULT_PORT_DOWN | 1u << ADV_FAULT_DEVICE_FATAL | 1u << ADV_FAULT_EVENT)

/* The actions that an iWARP device has (flow.h). */
#define ADV_FAULT_OF_STREAMS                                                                       \
	(((1u << ADV_FAULT_ACTIONS) - 1) &                                                         \
	 ~(1u << ADV_FAULT_MARK | 1u << ADV_FAULT_RNR | 1u << ADV_FAULT_TEAR))

#define ADV_FAULT_TEAR_MAX 100000000 /* ns: the device does nothing else meanwhile */

/* The queue to which a work request is posted. */
enum adv_fault_work_queue {
	ADV_FAULT_SEND_QUEUE,
	ADV_FAULT_RECV_QUEUE,
	ADV_FAULT_SHARED_QUEUE,
	ADV_FAULT_QUEUES
};

struct adv_fault_rule {
	enum adv_fault_action action;
	/* Conditions. A packet or request matches the rule if all of them hold. */
	bool tx; /* outgoing packets match; tx and rx are both false only in rules about work
		  * requests and events */
	bool rx;
	uint8_t queues; /* bits of enum adv_fault_work_queue; 0: any */
	bool has_kinds;
	struct adv_fault_kinds kinds;
	uint8_t peer_bits; /* length of the prefix, 128 at most; 0: any peer */
	struct adv_gid peer;
	bool has_qpn;
	uint32_t qpn_first; /* destination QP of a packet; the QP itself of a work request or an
			     * event */
	uint32_t qpn_last;
	bool has_psn;
	uint32_t psn_first; /* PSNs wrap around: psn_first may be above psn_last */
	uint32_t psn_last;
	uint64_t from;	/* ns after the start of the plan */
	uint64_t until; /* 0: no end */
	/* Selection. These members select the matching packets and requests that the rule hits. */
	uint64_t nth_first; /* counted from 1; 0: any */
	uint64_t nth_last;
	uint64_t every;	 /* every n-th; 0: all */
	uint32_t chance; /* in units of 1 / ADV_FAULT_CERTAIN */
	uint64_t times;	 /* the rule hits at most this often; 0: no limit */
	/* Parameters of the action. */
	uint64_t time;	 /* ns. DELAY, DOWN, PORT_DOWN: duration; TEAR: duration, ADV_FAULT_TEAR_MAX
			  * at most; DUPLICATE: interval between the
			  * packet and its copy; REORDER: the longest time the packet is kept */
	uint64_t jitter; /* ns, DELAY */
	uint32_t count;	 /* DUPLICATE: copies; REORDER: packets that overtake; CORRUPT: bits */
	int32_t length;	 /* CORRUPT: bytes to append or, if negative, to cut off */
	bool icrc_right; /* CORRUPT: the receiver's ICRC check does not detect the damage */
	uint32_t value;	 /* POST: errno; COMPLETE: enum ibv_wc_status; EVENT: enum ibv_event_type */
};

#endif
