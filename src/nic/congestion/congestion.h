/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Algorithm and parameters of an engine's congestion control. The parameters have the names and
 * units of mlx5 (/sys/class/net/.../ecn/roce_rp and roce_np, mlxconfig). If the paper "Congestion
 * Control for Large-Scale RDMA Deployments" (SIGCOMM 2015) names a default, it is used.
 * docs/congestion-control.md lists all defaults with their sources.
 */
#ifndef ADV_NIC_CONGESTION_CONGESTION_H
#define ADV_NIC_CONGESTION_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adv_cc_algorithm {
	ADV_CC_DCQCN,
	/* No congestion control. Packets are sent as not ECN-capable. Incoming marks are counted
	 * but cause no CNP. Incoming CNPs are ignored. */
	ADV_CC_NONE,
	ADV_CC_DCTCP,
	ADV_CC_TIMELY,
	ADV_CC_SWIFT,
	ADV_CC_HPCC, /* needs switches with telemetry: simulations only */
};
#define ADV_CC_ALGORITHMS (ADV_CC_HPCC + 1)

/* Times are in us, rates in Mb/s (10^6 bits/s). Byte counts include the whole Ethernet frame. */
struct adv_cc_params {
	/* Reaction point: the sender. */
	uint32_t clamp_tgt_rate; /* 1: each cut sets the target to the rate before the cut */
	/* 1: a cut after an increase by time sets the target to the rate before the cut. A cut
	 * after an increase by bytes always does so. */
	uint32_t clamp_tgt_rate_after_time_inc;
	uint32_t rpg_time_reset;  /* interval between increases by time */
	uint32_t rpg_byte_reset;  /* bytes sent between increases by bytes; 0: none */
	uint32_t rpg_threshold;	  /* number of increases by time, or by bytes, after which fast
				     recovery ends */
	uint32_t rpg_max_rate;	  /* rate at which the limit ends; 0: the line rate */
	uint32_t rpg_ai_rate;	  /* step of the target rate in additive increase */
	uint32_t rpg_hai_rate;	  /* step of the target rate in hyper increase */
	uint32_t rpg_gd;	  /* a cut multiplies the rate by 1 - alpha / 2^(rpg_gd - 10) */
	uint32_t rpg_min_dec_fac; /* least rate after a cut, in percent of the rate before it */
	uint32_t rpg_min_rate;	  /* lower bound of the rate */
	uint32_t rate_to_set_on_first_cnp; /* rate after the first CNP, instead of a cut; 0: cut */
	uint32_t dce_tcp_g;		   /* 1024 x (1 - g), the weight of the old alpha */
	uint32_t dce_tcp_rtt;		   /* time without a CNP after which alpha falls */
	uint32_t rate_reduce_monitor_period; /* least interval between cuts */
	uint32_t initial_alpha_value;	     /* 1024 x alpha at the first CNP */
	/* Notification point: the receiver of marked packets. */
	uint32_t min_time_between_cnps; /* least interval between CNPs of one queue pair */
	uint32_t cnp_dscp;
	uint32_t cnp_802p_prio; /* service level of CNPs, for links with priorities */
	/* The other algorithms. Weights are in 1/1024. */
	uint32_t dctcp_g;
	uint32_t timely_t_low;
	uint32_t timely_t_high;
	uint32_t timely_min_rtt;
	uint32_t timely_ai_rate; /* delta */
	uint32_t timely_alpha;
	uint32_t timely_beta;
	uint32_t timely_min_rate;
	uint32_t swift_target;
	uint32_t swift_ai; /* packets of 1/1024 for each round trip */
	uint32_t swift_beta;
	uint32_t swift_max_mdf;
	uint32_t swift_fs_range;
	uint32_t swift_fs_min;	   /* packets of 1/1024 */
	uint32_t swift_fs_max;	   /* packets of 1/1024 */
	uint32_t swift_min_window; /* packets of 1/1024 */
	uint32_t hpcc_base_rtt;
	uint32_t hpcc_eta; /* percent */
	uint32_t hpcc_max_stage;
	uint32_t hpcc_ai; /* bytes */
};

/* Returns the bytes that a rate carries in a time. */
static inline uint64_t adv_cc_bytes(uint64_t kbps, uint64_t ns)
{
	return kbps * ns / 8000000;
}

struct adv_cc_config {
	enum adv_cc_algorithm algorithm;
	struct adv_cc_params params;
};

/* Room for the one-line texts that the functions below write, bytes. */
#define ADV_CC_TEXT 2048

/* Environment variable that adv_cc_parse() parses for a program. */
#define ADV_CC_VARIABLE "ADVERB_CC"

/* DCQCN with the default parameters. */
struct adv_cc_config adv_cc_default(void);
/* DCQCN with the default parameters of mlx5's firmware. */
struct adv_cc_config adv_cc_mlx5(void);

/*
 * Parses "dcqcn", "none", or "dcqcn rpg_ai_rate=20 rpg_time_reset=300": the name of the algorithm,
 * then parameters of it. Refuses HPCC, which only simulations have. Blanks, commas or semicolons
 * separate them. Each parameter may stand once; the others have their default. Returns false if the
 * text is invalid: *config is then undefined, and why[] has one line that names the error and the
 * expected text.
 */
bool adv_cc_parse(struct adv_cc_config *config, const char *text, char *why, size_t why_len);

/* Writes a text for adv_cc_parse(): the name of the algorithm, and the parameters that differ from
 * the default. The return value is that of snprintf(3). */
int adv_cc_print(const struct adv_cc_config *config, char *text, size_t len);

/* Returns the name of an algorithm. */
const char *adv_cc_name(enum adv_cc_algorithm algorithm);

/* Returns false if a parameter is out of its range, or rpg_min_rate is above rpg_max_rate. */
bool adv_cc_valid(const struct adv_cc_config *config);

/* Description of a parameter, for tools. */
struct adv_cc_parameter {
	const char *name;
	const char *unit; /* "us", "Mb/s", "bytes", "%", or "" */
	enum adv_cc_algorithm algorithm;
	size_t offset; /* offset in struct adv_cc_params */
	uint32_t min;
	uint32_t max;
	uint32_t value; /* the default */
	uint32_t mlx5;	/* the default of mlx5's firmware */
};
const struct adv_cc_parameter *adv_cc_parameter(unsigned i);

#endif
