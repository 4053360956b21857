/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes ECN thresholds of a shared-buffer switch. With them, packets are marked before PFC
 * pauses. The source is section 4 of "Congestion Control for Large-Scale RDMA Deployments" (DCQCN,
 * SIGCOMM 2015). Pure functions on the caller's structures. */
#ifndef ADV_FABRIC_PLAN_ECN_H
#define ADV_FABRIC_PLAN_ECN_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_PLAN_PORTS_MAX  4096
#define ADV_PLAN_BUFFER_MAX 1000000000000000ull
/* Largest alpha and beta, in units of 1 / ADV_RATIO_ONE. */
#define ADV_PLAN_ALPHA_MAX (1024 * UINT64_C(1000000000))

struct adv_plan_ecn_switch {
	uint64_t buffer;   /* B: of all ports together, bytes */
	uint32_t ports;	   /* n */
	uint32_t lossless; /* P: priorities with PFC; 8 in the paper */
	uint64_t headroom; /* t_flight: per port and priority, bytes */
	uint64_t beta;	   /* share of the free buffer that a queue may use, 1 / ADV_RATIO_ONE */
};

/* Bytes, rounded down. The names are the paper's. */
struct adv_plan_ecn {
	uint64_t shared;       /* B - P n t_flight */
	uint64_t t_pfc;	       /* static threshold of each ingress queue */
	uint64_t t_ecn_static; /* bound of t_ECN with the static t_PFC */
	uint64_t t_ecn;	       /* bound of t_ECN with the dynamic t_PFC; K_min has to be below it */
};

/*
 * With P priorities, the buffer B, n ports, the headroom t_flight, and s occupied bytes:
 *
 *   t_PFC <= (B - P n t_flight) / (P n)	     static: all ingress queues are the same
 *   t_ECN <  t_PFC / n			     all egress queues have packets of one ingress
 *   t_PFC  = beta (B - P n t_flight - s) / P	     dynamic (Trident II)
 *   t_ECN <  beta (B - P n t_flight) / (P n (beta + 1))
 *					     from the last two with s <= P n t_ECN
 *
 * (The paper writes 8 for P, and s <= n t_ECN above the last line. The last line itself follows
 * from queues of all P priorities at t_ECN, as here.)
 *
 * Returns NULL, or one line with the value that is out of range, or with the headroom that alone
 * exceeds the buffer; *out is then unspecified.
 */
const char *adv_plan_ecn(const struct adv_plan_ecn_switch *sw, struct adv_plan_ecn *out);

/* Returns the dynamic t_PFC in bytes, rounded down, if every queue of every priority holds
 * `queue` bytes (s = P n queue); 0: they exceed the shared buffer. sw is valid for
 * adv_plan_ecn(). */
uint64_t adv_plan_ecn_t_pfc(const struct adv_plan_ecn_switch *sw, uint64_t queue);

/* Returns K_min in bytes: 5 kB at 40 Gb/s (section 5 of the paper, P_max = 1 %), and proportional
 * at other speeds, which keeps the delay of the queue. Speed in bit/s, up to 100 Tb/s. */
uint64_t adv_plan_ecn_k_min(uint64_t speed);
/* As adv_plan_ecn_k_min(), but returns K_max: 200 kB at 40 Gb/s. */
uint64_t adv_plan_ecn_k_max(uint64_t speed);

#endif
