/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reaction point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 3.1): the rate of one flow, which changes with CNPs, time and sent bytes. It is
 * independent of packets, queue pairs and engines.
 *
 * Between CNPs the rate changes at certain times. Before any other call, bring the state up to
 * date: while adv_dcqcn_next(d) <= now, call adv_dcqcn_expire(d, ..., adv_dcqcn_next(d)). It may be
 * late: a flow that sends nothing needs no timer.
 *
 * `line` is the rate at which flows start, and at which the limit ends. Rates are in kb/s, times in
 * ns.
 */
#ifndef ADV_TRANSPORT_DCQCN_H
#define ADV_TRANSPORT_DCQCN_H

#include "transport/congestion.h"

#define ADV_ALPHA_ONE (1u << 30)

/* All zero: no CNP has arrived, or its effects have ended. */
struct adv_dcqcn {
	uint64_t rate;	     /* R_C; 0: no limit */
	uint64_t target;     /* R_T */
	uint32_t alpha;	     /* of ADV_ALPHA_ONE */
	uint32_t time_stage; /* T: increases by time since the last cut */
	uint32_t byte_stage; /* BC: increases by bytes since the last cut */
	uint64_t bytes;	     /* sent since the last increase by bytes, or the cut */
	uint64_t alpha_at;   /* time at which alpha falls */
	uint64_t time_at;    /* time of the next increase by time */
	uint64_t cut_after;  /* no cut before this time */
	bool cut_waits;	     /* a CNP arrived before that time */
};

/* A CNP arrived: cuts the rate now, or as soon as permitted. The state is up to date. */
void adv_dcqcn_on_cnp(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t now);
/* Accounts for `bytes` that were sent. The state is up to date. */
void adv_dcqcn_on_sent(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		       uint64_t bytes);
/* Returns the next time at which the rate or alpha changes; UINT64_MAX: never. */
uint64_t adv_dcqcn_next(const struct adv_dcqcn *d);
/* Performs the changes that are due at `at`, which adv_dcqcn_next() returned. */
void adv_dcqcn_expire(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t at);

#endif
