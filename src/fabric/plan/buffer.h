/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes whether headroom and reserved bytes of all ports fit into a switch's shared buffer,
 * and how much of the rest each queue may use. Pure functions on the caller's structures. */
#ifndef ADV_FABRIC_PLAN_BUFFER_H
#define ADV_FABRIC_PLAN_BUFFER_H

#include "fabric/plan/ecn.h"
#include "fabric/plan/headroom.h"

#define ADV_PLAN_GROUPS_MAX 16

/* Ports of the same speed and cable. */
struct adv_plan_ports {
	uint32_t count;
	struct adv_plan_link link;
};

struct adv_plan_switch {
	uint64_t buffer;   /* bytes */
	uint32_t lossless; /* priorities with PFC, 0 to 8 */
	uint32_t lossy;	   /* queues of other traffic per port, 0 to 8 */
	uint64_t reserve;  /* reserved bytes of each queue */
	uint64_t alpha;	   /* in units of 1 / ADV_RATIO_ONE */
	uint64_t headroom; /* per port and lossless priority, bytes; 0: computed from each group's
			      link */
	unsigned groups;
	struct adv_plan_ports group[ADV_PLAN_GROUPS_MAX];
};

/* The result. Sizes are bytes. */
struct adv_plan_buffer {
	uint32_t ports;
	/* Headroom of one port and priority of the group. */
	uint64_t group_headroom[ADV_PLAN_GROUPS_MAX];
	uint64_t headroom; /* headroom of all ports and priorities */
	uint64_t reserved; /* reserved bytes of all queues of all ports */
	bool fits;
	uint64_t shared;       /* if `fits`: the rest of the buffer */
	uint64_t missing;      /* if not `fits`: the missing bytes */
	uint32_t lossless_fit; /* number of lossless priorities that would fit, up to 8 */
	uint64_t delay_fit; /* longest one-way delay, ps, of all cables with which all fits; 0: no
			       delay fits, or the headroom was given */
};

/*
 *   headroom = sum over groups of ports x priorities x headroom of one (headroom.h)
 *   reserved = ports x (lossless + lossy) x reserve
 *   shared   = buffer - headroom - reserved
 *   fits     = shared > 0
 *
 * Returns NULL, or one line with the value that is out of range; *out is then unspecified.
 */
const char *adv_plan_buffer(const struct adv_plan_switch *sw, struct adv_plan_buffer *out);

/*
 * Returns the largest size that each of `queues` congested queues can reach in a shared buffer
 * with dynamic thresholds, in bytes, rounded down. From T = alpha (shared - occupied) follows
 *
 *   T = alpha shared / (1 + queues alpha)
 *
 * (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches",
 * IEEE/ACM Transactions on Networking 6(2), 1998). Above T a lossless queue pauses its sender, and
 * another queue drops. alpha is in units of 1 / ADV_RATIO_ONE, up to ADV_PLAN_ALPHA_MAX; shared is
 * at most ADV_PLAN_BUFFER_MAX, queues at most 2^20.
 */
uint64_t adv_plan_dynamic_threshold(uint64_t shared, uint64_t alpha, uint64_t queues);

#endif
