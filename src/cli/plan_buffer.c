/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan buffer */
#include "cli/plan.h"

#include <inttypes.h>

#include "fabric/plan_buffer.h"

#define FIBRE_PS_PER_MM 5
#define DYNAMIC		"Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998"

struct options {
	struct adv_plan_switch sw;
	uint64_t mtu;
	uint64_t length[ADV_PLAN_GROUPS_MAX];
	bool json;
};

enum { KEY_LOSSY = 256, KEY_RESERVE, KEY_ALPHA, KEY_MTU, KEY_HEADROOM };

static const struct argp_option argp_options[] = {
	{"buffer", 'b', "BYTES", 0, "Buffer of the switch, such as 32MB (needed)", 0},
	{"ports", 'n', "NxRATE@LENGTH", 0,
	 "Ports, their speed and cable, such as 32x100Gb/s@100m; several times (needed)", 0},
	{"lossless", 'p', "N", 0, "Priorities with PFC (default 1)", 0},
	{"lossy", KEY_LOSSY, "N", 0, "Other queues of a port (default 1)", 0},
	{"reserve", KEY_RESERVE, "BYTES", 0, "Buffer of its own that each queue has (default 0B)",
	 0},
	{"alpha", KEY_ALPHA, "RATIO", 0,
	 "Share of the free buffer that a queue may have (default 1/8)", 0},
	{"mtu", KEY_MTU, "BYTES", 0, "Largest MTU (default 9216B)", 0},
	{"headroom", KEY_HEADROOM, "BYTES", 0,
	 "Headroom of a port and lossless priority (default: as adverb plan headroom)", 0},
	{"json", 'j', NULL, 0, "Write JSON", 0},
	{0},
};

/* "32x100Gb/s@100m" */
static void add_ports(struct options *o, const char *arg, struct argp_state *state)
{
	unsigned i = o->sw.groups;
	const char *x = strchr(arg, 'x'), *at = strchr(arg, '@');
	char why[ADV_UNITS_WHY];
	uint64_t count = 0, speed = 0;

	if (i == ADV_PLAN_GROUPS_MAX)
		argp_error(state, "--ports: more than %d times", ADV_PLAN_GROUPS_MAX);
	if (!x || !at || at < x)
		argp_error(state,
			   "--ports: '%s' is not ports, speed and cable, such as 32x100Gb/s@100m",
			   arg);
	if (!adv_units_parse(ADV_UNIT_COUNT, arg, (size_t)(x - arg), &count, why) ||
	    !adv_units_parse(ADV_UNIT_RATE, x + 1, (size_t)(at - x - 1), &speed, why) ||
	    !adv_units_parse(ADV_UNIT_LENGTH, at + 1, strlen(at + 1), &o->length[i], why))
		argp_error(state, "--ports: %s", why);
	if (count == 0 || count > ADV_PLAN_PORTS_MAX)
		argp_error(state, "--ports: %s: ports are to be from 1 to %d", arg,
			   ADV_PLAN_PORTS_MAX);
	if (o->length[i] > ADV_PLAN_LENGTH_MAX)
		argp_error(state, "--ports: %s: a cable of more than 1000 km", arg);
	o->sw.group[i].count = (uint32_t)count;
	o->sw.group[i].link.speed = speed;
	o->sw.group[i].link.delay = o->length[i] * FIBRE_PS_PER_MM;
	o->sw.groups++;
}

static void finish(struct options *o, struct argp_state *state)
{
	if (!o->sw.buffer || !o->sw.groups)
		argp_error(state, "--buffer and --ports are needed");
	for (unsigned i = 0; i < o->sw.groups; i++) {
		struct adv_plan_link *l = &o->sw.group[i].link;

		l->max_frame = l->lossless_frame = o->mtu + ADV_PLAN_FRAME_OVERHEAD;
		l->response_bits = adv_plan_response_bits(l->speed);
		l->interface_bits = adv_plan_interface_bits(l->speed);
		if (!l->response_bits && !o->sw.headroom)
			argp_error(state, "--ports: " ADV_PLAN_NO_LIMITS "--headroom");
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'b':
		o->sw.buffer = adv_plan_quantity(state, "--buffer", ADV_UNIT_BYTES, arg);
		return 0;
	case 'n':
		add_ports(o, arg, state);
		return 0;
	case 'p':
		o->sw.lossless = (uint32_t)adv_plan_count(state, "--lossless", arg, 0, 8);
		return 0;
	case KEY_LOSSY:
		o->sw.lossy = (uint32_t)adv_plan_count(state, "--lossy", arg, 0, 8);
		return 0;
	case KEY_RESERVE:
		o->sw.reserve = adv_plan_quantity(state, "--reserve", ADV_UNIT_BYTES, arg);
		return 0;
	case KEY_ALPHA:
		o->sw.alpha = adv_plan_quantity(state, "--alpha", ADV_UNIT_RATIO, arg);
		return 0;
	case KEY_MTU:
		o->mtu = adv_plan_quantity(state, "--mtu", ADV_UNIT_BYTES, arg);
		return 0;
	case KEY_HEADROOM:
		o->sw.headroom = adv_plan_quantity(state, "--headroom", ADV_UNIT_BYTES, arg);
		if (!o->sw.headroom)
			argp_error(state, "--headroom: is to be above 0");
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		finish(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Says whether the headroom of all lossless priorities fits into a switch's buffer, what is "
	"left to share, and what each queue may take of that.",
	NULL,
	NULL,
	NULL};

/* All of a group's, or the most that can be counted. */
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

	adv_plan_head(out, "What is set aside:");
	for (unsigned i = 0; i < sw->groups && sw->lossless; i++) {
		snprintf(key, sizeof(key), "headroom_%u", i + 1);
		snprintf(label, sizeof(label), "headroom, %" PRIu32 " x %s, %s", sw->group[i].count,
			 adv_units_print(ADV_UNIT_RATE, sw->group[i].link.speed, speed),
			 adv_units_print(ADV_UNIT_LENGTH, o->length[i], length));
		adv_plan_value(out, key, label, ADV_UNIT_BYTES, of_group(sw, b, i),
			       sw->headroom ? NULL : "adverb plan headroom: IEEE 802.1Q annex O",
			       "%" PRIu32 " x %" PRIu32 " x %" PRIu64, sw->group[i].count,
			       sw->lossless, b->group_headroom[i]);
	}
	adv_plan_value(out, "headroom", "headroom of all ports", ADV_UNIT_BYTES, b->headroom, NULL,
		       "the sum of these");
	adv_plan_value(out, "reserved", "reserve of all queues", ADV_UNIT_BYTES, b->reserved, NULL,
		       "%" PRIu32 " x (%" PRIu32 " + %" PRIu32 ") x %" PRIu64, b->ports,
		       sw->lossless, sw->lossy, sw->reserve);
}

static void print_threshold(struct adv_plan_out *out, const struct options *o, uint64_t shared,
			    uint64_t queues, bool first)
{
	uint64_t t = adv_plan_dynamic_threshold(shared, o->sw.alpha, queues);
	char text[ADV_UNITS_TEXT], alpha[ADV_UNITS_TEXT];

	if (out->json) {
		printf("%s\n    {\"queues\": %" PRIu64 ", \"threshold\": %" PRIu64
		       ", \"free\": %" PRIu64 "}",
		       first ? "" : ",", queues, t, shared - queues * t);
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

	adv_plan_head(out, "What a queue may hold (xoff, or the tail), by how many are congested:");
	if (out->json) {
		adv_plan_json_key(out, "thresholds");
		putchar('[');
	}
	for (uint64_t n = 1; n < all; n *= 2)
		print_threshold(out, o, b->shared, n, n == 1);
	print_threshold(out, o, b->shared, all, all == 1);
	if (out->json)
		printf("\n  ]");
	else
		printf("      source: %s\n", DYNAMIC);
}

static void judge(struct adv_plan_out *out, const struct options *o,
		  const struct adv_plan_buffer *b)
{
	uint64_t all = (uint64_t)b->ports * (o->sw.lossless + o->sw.lossy);
	uint64_t least = adv_plan_dynamic_threshold(b->shared, o->sw.alpha, all);
	char length[ADV_UNITS_TEXT];

	if (b->fits)
		adv_plan_note(out,
			      "It fits. With these ports, up to %" PRIu32
			      " lossless priorities would.",
			      b->lossless_fit);
	else
		adv_plan_note(out,
			      "Does not fit: %" PRIu64 " B lack. With these ports %" PRIu32
			      " lossless priorities would fit.",
			      b->missing, b->lossless_fit);
	if (b->delay_fit)
		adv_plan_note(out, "The longest cable that all ports could have is %s of fibre.",
			      adv_units_print(ADV_UNIT_LENGTH,
					      b->delay_fit / FIBRE_PS_PER_MM / 1000 * 1000,
					      length));
	else if (!b->fits && !o->sw.headroom && o->sw.lossless)
		adv_plan_note(out, "Not with the shortest of cables either.");
	if (b->fits && least < 2 * (o->mtu + ADV_PLAN_FRAME_OVERHEAD))
		adv_plan_note(out,
			      "With all %" PRIu64 " queues congested each may hold less than two "
			      "frames: links are paused before they are used well. A larger alpha "
			      "or reserve helps.",
			      all);
}

int adv_plan_buffer_main(int argc, char **argv)
{
	struct options o = {.sw = {.lossless = 1, .lossy = 1, .alpha = ADV_RATIO_ONE / 8},
			    .mtu = 9216};
	struct adv_plan_buffer b;
	struct adv_plan_out out;
	const char *wrong;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return ADV_EXIT_USAGE;
	wrong = adv_plan_buffer(&o.sw, &b);
	if (wrong) {
		fprintf(stderr, "adverb plan buffer: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_plan_begin(&out, "buffer", o.json);
	print_groups(&out, &o, &b);
	if (b.fits) {
		adv_plan_value(&out, "shared", "left to share", ADV_UNIT_BYTES, b.shared, NULL,
			       "%" PRIu64 " - %" PRIu64 " - %" PRIu64, o.sw.buffer, b.headroom,
			       b.reserved);
		print_thresholds(&out, &o, &b);
	}
	judge(&out, &o, &b);
	return adv_plan_end(&out, b.fits);
}
