/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The congestion control of an engine: its algorithm and parameters. The parameters have the names
 * and units of mlx5 (/sys/class/net/.../ecn/roce_rp and roce_np, mlxconfig). The defaults are those
 * of the paper "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), if it names
 * one. docs/congestion-control.md lists all of them with their sources.
 */
#ifndef ADV_TRANSPORT_CONGESTION_H
#define ADV_TRANSPORT_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_cc_algorithm {
	ADV_CC_DCQCN,
	/* Packets are sent as not ECN-capable. Incoming marks are counted but cause no CNP;
	 * incoming CNPs are ignored. */
	ADV_CC_NONE,
};

/* Times in us, rates in Mb/s (10^6), bytes of whole Ethernet frames. */
struct adv_cc_params {
	/* Reaction point: the sender. */
	uint32_t clamp_tgt_rate; /* 1: each cut sets the target to the rate before the cut */
	uint32_t clamp_tgt_rate_after_time_inc; /* 1: a cut after an increase by time does so; 0, 0:
						   only a cut after an increase by bytes */
	uint32_t rpg_time_reset;		/* interval between increases by time */
	uint32_t rpg_byte_reset;		/* bytes sent between increases by bytes; 0: none */
	uint32_t rpg_threshold;			/* increases of one kind until fast recovery ends */
	uint32_t rpg_max_rate;			/* the limit ends at this rate; 0: the line rate */
	uint32_t rpg_ai_rate;			/* step of the target rate in additive increase */
	uint32_t rpg_hai_rate;			/* step of the target rate in hyper increase */
	uint32_t rpg_gd; /* log2: a cut reduces the rate by alpha x 2^10 / 2^rpg_gd of it */
	uint32_t rpg_min_dec_fac; /* percent of the rate that remains at least after a cut */
	uint32_t rpg_min_rate;	  /* the least rate */
	uint32_t rate_to_set_on_first_cnp; /* rate after the first CNP, instead of a cut; 0: cut */
	uint32_t dce_tcp_g;		   /* 1024 x (1 - g), the weight of the old alpha */
	uint32_t dce_tcp_rtt;		   /* interval without a CNP after which alpha falls */
	uint32_t rate_reduce_monitor_period; /* least interval between cuts */
	uint32_t initial_alpha_value;	     /* 1024 x alpha at the first CNP */
	/* Notification point: the receiver of marked packets. */
	uint32_t min_time_between_cnps; /* of one queue pair */
	uint32_t cnp_dscp;
	uint32_t cnp_802p_prio; /* service level of the CNP's path, for links with priorities */
};

struct adv_cc_config {
	enum adv_cc_algorithm algorithm;
	struct adv_cc_params params;
};

/* Length of the text that the functions below write, which is one line. */
#define ADV_CC_TEXT 1024

/* The environment variable with a program's setting, for adv_cc_parse(). */
#define ADV_CC_VARIABLE "ADVERB_CC"

/* DCQCN with the default parameters. */
struct adv_cc_config adv_cc_default(void);

/*
 * Parses "dcqcn", "none", or "dcqcn rpg_ai_rate=20 rpg_time_reset=300": the name, then parameters
 * separated by blanks, commas or semicolons, each at most once. Parameters that are not named have
 * their default. False: *config is undefined, and why[] has one line that names the error and the
 * expected text.
 */
bool adv_cc_parse(struct adv_cc_config *config, const char *text, char *why, size_t why_len);

/* Writes the text that adv_cc_parse() parses: the name, and the parameters that differ from the
 * default. Returns as snprintf(3). */
int adv_cc_print(const struct adv_cc_config *config, char *text, size_t len);

/* False if a parameter is out of its range, or the least rate is above the greatest. */
bool adv_cc_valid(const struct adv_cc_config *config);

/* The i-th parameter in the order above, for tools; NULL: there are no more. */
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
