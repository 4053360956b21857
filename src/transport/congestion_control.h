/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface between a queue pair's flow (flow.c) and the algorithms of congestion control. An
 * algorithm is one file with a struct adv_cc_ops. It decides at which rate a flow may send. It does
 * not depend on packets, queue pairs and engines.
 *
 * Rates are in kb/s, times in ns. Bytes count whole Ethernet frames.
 */
#ifndef ADV_TRANSPORT_CONGESTION_CONTROL_H
#define ADV_TRANSPORT_CONGESTION_CONTROL_H

#include "transport/congestion.h"

/* What an algorithm knows of its queue pair. */
struct adv_cc_link {
	const struct adv_cc_params *params;
	uint64_t line; /* line rate */
};

#define ADV_CC_STATE 32 /* words */

/* A flow under congestion control. */
struct adv_cc {
	uint64_t rate;		      /* 0: no limit */
	uint64_t state[ADV_CC_STATE]; /* of the algorithm; all zero at first */
};

/* Functions that an algorithm does not need are NULL. */
struct adv_cc_ops {
	const char *name;
	/* Handles a CNP. The caller has performed the due changes. */
	void (*on_cnp)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t now);
	/* Counts `bytes` as sent. The caller has performed the due changes. */
	void (*on_sent)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t bytes);
	/* Returns the time of the next change that needs no packet; UINT64_MAX: none. */
	uint64_t (*next)(const struct adv_cc *cc);
	/* Performs the changes of time `at`, the result of next(). It may be called late. */
	void (*expire)(struct adv_cc *cc, const struct adv_cc_link *link, uint64_t at);
};

extern const struct adv_cc_ops adv_cc_dcqcn;

/* Returns the operations of an algorithm; NULL: ADV_CC_NONE. */
const struct adv_cc_ops *adv_cc_ops_of(enum adv_cc_algorithm algorithm);

#endif
