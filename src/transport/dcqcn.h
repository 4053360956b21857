/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reaction point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 3.1): the rate of one flow as CNPs come, time passes and bytes leave. It knows nothing of
 * packets, queue pairs or engines.
 *
 * Between CNPs the rate changes by itself at certain times. Whoever asks for it brings it up to
 * date first:
 *	while (adv_dcqcn_next(d) <= now)
 *		adv_dcqcn_expire(d, ..., adv_dcqcn_next(d));
 * however late: nothing needs to be woken for a flow that sends nothing.
 *
 * `line` is the rate at which flows start and the limit ends. Rates are in kb/s, times in ns.
 */
#ifndef ADV_TRANSPORT_DCQCN_H
#define ADV_TRANSPORT_DCQCN_H

#include "transport/congestion.h"

#define ADV_ALPHA_ONE (1u << 30)

/* All zero: no CNP came yet, or all that they did is over. */
struct adv_dcqcn {
	uint64_t rate;	     /* R_C; 0: no limit */
	uint64_t target;     /* R_T */
	uint32_t alpha;	     /* of ADV_ALPHA_ONE */
	uint32_t time_stage; /* T: increases by time since the last cut */
	uint32_t byte_stage; /* BC: the same by bytes */
	uint64_t bytes;	     /* since the last of those, or the cut */
	uint64_t alpha_at;   /* alpha falls then */
	uint64_t time_at;    /* the next increase by time */
	uint64_t cut_after;  /* no cut before */
	bool cut_waits;	     /* a CNP came before that */
};

/* A CNP came: the rate is cut, now or as soon as may be. The state is up to date. */
void adv_dcqcn_on_cnp(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t now);
/* So many bytes were sent. The state is up to date. */
void adv_dcqcn_on_sent(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		       uint64_t bytes);
/* When it changes by itself next; UINT64_MAX: never. */
uint64_t adv_dcqcn_next(const struct adv_dcqcn *d);
/* Does what is due at `at`, the time that adv_dcqcn_next() said. */
void adv_dcqcn_expire(struct adv_dcqcn *d, const struct adv_cc_params *p, uint64_t line,
		      uint64_t at);

#endif
