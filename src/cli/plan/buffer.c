/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan buffer: the shares of a switch's buffer. */
#include "cli/plan/plan.h"

#include <inttypes.h>

#include "base/array.h"
#include "fabric/plan/buffer.h"

#define FIBRE_PS_PER_MM 5
#define DYNAMIC		"Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998"

struct options {
	struct adv_plan_switch sw;
	uint64_t mtu;
	uint64_t length[ADV_PLAN_GROUPS_MAX];
};

/* Reads ports such as "32x100Gb/s@100m". */
static void add_ports(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;
	unsigned i = o->sw.groups;
	const char *x = strchr(arg, 'x'), *at = strchr(arg, '@');
	char why[ADV_UNITS_WHY];
	uint64_t count = 0, speed = 0;

	if (i == ADV_PLAN_GROUPS_MAX)
		argp_error(state, "--ports: given more than %d times", ADV_PLAN_GROUPS_MAX);
	if (!x || !at || at < x)
		argp_error(state,
			   "--ports: '%s' is not ports, speed and cable, such as 32x100Gb/s@100m",
			   arg);
	if (!adv_units_parse(ADV_UNIT_COUNT, arg, (size_t)(x - arg), &count, why) ||
	    !adv_units_parse(ADV_UNIT_RATE, x + 1, (size_t)(at - x - 1), &speed, why) ||
	    !adv_units_parse(ADV_UNIT_LENGTH, at + 1, strlen(at + 1), &o->length[i], why))
		argp_error(state, "--ports: %s", why);
	if (count == 0 || count > ADV_PLAN_PORTS_MAX)
		argp_error(state, "--ports: %s: the number of ports is not from 1 to %d", arg,
			   ADV_PLAN_PORTS_MAX);
	if (o->length[i] > ADV_PLAN_LENGTH_MAX)
		argp_error(state, "--ports: %s: the cable is longer than 1000 km", arg);
	o->sw.group[i].count = (uint32_t)count;
	o->sw.group[i].link.speed = speed;
	o->sw.group[i].link.delay = o->length[i] * FIBRE_PS_PER_MM;
	o->sw.groups++;
}

static void complete_links(struct argp_state *state, void *options)
{
	struct options *o = options;

	for (unsigned i = 0; i < o->sw.groups; i++) {
		struct adv_plan_link *l = &o->sw.group[i].link;

		l->max_frame = l->lossless_frame = o->mtu + ADV_PLAN_FRAME_OVERHEAD;
		l->response_bits = adv_plan_response_bits(l->speed);
		l->interface_bits = adv_plan_interface_bits(l->speed);
		if (!l->response_bits && !o->sw.headroom)
			argp_error(state, "--ports: " ADV_PLAN_NO_LIMITS "--headroom");
	}
}

static const struct adv_option option_table[] = {
	{"buffer", 'b', "BYTES", "Buffer of the switch, such as 32MB (needed)", .needed = true,
	 .unit = ADV_UNIT_BYTES, .least = 1, ADV_OPTION_INTO(sw.buffer)},
	{"ports", 'n', "NxRATE@LENGTH",
	 "Ports, their speed and cable, such as 32x100Gb/s@100m; several times (needed)",
	 .needed = true, .read = add_ports},
	{"lossless", 'p', "N", "Priorities with PFC (default 1)", .unit = ADV_UNIT_COUNT, .most = 8,
	 ADV_OPTION_INTO(sw.lossless)},
	{"lossy", 0, "N", "Other queues of a port (default 1)", .unit = ADV_UNIT_COUNT, .most = 8,
	 ADV_OPTION_INTO(sw.lossy)},
	{"reserve", 0, "BYTES", "Buffer reserved for each queue (default 0B)",
	 .unit = ADV_UNIT_BYTES, ADV_OPTION_INTO(sw.reserve)},
	{"alpha", 0, "RATIO", "Share of the free buffer that a queue may use (default 1/8)",
	 .unit = ADV_UNIT_RATIO, ADV_OPTION_INTO(sw.alpha)},
	{"mtu", 0, "BYTES", "Largest MTU (default 9216B)", .unit = ADV_UNIT_BYTES,
	 ADV_OPTION_INTO(mtu)},
	{"headroom", 0, "BYTES",
	 "Headroom of a port and lossless priority (default: as adverb plan headroom)",
	 .unit = ADV_UNIT_BYTES, .least = 1, ADV_OPTION_INTO(sw.headroom)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Check whether the headroom of all lossless priorities fits into a switch's "
		 "buffer. Print the buffer left to share, and how much of it each queue may hold.",
	.check = complete_links};

/* Returns the headroom of all ports of a group, at most UINT64_MAX. */
static uint64_t of_group(const struct adv_plan_switch *sw, const struct adv_plan_buffer *b,
			 unsigned i)
{
	unsigned __int128 all =
		(unsigned __int128)b->group_headroom[i] * sw->group[i].count * sw->lossless;

	return all < UINT64_MAX ? (uint64_t)all : UINT64_MAX;
}

static void print_groups(struct adv_plan_out *out, const struct options *o,
			 const struct adv_plan_buffer *b)
{
	const struct adv_plan_switch *sw = &o->sw;
	char speed[ADV_UNITS_TEXT], length[ADV_UNITS_TEXT], key[32], label[80];

	adv_planner_head(out, "Reserved buffer:");
	for (unsigned i = 0; i < sw->groups && sw->lossless; i++) {
		snprintf(key, sizeof(key), "headroom_%u", i + 1);
		snprintf(label, sizeof(label), "headroom, %" PRIu32 " x %s, %s", sw->group[i].count,
			 adv_units_print(ADV_UNIT_RATE, sw->group[i].link.speed, speed),
			 adv_units_print(ADV_UNIT_LENGTH, o->length[i], length));
		adv_planner_value(out, key, label, ADV_UNIT_BYTES, of_group(sw, b, i),
				  sw->headroom ? NULL : "adverb plan headroom: IEEE 802.1Q annex O",
				  "%" PRIu32 " x %" PRIu32 " x %" PRIu64, sw->group[i].count,
				  sw->lossless, b->group_headroom[i]);
	}
	adv_planner_value(out, "headroom", "headroom of all ports", ADV_UNIT_BYTES, b->headroom,
			  NULL, "the sum of these");
	adv_planner_value(out, "reserved", "reserve of all queues", ADV_UNIT_BYTES, b->reserved,
			  NULL, "%" PRIu32 " x (%" PRIu32 " + %" PRIu32 ") x %" PRIu64, b->ports,
			  sw->lossless, sw->lossy, sw->reserve);
}

static void print_threshold(const struct adv_plan_out *out, struct json_object *thresholds,
			    const struct options *o, uint64_t shared, uint64_t queues)
{
	uint64_t t = adv_plan_dynamic_threshold(shared, o->sw.alpha, queues);
	char text[ADV_UNITS_TEXT], alpha[ADV_UNITS_TEXT];
	struct json_object *row;

	if (out->json) {
		row = adv_json_object();
		adv_json_add_number(row, "queues", queues);
		adv_json_add_number(row, "threshold", t);
		adv_json_add_number(row, "free", shared - queues * t);
		adv_json_append(thresholds, row);
		return;
	}
	adv_units_print(ADV_UNIT_RATIO, o->sw.alpha, alpha);
	printf("  %6" PRIu64 " congested   %12s   = %s x %" PRIu64 " / (1 + %" PRIu64 " x %s)\n",
	       queues, adv_units_print(ADV_UNIT_BYTES, t, text), alpha, shared, queues, alpha);
}

static void print_thresholds(struct adv_plan_out *out, const struct options *o,
			     const struct adv_plan_buffer *b)
{
	uint64_t all = (uint64_t)b->ports * (o->sw.lossless + o->sw.lossy);
	struct json_object *thresholds =
		out->json ? adv_json_add_array(out->json, "thresholds") : NULL;

	adv_planner_head(
		out,
		"What a queue may hold (xoff, or tail drop), by the number of congested queues:");
	for (uint64_t n = 1; n < all; n *= 2)
		print_threshold(out, thresholds, o, b->shared, n);
	print_threshold(out, thresholds, o, b->shared, all);
	if (!out->json)
		printf("      source: %s\n", DYNAMIC);
}

static void print_verdict(struct adv_plan_out *out, const struct options *o,
			  const struct adv_plan_buffer *b)
{
	uint64_t all = (uint64_t)b->ports * (o->sw.lossless + o->sw.lossy);
	uint64_t least = adv_plan_dynamic_threshold(b->shared, o->sw.alpha, all);
	char length[ADV_UNITS_TEXT];

	if (b->fits)
		adv_planner_note(out,
				 "It fits. With these ports, up to %" PRIu32
				 " lossless priorities fit.",
				 b->lossless_fit);
	else
		adv_planner_note(out,
				 "Does not fit: %" PRIu64
				 " B are missing. With these ports, %" PRIu32
				 " lossless priorities fit.",
				 b->missing, b->lossless_fit);
	if (b->delay_fit)
		adv_planner_note(out, "The longest cable that all ports can have is %s of fibre.",
				 adv_units_print(ADV_UNIT_LENGTH,
						 b->delay_fit / FIBRE_PS_PER_MM / 1000 * 1000,
						 length));
	else if (!b->fits && !o->sw.headroom && o->sw.lossless)
		adv_planner_note(out, "It does not fit with the shortest cable either.");
	if (b->fits && least < 2 * (o->mtu + ADV_PLAN_FRAME_OVERHEAD))
		adv_planner_note(
			out,
			"With all %" PRIu64
			" queues congested, each may hold less than two frames, so links are "
			"paused before they are well used. Use a larger alpha or reserve.",
			all);
}

int adv_plan_buffer_main(int argc, char **argv)
{
	struct options o = {.sw = {.lossless = 1, .lossy = 1, .alpha = ADV_RATIO_ONE / 8},
			    .mtu = 9216};
	struct adv_plan_buffer b;
	struct adv_plan_out out;
	const char *wrong;
	bool json;

	if (!adv_command_read(&syntax, argc, argv, &o, &json))
		return ADV_EXIT_USAGE;
	wrong = adv_plan_buffer(&o.sw, &b);
	if (wrong) {
		fprintf(stderr, "adverb plan buffer: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_planner_begin(&out, "buffer", json);
	print_groups(&out, &o, &b);
	if (b.fits) {
		adv_planner_value(&out, "shared", "left to share", ADV_UNIT_BYTES, b.shared, NULL,
				  "%" PRIu64 " - %" PRIu64 " - %" PRIu64, o.sw.buffer, b.headroom,
				  b.reserved);
		print_thresholds(&out, &o, &b);
	}
	print_verdict(&out, &o, &b);
	return adv_planner_end(&out, b.fits);
}
