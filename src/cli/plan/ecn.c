/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan ecn: ECN thresholds below the PFC thresholds. */
#include "cli/plan/plan.h"

#include <inttypes.h>

#include "base/array.h"
#include "fabric/plan/ecn.h"
#include "fabric/plan/headroom.h"

#define PAPER "DCQCN, SIGCOMM 2015, section 4"
#define P_MAX (ADV_RATIO_ONE / 100)

struct options {
	struct adv_plan_ecn_switch sw;
	uint64_t speed;
	uint64_t mtu;
	uint64_t k_min; /* 0: not given */
	uint64_t k_max;
	uint64_t p_max;
};

static void check_marking(struct argp_state *state, void *options)
{
	const struct options *o = options;
	char k_min[ADV_UNITS_TEXT], k_max[ADV_UNITS_TEXT], buffer[ADV_UNITS_TEXT];

	adv_units_print(ADV_UNIT_BYTES, o->k_min, k_min);
	adv_units_print(ADV_UNIT_BYTES, o->k_max, k_max);
	adv_units_print(ADV_UNIT_BYTES, o->sw.buffer, buffer);
	if (o->k_min > o->sw.buffer)
		argp_error(state, "--k-min: %s is more than the buffer, %s", k_min, buffer);
	if (o->k_max > o->sw.buffer)
		argp_error(state, "--k-max: %s is more than the buffer, %s", k_max, buffer);
	if (o->k_min && o->k_max && o->k_min > o->k_max)
		argp_error(state, "--k-min: %s is above --k-max, %s", k_min, k_max);
}

static const struct adv_option option_table[] = {
	{"buffer", 'b', "BYTES", "Buffer of all ports, such as 12MB (needed)", .needed = true,
	 .unit = ADV_UNIT_BYTES, .least = 1, ADV_OPTION_INTO(sw.buffer)},
	{"ports", 'n', "N", "Ports (needed)", .needed = true, .unit = ADV_UNIT_COUNT, .least = 1,
	 .most = ADV_PLAN_PORTS_MAX, ADV_OPTION_INTO(sw.ports)},
	{"speed", 's', "RATE", "Speed of the ports, such as 100Gb/s (needed)", .needed = true,
	 .unit = ADV_UNIT_RATE, .least = ADV_PLAN_SPEED_MIN, .most = ADV_PLAN_SPEED_MAX,
	 ADV_OPTION_INTO(speed)},
	{"headroom", 0, "BYTES",
	 "Headroom of a port and priority (needed; adverb plan headroom computes it)",
	 .needed = true, .unit = ADV_UNIT_BYTES, ADV_OPTION_INTO(sw.headroom)},
	{"priorities", 'p', "N", "Priorities with PFC (default 1)", .unit = ADV_UNIT_COUNT,
	 .least = 1, .most = 8, ADV_OPTION_INTO(sw.lossless)},
	{"beta", 0, "RATIO",
	 "Share of the free buffer that a queue may use; called alpha elsewhere (default 1)",
	 .unit = ADV_UNIT_RATIO, ADV_OPTION_INTO(sw.beta)},
	{"k-min", 0, "BYTES", "Check this K_min (default: computed)", .unit = ADV_UNIT_BYTES,
	 .least = 1, ADV_OPTION_INTO(k_min)},
	{"k-max", 0, "BYTES", "Check this K_max (default: computed)", .unit = ADV_UNIT_BYTES,
	 .least = 1, ADV_OPTION_INTO(k_max)},
	{"p-max", 0, "RATIO", "Check this P_max (default 1%)", .unit = ADV_UNIT_RATIO, .least = 1,
	 .most = ADV_RATIO_ONE, ADV_OPTION_INTO(p_max)},
	{"mtu", 0, "BYTES", "MTU of the lossless priority (default 4200B)", .unit = ADV_UNIT_BYTES,
	 .least = 64, .most = 65535, ADV_OPTION_INTO(mtu)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Compute ECN thresholds with which a shared-buffer switch marks packets before "
		 "PFC pauses their sender, for any traffic.",
	.check = check_marking};

static void print_bounds(struct adv_plan_out *out, const struct options *o,
			 const struct adv_plan_ecn *e)
{
	const struct adv_plan_ecn_switch *sw = &o->sw;
	char beta[ADV_UNITS_TEXT];

	adv_units_print(ADV_UNIT_RATIO, sw->beta, beta);
	adv_planner_head(out, "Bounds from the buffer:");
	adv_planner_value(out, "shared", "shared buffer", ADV_UNIT_BYTES, e->shared, PAPER,
			  "%" PRIu64 " - %" PRIu32 " x %" PRIu32 " x %" PRIu64
			  " (B - P n t_flight)",
			  sw->buffer, sw->lossless, sw->ports, sw->headroom);
	adv_planner_value(out, "t_pfc_static", "t_PFC, static", ADV_UNIT_BYTES, e->t_pfc, PAPER,
			  "%" PRIu64 " / (%" PRIu32 " x %" PRIu32 ")", e->shared, sw->lossless,
			  sw->ports);
	adv_planner_value(out, "t_ecn_static", "K_min below, with static t_PFC", ADV_UNIT_BYTES,
			  e->t_ecn_static, PAPER, "%" PRIu64 " / %" PRIu32 " (t_PFC / n)", e->t_pfc,
			  sw->ports);
	adv_planner_value(out, "t_ecn", "K_min below, with dynamic t_PFC", ADV_UNIT_BYTES, e->t_ecn,
			  PAPER, "%s x %" PRIu64 " / (%" PRIu32 " x %" PRIu32 " x (%s + 1))", beta,
			  e->shared, sw->lossless, sw->ports, beta);
}

/* Chooses the thresholds that were not given. K_min is at least a frame, and below the bound if
 * that is possible. */
static void choose_thresholds(struct options *o, const struct adv_plan_ecn *e, uint64_t frame)
{
	if (!o->k_min) {
		o->k_min = adv_plan_ecn_k_min(o->speed);
		if (o->k_min < frame)
			o->k_min = frame;
		if (o->k_min >= e->t_ecn && e->t_ecn > frame)
			o->k_min = e->t_ecn - 1;
		if (o->k_max && o->k_min > o->k_max)
			o->k_min = o->k_max;
	}
	if (!o->k_max) {
		o->k_max = adv_plan_ecn_k_max(o->speed);
		if (o->k_max < o->k_min)
			o->k_max = o->k_min;
	}
}

static void print_marking(struct adv_plan_out *out, const struct options *o, bool chosen_min,
			  bool chosen_max)
{
	uint64_t at_min = adv_plan_ecn_t_pfc(&o->sw, o->k_min);
	char beta[ADV_UNITS_TEXT], speed[ADV_UNITS_TEXT];
	static const char source[] = "DCQCN, SIGCOMM 2015, section 5: 5 KB, 200 KB, 1 % at 40 Gb/s";

	adv_units_print(ADV_UNIT_RATIO, o->sw.beta, beta);
	adv_units_print(ADV_UNIT_RATE, o->speed, speed);
	adv_planner_head(out, "Marking:");
	adv_planner_value(
		out, "k_min", "K_min", ADV_UNIT_BYTES, o->k_min, chosen_min ? source : NULL,
		chosen_min ? "5 kB x %s / 40 Gb/s, a frame at least, below t_ECN" : "--k-min (%s)",
		speed);
	adv_planner_value(out, "k_max", "K_max", ADV_UNIT_BYTES, o->k_max,
			  chosen_max ? source : NULL,
			  chosen_max ? "200 kB x %s / 40 Gb/s" : "--k-max (%s)", speed);
	adv_planner_value(out, "p_max", "P_max", ADV_UNIT_RATIO, o->p_max,
			  o->p_max == P_MAX ? "DCQCN, SIGCOMM 2015, section 5: 1 %" : "--p-max",
			  NULL);
	adv_planner_value(out, "worst_ingress", "one ingress queue, at worst", ADV_UNIT_BYTES,
			  o->sw.ports * o->k_min, PAPER,
			  "%" PRIu32 " x %" PRIu64
			  " (every egress queue at K_min, all of one ingress)",
			  o->sw.ports, o->k_min);
	adv_planner_value(out, "t_pfc_at_k_min", "t_PFC then", ADV_UNIT_BYTES, at_min, PAPER,
			  "%s x (B - P n t_flight - %" PRIu32 " x %" PRIu32 " x %" PRIu64
			  ") / %" PRIu32,
			  beta, o->sw.lossless, o->sw.ports, o->k_min, o->sw.lossless);
}

static bool print_verdict(struct adv_plan_out *out, const struct options *o,
			  const struct adv_plan_ecn *e, uint64_t frame)
{
	bool good = o->k_min < e->t_ecn && e->t_ecn > frame;

	if (e->t_ecn <= frame)
		adv_planner_note(out,
				 "No K_min is possible: the bound of %" PRIu64
				 " B is not above a frame of %" PRIu64
				 " B. Use fewer lossless priorities, a smaller headroom, a larger "
				 "beta or a larger buffer.",
				 e->t_ecn, frame);
	else if (!good)
		adv_planner_note(out,
				 "PFC may act before ECN: K_min is not below %" PRIu64
				 " B. Use a smaller K_min or a larger beta.",
				 e->t_ecn);
	else
		adv_planner_note(
			out, "ECN marks before PFC pauses: %" PRIu64 " B is below %" PRIu64 " B.",
			o->k_min, e->t_ecn);
	if (good && o->k_max > e->t_ecn)
		adv_planner_note(
			out,
			"K_max is above the bound: an incast that senders have not answered yet "
			"may still cause pauses, as the paper says of its own thresholds.");
	return good;
}

int adv_plan_ecn_main(int argc, char **argv)
{
	struct options o = {
		.sw = {.lossless = 1, .beta = ADV_RATIO_ONE}, .mtu = 4200, .p_max = P_MAX};
	bool good, chosen_min, chosen_max;
	struct adv_plan_ecn e;
	struct adv_plan_out out;
	const char *wrong;
	uint64_t frame;
	bool json;

	if (!adv_command_read(&syntax, argc, argv, &o, &json))
		return ADV_EXIT_USAGE;
	wrong = adv_plan_ecn(&o.sw, &e);
	if (wrong) {
		fprintf(stderr, "adverb plan ecn: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	chosen_min = !o.k_min;
	chosen_max = !o.k_max;
	frame = o.mtu + ADV_PLAN_FRAME_OVERHEAD;
	choose_thresholds(&o, &e, frame);
	adv_planner_begin(&out, "ecn", json);
	print_bounds(&out, &o, &e);
	print_marking(&out, &o, chosen_min, chosen_max);
	good = print_verdict(&out, &o, &e, frame);
	return adv_planner_end(&out, good);
}
