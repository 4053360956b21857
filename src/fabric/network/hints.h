/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of some queue pairs of a host, so that ahead.h can prefetch these before an event
 * uses them. Only the speed depends on them. */
#ifndef ADV_FABRIC_NETWORK_HINTS_H
#define ADV_FABRIC_NETWORK_HINTS_H

#include <stdint.h>

struct adv_qp;

/* The first QP number of each host. */
#define ADV_FABRIC_QPNS 256
/* Queue pairs of which a host knows the address: as many as fit into a cache line. */
#define ADV_HINTS 3

/* A cache line. */
struct adv_hints {
	const struct adv_qp *sender; /* the newest queue pair that sends data; NULL: none */
	struct {
		const struct adv_qp *qp; /* NULL: none */
		uint32_t connection;
	} of[ADV_HINTS]; /* by the number of a queue pair, modulo */
} __attribute__((aligned(64)));

#endif
