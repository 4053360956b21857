/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether the headroom and reserves of all ports fit into a switch's shared buffer, and what each
 * queue may take of the rest. Pure functions on the caller's structures.
 */
#ifndef ADV_FABRIC_PLAN_BUFFER_H
#define ADV_FABRIC_PLAN_BUFFER_H

#include "fabric/plan_ecn.h"
#include "fabric/plan_headroom.h"

#define ADV_PLAN_GROUPS_MAX 16

/* Ports of the same speed and cable. */
struct adv_plan_ports {
	uint32_t count;
	struct adv_plan_link link;
};

struct adv_plan_switch {
	uint64_t buffer;   /* bytes */
	uint32_t lossless; /* priorities with PFC, 0 to 8 */
	uint32_t lossy;	   /* queues of other traffic a port, 0 to 8 */
	uint64_t reserve;  /* bytes that each queue has for itself */
	uint64_t alpha;	   /* of ADV_RATIO_ONE */
	uint64_t headroom; /* bytes a port and lossless priority; 0: from each group's link */
	unsigned groups;
	struct adv_plan_ports group[ADV_PLAN_GROUPS_MAX];
};

/* Bytes. */
struct adv_plan_buffer {
	uint32_t ports;
	uint64_t group_headroom[ADV_PLAN_GROUPS_MAX]; /* of one port and priority */
	uint64_t headroom;			      /* of all */
	uint64_t reserved;			      /* of all queues */
	bool fits;
	uint64_t shared;       /* what is left, where it fits */
	uint64_t missing;      /* what lacks, where it does not */
	uint32_t lossless_fit; /* how many lossless priorities would fit, up to 8 */
	uint64_t delay_fit; /* one-way delay, ps, that all cables could have; 0: not even none, or
			     * the headroom was given */
};

/*
 *   headroom = sum over groups of ports x priorities x headroom of one (plan_headroom.h)
 *   reserved = ports x (lossless + lossy) x reserve
 *   shared   = buffer - headroom - reserved; where that is not above 0, it does not fit
 *
 * Returns NULL, or one line that says what is out of which range; *out is then unspecified.
 */
const char *adv_plan_buffer(const struct adv_plan_switch *sw, struct adv_plan_buffer *out);

/*
 * What each of `queues` congested queues holds at most of a shared buffer with dynamic thresholds,
 * in bytes, rounded down: T = alpha (shared - occupied), and so
 *
 *   T = alpha shared / (1 + queues alpha)
 *
 * (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches",
 * IEEE/ACM Transactions on Networking 6(2), 1998). Beyond that a lossless queue pauses its sender,
 * and another drops. alpha of ADV_RATIO_ONE, up to ADV_PLAN_ALPHA_MAX; shared up to
 * ADV_PLAN_BUFFER_MAX; queues up to 2^20.
 */
uint64_t adv_plan_dynamic_threshold(uint64_t shared, uint64_t alpha, uint64_t queues);

#endif
