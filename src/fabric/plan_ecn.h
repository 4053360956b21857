/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ECN thresholds of a shared-buffer switch such that packets are marked before PFC pauses, by
 * section 4 of "Congestion Control for Large-Scale RDMA Deployments" (DCQCN, SIGCOMM 2015). Pure
 * functions on the caller's structures.
 */
#ifndef ADV_FABRIC_PLAN_ECN_H
#define ADV_FABRIC_PLAN_ECN_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PLAN_PORTS_MAX  4096
#define ADV_PLAN_BUFFER_MAX 1000000000000000ull
#define ADV_PLAN_ALPHA_MAX  (1024 * UINT64_C(1000000000)) /* of ADV_RATIO_ONE */

struct adv_plan_ecn_switch {
	uint64_t buffer;   /* bytes of all ports together: B */
	uint32_t ports;	   /* n */
	uint32_t lossless; /* priorities with PFC: 8 in the paper */
	uint64_t headroom; /* bytes a port and priority: t_flight */
	uint64_t beta;	   /* of ADV_RATIO_ONE: share of what is free that a queue may have */
};

/* Bytes, rounded down. The names are the paper's. */
struct adv_plan_ecn {
	uint64_t shared;       /* B - P n t_flight */
	uint64_t t_pfc;	       /* static: the most that every ingress queue can have */
	uint64_t t_ecn_static; /* ... and so an egress queue's bound, were t_PFC fixed at that */
	uint64_t t_ecn;	       /* with the dynamic t_PFC: K_min is to be below */
};

/*
 * With P priorities, B the buffer, n ports, t_flight the headroom, s what is occupied:
 *
 *   t_PFC <= (B - P n t_flight) / (P n)                    every ingress queue the same, fixed
 *   t_ECN <  t_PFC / n                                     all egress queues' packets of one
 * ingress t_PFC  = beta (B - P n t_flight - s) / P               dynamic (Trident II) t_ECN <  beta
 * (B - P n t_flight) / (P n (beta + 1))    from the two above it, s <= P n t_ECN
 *
 * (The paper writes P as 8, and s <= n t_ECN above the last line; the line itself follows with
 * queues of all P priorities at t_ECN, as here.)
 *
 * Returns NULL, or one line that says what is out of range, or that the headroom alone is more than
 * the buffer; *out is then unspecified.
 */
const char *adv_plan_ecn(const struct adv_plan_ecn_switch *sw, struct adv_plan_ecn *out);

/*
 * The dynamic t_PFC in bytes, rounded down, where every queue of every priority holds `queue`
 * bytes (s = P n queue); 0 where those are more than the shared buffer. sw is one that
 * adv_plan_ecn() takes.
 */
uint64_t adv_plan_ecn_t_pfc(const struct adv_plan_ecn_switch *sw, uint64_t queue);

/*
 * K_min = 5 kB, K_max = 200 kB at 40 Gb/s (the paper's section 5, P_max = 1 %), and in proportion
 * at other speeds, so that the delay in the queue is the same. Speed in bit/s, up to 100 Tb/s.
 */
uint64_t adv_plan_ecn_k_min(uint64_t speed);
uint64_t adv_plan_ecn_k_max(uint64_t speed);

#endif
