/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan ets */
#include "cli/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fabric/plan_ets.h"
#include "fabric/plan_headroom.h"

struct options {
	struct adv_plan_class c[ADV_PLAN_CLASSES];
	bool has_demand[ADV_PLAN_CLASSES];
	bool lossless[ADV_PLAN_CLASSES];
	int8_t class_of_dscp[64]; /* -1: not said */
	const char *device;
	uint64_t speed;
	uint64_t mtu;
	bool json;
};

enum { KEY_STRICT = 256, KEY_MTU, KEY_LOSSLESS, KEY_DSCP, KEY_DEVICE };

static const struct argp_option argp_options[] = {
	{"speed", 's', "RATE", 0, "Speed of the link, such as 100Gb/s (needed)", 0},
	{"share", 'w', "CLASS=PERCENT", 0, "An ETS class and its share, such as 3=50%", 0},
	{"strict", KEY_STRICT, "CLASS", 0, "A class of strict priority, such as 6", 0},
	{"demand", 'd', "CLASS=RATE", 0, "What a class wants to send (default: as much as it can)",
	 0},
	{"lossless", KEY_LOSSLESS, "CLASS", 0, "A class with PFC, for the commands", 0},
	{"dscp", KEY_DSCP, "DSCP=CLASS", 0, "Packets of a class, such as 26=3, for the commands",
	 0},
	{"device", KEY_DEVICE, "NAME", 0, "Show the commands that set this on a Linux interface",
	 0},
	{"mtu", KEY_MTU, "BYTES", 0, "Largest MTU, for the quanta (default 9216B)", 0},
	{"json", 'j', NULL, 0, "Write JSON", 0},
	{0},
};

/* The class of "3=..." or "3"; *value what is behind the '=', NULL where there is none. */
static unsigned read_class(struct argp_state *state, const char *option, const char *arg,
			   const char **value)
{
	if (arg[0] < '0' || arg[0] > '7' || (arg[1] != '=' && arg[1] != '\0') ||
	    (arg[1] == '=') != (value != NULL)) {
		argp_error(state, "%s: '%s' is not a class from 0 to 7%s", option, arg,
			   value ? ", '=' and a value" : "");
		exit(ADV_EXIT_USAGE);
	}
	if (value)
		*value = arg + 2;
	return (unsigned)(arg[0] - '0');
}

static void use_class(struct argp_state *state, const char *option, struct options *o, unsigned i,
		      bool is_strict)
{
	if (o->c[i].used)
		argp_error(state, "%s: class %u has a share, or is strict, already", option, i);
	o->c[i].used = true;
	o->c[i].strict = is_strict;
}

/* "26=3" */
static void map_dscp(struct argp_state *state, struct options *o, const char *arg)
{
	const char *equals = strchr(arg, '=');
	char why[ADV_UNITS_WHY];
	uint64_t dscp = 0;
	unsigned i;

	if (!equals || !adv_units_parse(ADV_UNIT_COUNT, arg, (size_t)(equals - arg), &dscp, why) ||
	    dscp > 63)
		argp_error(state, "--dscp: '%s' is not a DSCP from 0 to 63, '=' and a class", arg);
	i = read_class(state, "--dscp", equals + 1, NULL);
	if (o->class_of_dscp[dscp] >= 0)
		argp_error(state, "--dscp: %d has a class already", (int)dscp);
	o->class_of_dscp[dscp] = (int8_t)i;
}

static bool is_device_name(const char *s)
{
	return *s && strlen(s) < 16 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       strlen(s);
}

/* Options that are about the commands. */
static bool parse_commands(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_LOSSLESS:
		o->lossless[read_class(state, "--lossless", arg, NULL)] = true;
		return true;
	case KEY_DSCP:
		map_dscp(state, o, arg);
		return true;
	case KEY_DEVICE:
		if (!is_device_name(arg))
			argp_error(state, "--device: '%s' is no name of an interface", arg);
		o->device = arg;
		return true;
	default:
		return false;
	}
}

static void finish(struct options *o, struct argp_state *state)
{
	if (!o->speed)
		argp_error(state, "--speed is needed");
	for (unsigned i = 0; i < 64; i++)
		if (o->class_of_dscp[i] >= 0 && !o->c[o->class_of_dscp[i]].used)
			argp_error(state, "--dscp: class %d has neither --share nor --strict",
				   o->class_of_dscp[i]);
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++) {
		if (o->has_demand[i] && !o->c[i].used)
			argp_error(state, "--demand: class %u has neither --share nor --strict", i);
		if (o->lossless[i] && !o->c[i].used)
			argp_error(state, "--lossless: class %u has neither --share nor --strict",
				   i);
		if (!o->has_demand[i])
			o->c[i].demand = o->speed;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	const char *value;
	unsigned i;

	switch (key) {
	case 's':
		o->speed = adv_plan_quantity(state, "--speed", ADV_UNIT_RATE, arg);
		return 0;
	case 'w':
		i = read_class(state, "--share", arg, &value);
		use_class(state, "--share", o, i, false);
		o->c[i].share = adv_plan_quantity(state, "--share", ADV_UNIT_RATIO, value);
		return 0;
	case KEY_STRICT:
		i = read_class(state, "--strict", arg, NULL);
		use_class(state, "--strict", o, i, true);
		return 0;
	case 'd':
		i = read_class(state, "--demand", arg, &value);
		o->c[i].demand = adv_plan_quantity(state, "--demand", ADV_UNIT_RATE, value);
		o->has_demand[i] = true;
		return 0;
	case KEY_MTU:
		o->mtu = adv_plan_quantity(state, "--mtu", ADV_UNIT_BYTES, arg);
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
		return parse_commands(key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Says what each traffic class gets of a link: strict ones first, the highest number before "
	"the others; the rest by shares (ETS), where what one class leaves goes to the others.",
	NULL,
	NULL,
	NULL};

static void print_json_class(const struct options *o, const struct adv_plan_ets *e, unsigned i)
{
	const struct adv_plan_class *c = &o->c[i];

	printf("{\"class\": %u, \"strict\": %s, \"share\": %" PRIu64 ".%09" PRIu64, i,
	       c->strict ? "true" : "false", c->share / ADV_RATIO_ONE, c->share % ADV_RATIO_ONE);
	printf(", \"demand\": %" PRIu64 ", \"gets\": %" PRIu64 ", \"guaranteed\": %" PRIu64
	       ", \"quantum\": %" PRIu64 "}",
	       c->demand, e->got[i], e->guaranteed[i], e->quantum[i]);
}

static void print_text_class(const struct options *o, const struct adv_plan_ets *e, unsigned i)
{
	const struct adv_plan_class *c = &o->c[i];
	char demand[ADV_UNITS_TEXT] = "all", got[ADV_UNITS_TEXT], least[ADV_UNITS_TEXT] = "-";
	char percent[ADV_UNITS_TEXT] = "strict", quantum[ADV_UNITS_TEXT] = "-";

	if (o->has_demand[i])
		adv_units_print(ADV_UNIT_RATE, c->demand, demand);
	adv_units_print(ADV_UNIT_RATE, e->got[i], got);
	if (!c->strict) {
		adv_units_print(ADV_UNIT_RATIO, c->share * 100, percent);
		strcat(percent, "%");
		adv_units_print(ADV_UNIT_RATE, e->guaranteed[i], least);
		snprintf(quantum, sizeof(quantum), "%" PRIu64 " B", e->quantum[i]);
	}
	printf("  %5u  %9s  %12s  %12s  %12s  %10s\n", i, percent, demand, got, least, quantum);
}

static void print_classes(struct adv_plan_out *out, const struct options *o,
			  const struct adv_plan_ets *e)
{
	bool first = true;

	if (out->json) {
		adv_plan_json_key(out, "classes");
		putchar('[');
	} else {
		adv_plan_head(
			out,
			"  CLASS      SHARE         WANTS          GETS      AT LEAST     QUANTUM");
	}
	for (unsigned i = ADV_PLAN_CLASSES; i-- > 0;) {
		if (!o->c[i].used)
			continue;
		if (out->json) {
			printf("%s\n    ", first ? "" : ",");
			print_json_class(o, e, i);
		} else {
			print_text_class(o, e, i);
		}
		first = false;
	}
	if (out->json)
		printf("\n  ]");
}

static void print_rest(struct adv_plan_out *out, const struct options *o,
		       const struct adv_plan_ets *e)
{
	adv_plan_head(out, "Of the link:");
	adv_plan_value(out, "strict", "strict classes take", ADV_UNIT_RATE, e->strict_rate,
		       "IEEE 802.1Q 37.3: strict before ETS", NULL);
	adv_plan_value(out, "ets", "left to ETS classes", ADV_UNIT_RATE, o->speed - e->strict_rate,
		       "IEEE 802.1Q 37.3: by shares, unused ones given on (water filling)",
		       "%" PRIu64 " - %" PRIu64, o->speed, e->strict_rate);
	adv_plan_value(out, "unused", "that nobody wants", ADV_UNIT_RATE, e->unused, NULL,
		       "%" PRIu64 " - %" PRIu64, o->speed, o->speed - e->unused);
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].used && o->c[i].demand && !e->got[i])
			adv_plan_note(
				out,
				"Class %u starves: strict classes above it take the whole link. "
				"Limit them, or give them a share.",
				i);
	adv_plan_note(out, "AT LEAST is what a class gets however much other ETS classes want. "
			   "QUANTUM is for deficit round robin: in proportion to the shares, a "
			   "frame at least (Shreedhar and Varghese, SIGCOMM 1995).");
}

/* ---- commands of iproute2's dcb(8): dcb-ets(8), dcb-pfc(8), dcb-app(8) ---- */

/* Where priorities without a class go: the lowest that is shared, or else the lowest. */
static unsigned best_effort(const struct options *o)
{
	unsigned lowest = ADV_PLAN_CLASSES;

	for (unsigned i = ADV_PLAN_CLASSES; i-- > 0;)
		if (o->c[i].used &&
		    (!o->c[i].strict || lowest == ADV_PLAN_CLASSES || o->c[lowest].strict))
			lowest = i;
	return lowest;
}

static void write_ets(const struct options *o, FILE *f)
{
	fprintf(f, "dcb ets set dev %s willing off prio-tc all:%u", o->device, best_effort(o));
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].used)
			fprintf(f, " %u:%u", i, i);
	fprintf(f, " tc-tsa all:strict");
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].used && !o->c[i].strict)
			fprintf(f, " %u:ets", i);
	fprintf(f, " tc-bw all:0");
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].used && !o->c[i].strict)
			fprintf(f, " %u:%" PRIu64, i, o->c[i].share / (ADV_RATIO_ONE / 100));
}

static void write_pfc(const struct options *o, FILE *f)
{
	fprintf(f, "dcb pfc set dev %s prio-pfc all:off", o->device);
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->lossless[i])
			fprintf(f, " %u:on", i);
}

/* Nothing where no DSCP has a class. */
static void write_app(const struct options *o, FILE *f)
{
	bool some = false;

	for (unsigned i = 0; i < 64; i++) {
		if (o->class_of_dscp[i] < 0)
			continue;
		if (!some)
			fprintf(f, "dcb app replace dev %s dscp-prio", o->device);
		some = true;
		fprintf(f, " %u:%d", i, o->class_of_dscp[i]);
	}
}

static void print_commands(struct adv_plan_out *out, const struct options *o)
{
	void (*const write[])(const struct options *o, FILE *f) = {write_ets, write_pfc, write_app};

	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].share % (ADV_RATIO_ONE / 100)) {
			adv_plan_note(out, "No commands: dcb(8) takes whole percent only.");
			return;
		}
	adv_plan_head(out, "To set it (iproute2):");
	if (out->json) {
		adv_plan_json_key(out, "commands");
		putchar('[');
	}
	for (unsigned i = 0; i < 3; i++) {
		char *text = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&text, &len);

		if (f) {
			write[i](o, f);
			fclose(f);
		}
		if (len && out->json)
			printf("%s\n    \"%s\"", i ? "," : "", text);
		else if (len)
			printf("  %s\n", text);
		free(text);
	}
	if (out->json)
		printf("\n  ]");
}

int adv_plan_ets_main(int argc, char **argv)
{
	struct options o = {.mtu = 9216};
	struct adv_plan_ets e;
	struct adv_plan_out out;
	const char *wrong;

	memset(o.class_of_dscp, -1, sizeof(o.class_of_dscp));
	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return ADV_EXIT_USAGE;
	wrong = adv_plan_ets(o.c, o.speed, o.mtu + ADV_PLAN_FRAME_OVERHEAD, &e);
	if (wrong) {
		fprintf(stderr, "adverb plan ets: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_plan_begin(&out, "ets", o.json);
	print_classes(&out, &o, &e);
	print_rest(&out, &o, &e);
	if (o.device)
		print_commands(&out, &o);
	return adv_plan_end(&out, true);
}
