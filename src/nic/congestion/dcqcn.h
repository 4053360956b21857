/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reaction point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 3.1): the rate of one flow. CNPs, time and sent bytes change the rate. This code does not
 * depend on packets, queue pairs and engines.
 *
 * Between CNPs the rate changes at certain times. Before any other call, the caller performs the
 * changes that are due: while adv_dcqcn_next(d) <= now, it calls adv_dcqcn_expire(d, ...,
 * adv_dcqcn_next(d)). These calls may be late: a flow that sends nothing needs no timer.
 *
 * `line` is the line rate. Flows start at this rate, and the limit ends at this rate. Rates are in
 * kb/s, times in ns.
 */
#ifndef ADV_NIC_CONGESTION_DCQCN_H
#define ADV_NIC_CONGESTION_DCQCN_H

#include "nic/congestion/congestion.h"

#define ADV_ALPHA_ONE (1u << 30)

/* State of one flow. All zero: no CNP has arrived, or the effects of all CNPs have ended. */
struct adv_dcqcn {
	uint64_t rate;	     /* R_C; 0: no limit */
	uint64_t target;     /* R_T */
	uint32_t alpha;	     /* ADV_ALPHA_ONE is 1 */
	uint32_t time_stage; /* T: increases by time since the last cut */
	uint32_t byte_stage; /* BC: increases by bytes since the last cut */
	uint64_t bytes;	     /* bytes sent since the last increase by bytes or the last cut */
	uint64_t alpha_at;   /* time at which alpha falls */
	uint64_t time_at;    /* time of the next increase by time */
	uint64_t cut_after;  /* no cut before this time */
	bool cut_waits;	     /* a CNP arrived before cut_after and causes a cut then */
};

/* Handles a CNP: cuts the rate now, or at cut_after. The caller has performed the due changes. */
void adv_dcqcn_on_cnp(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t now);
/* Counts `bytes` as sent. The caller has performed the due changes. */
void adv_dcqcn_on_sent(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		       uint64_t bytes);
/* Returns the time of the next change of the rate or alpha; UINT64_MAX: no change. */
uint64_t adv_dcqcn_next(const struct adv_dcqcn *d);
/* Performs the changes of time `at`, the result of adv_dcqcn_next(). */
void adv_dcqcn_expire(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t at);

#endif
