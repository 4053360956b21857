/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control of an engine: which, and with which parameters. The parameters bear the names
 * and units that operators of mlx5 know (/sys/class/net/.../ecn/roce_rp and roce_np, mlxconfig);
 * the defaults are those of the paper, "Congestion Control for Large-Scale RDMA Deployments"
 * (SIGCOMM 2015), where it names one. docs/congestion-control.md has them all with their sources.
 */
#ifndef ADV_TRANSPORT_CONGESTION_H
#define ADV_TRANSPORT_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_cc_algorithm {
	ADV_CC_DCQCN,
	/* Packets go out as not ECN-capable; marks that come are counted, but no CNP is sent, and
	 * CNPs that come are ignored. */
	ADV_CC_NONE,
};

/* Times in us, rates in Mb/s (10^6), bytes of whole Ethernet frames. */
struct adv_cc_params {
	/* Reaction point: who sends too fast. */
	uint32_t clamp_tgt_rate; /* 1: each cut makes the rate before it the target */
	uint32_t clamp_tgt_rate_after_time_inc; /* 1: and so does one after an increase by time;
						 * 0, 0: only one after an increase by bytes */
	uint32_t rpg_time_reset;		/* from one increase by time to the next */
	uint32_t rpg_byte_reset;  /* from one increase by bytes sent to the next; 0: none */
	uint32_t rpg_threshold;	  /* increases of one kind before fast recovery is over */
	uint32_t rpg_max_rate;	  /* where the limit ends; 0: the line's */
	uint32_t rpg_ai_rate;	  /* step of the target in additive increase */
	uint32_t rpg_hai_rate;	  /* the same in hyper increase */
	uint32_t rpg_gd;	  /* log2: a cut takes alpha x 2^10 / 2^this of the rate */
	uint32_t rpg_min_dec_fac; /* percent of the rate that a cut leaves at least */
	uint32_t rpg_min_rate;	  /* no cut goes below */
	uint32_t rate_to_set_on_first_cnp;   /* instead of the first cut; 0: cut */
	uint32_t dce_tcp_g;		     /* 1024 x (1 - g), the weight of alpha's past */
	uint32_t dce_tcp_rtt;		     /* without a CNP for so long, alpha falls */
	uint32_t rate_reduce_monitor_period; /* from one cut to the next */
	uint32_t initial_alpha_value;	     /* 1024 x alpha at the first CNP */
	/* Notification point: who receives marked packets. */
	uint32_t min_time_between_cnps; /* of one queue pair */
	uint32_t cnp_dscp;
	uint32_t cnp_802p_prio; /* service level of the CNP's path: where the link has priorities */
};

struct adv_cc_config {
	enum adv_cc_algorithm algorithm;
	struct adv_cc_params params;
};

/* Room for what the functions below write: a line. */
#define ADV_CC_TEXT 1024

/* Where a program's is named, for adv_cc_parse(). */
#define ADV_CC_VARIABLE "ADVERB_CC"

/* DCQCN with the default parameters. */
struct adv_cc_config adv_cc_default(void);

/*
 * Reads "dcqcn", "none", or "dcqcn rpg_ai_rate=20 rpg_time_reset=300": the name, then parameters
 * with blanks, commas or semicolons between them, each once at most; those not named have their
 * default. False: *config is undefined, and why[] says in a line what was wrong and what would be
 * right.
 */
bool adv_cc_parse(struct adv_cc_config *config, const char *text, char *why, size_t why_len);

/* Writes what adv_cc_parse() reads: the name, and parameters that are not the default. As
 * snprintf(3). */
int adv_cc_print(const struct adv_cc_config *config, char *text, size_t len);

/* False where a parameter is out of its range, or the smallest rate is above the greatest. */
bool adv_cc_valid(const struct adv_cc_config *config);

/* The i-th parameter, in the order above, for tools and their lists; NULL: there are no more. */
struct adv_cc_parameter {
	const char *name;
	const char *unit; /* "us", "Mb/s", "bytes", "%", or "" */
	size_t offset;	  /* in struct adv_cc_params */
	uint32_t min;
	uint32_t max;
	uint32_t value; /* the default */
};
const struct adv_cc_parameter *adv_cc_parameter(unsigned i);

#endif
