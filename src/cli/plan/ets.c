/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan ets: the rates of traffic classes. */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "fabric/plan/ets.h"
#include "fabric/plan/headroom.h"

struct options {
	struct adv_plan_class c[ADV_PLAN_CLASSES];
	bool has_demand[ADV_PLAN_CLASSES];
	bool lossless[ADV_PLAN_CLASSES];
	int8_t class_of_dscp[64]; /* -1: not given */
	const char *device;
	uint64_t speed;
	uint64_t mtu;
};

/* Reads the class of "3=..." or "3". Sets *value to the text after '='. If `value` is NULL, the
 * form is "3". */
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
		argp_error(state, "%s: class %u already has a share or is strict", option, i);
	o->c[i].used = true;
	o->c[i].strict = is_strict;
}

static void read_share(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;
	const char *value;
	unsigned i = read_class(state, option, arg, &value);

	use_class(state, option, o, i, false);
	o->c[i].share = adv_option_quantity(state, option, ADV_UNIT_RATIO, value);
	if (o->c[i].share > ADV_RATIO_ONE)
		argp_error(state, "%s: '%s' is more than 100%%: write %u=50%% for one half", option,
			   arg, i);
}

static void read_strict(struct argp_state *state, const char *option, const char *arg,
			void *options)
{
	use_class(state, option, options, read_class(state, option, arg, NULL), true);
}

static void read_demand(struct argp_state *state, const char *option, const char *arg,
			void *options)
{
	struct options *o = options;
	const char *value;
	unsigned i = read_class(state, option, arg, &value);

	o->c[i].demand = adv_option_quantity(state, option, ADV_UNIT_RATE, value);
	o->has_demand[i] = true;
}

static void read_lossless(struct argp_state *state, const char *option, const char *arg,
			  void *options)
{
	struct options *o = options;

	o->lossless[read_class(state, option, arg, NULL)] = true;
}

/* Reads a DSCP and its class, such as "26=3". */
static void read_dscp(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;
	const char *equals = strchr(arg, '=');
	char why[ADV_UNITS_WHY];
	uint64_t dscp = 0;
	unsigned i;

	if (!equals || !adv_units_parse(ADV_UNIT_COUNT, arg, (size_t)(equals - arg), &dscp, why) ||
	    dscp > 63)
		argp_error(state, "%s: '%s' is not a DSCP from 0 to 63, '=' and a class", option,
			   arg);
	i = read_class(state, option, equals + 1, NULL);
	if (o->class_of_dscp[dscp] >= 0)
		argp_error(state, "%s: %d already has a class", option, (int)dscp);
	o->class_of_dscp[dscp] = (int8_t)i;
}

static bool is_device_name(const char *s)
{
	return *s && strlen(s) < 16 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       strlen(s);
}

static void read_device(struct argp_state *state, const char *option, const char *arg,
			void *options)
{
	struct options *o = options;

	if (!is_device_name(arg))
		argp_error(state, "%s: '%s' is not a name of an interface", option, arg);
	o->device = arg;
}

static void check_classes(struct argp_state *state, void *options)
{
	struct options *o = options;
	char percent[ADV_UNITS_TEXT];
	uint64_t sum = 0;

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
		sum += o->c[i].share;
	}
	if (sum && sum != ADV_RATIO_ONE)
		argp_error(state, "--share: the shares are %s%%: they must be 100%% together",
			   adv_units_print(ADV_UNIT_RATIO, sum * 100, percent));
}

static const struct adv_option option_table[] = {
	{"speed", 's', "RATE", "Speed of the link, such as 100Gb/s (needed)", .needed = true,
	 .unit = ADV_UNIT_RATE, .least = 1, ADV_OPTION_INTO(speed)},
	{"share", 'w', "CLASS=PERCENT", "An ETS class and its share, such as 3=50%",
	 .read = read_share},
	{"strict", 0, "CLASS", "A class of strict priority, such as 6", .read = read_strict},
	{"demand", 'd', "CLASS=RATE", "Rate that a class wants to send (default: unlimited)",
	 .read = read_demand},
	{"lossless", 0, "CLASS", "A class with PFC, for the commands of --device",
	 .read = read_lossless},
	{"dscp", 0, "DSCP=CLASS", "Class of a DSCP, such as 26=3, for the commands of --device",
	 .read = read_dscp},
	{"device", 0, "NAME", "Print the commands that set these classes on a Linux interface",
	 .read = read_device},
	{"mtu", 0, "BYTES", "Largest MTU, for the quanta (default 9216B)", .unit = ADV_UNIT_BYTES,
	 ADV_OPTION_INTO(mtu)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Compute the bandwidth of each traffic class of a link. Strict classes are served "
		 "first, the highest number before the others. The rest is divided by shares "
		 "(ETS); bandwidth that one class does not use goes to the others.",
	.check = check_classes};

static struct json_object *class_to_json(const struct options *o, const struct adv_plan_ets *e,
					 unsigned i)
{
	const struct adv_plan_class *c = &o->c[i];
	struct json_object *to = adv_json_object();

	adv_json_add_number(to, "class", i);
	adv_json_add_flag(to, "strict", c->strict);
	adv_json_add(to, "share", adv_json_ratio(c->share));
	adv_json_add_number(to, "demand", c->demand);
	adv_json_add_number(to, "gets", e->got[i]);
	adv_json_add_number(to, "guaranteed", e->guaranteed[i]);
	adv_json_add_number(to, "quantum", e->quantum[i]);
	return to;
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
	struct json_object *classes = out->json ? adv_json_add_array(out->json, "classes") : NULL;

	adv_planner_head(
		out, "  CLASS      SHARE         WANTS          GETS      AT LEAST     QUANTUM");
	for (unsigned i = ADV_PLAN_CLASSES; i-- > 0;) {
		if (!o->c[i].used)
			continue;
		if (classes)
			adv_json_append(classes, class_to_json(o, e, i));
		else
			print_text_class(o, e, i);
	}
}

static void print_rest(struct adv_plan_out *out, const struct options *o,
		       const struct adv_plan_ets *e)
{
	adv_planner_head(out, "Use of the link:");
	adv_planner_value(out, "strict", "strict classes use", ADV_UNIT_RATE, e->strict_rate,
			  "IEEE 802.1Q 37.3: strict before ETS", NULL);
	adv_planner_value(out, "ets", "left to ETS classes", ADV_UNIT_RATE,
			  o->speed - e->strict_rate,
			  "IEEE 802.1Q 37.3: by shares, unused ones redistributed (water filling)",
			  "%" PRIu64 " - %" PRIu64, o->speed, e->strict_rate);
	adv_planner_value(out, "unused", "unused", ADV_UNIT_RATE, e->unused, NULL,
			  "%" PRIu64 " - %" PRIu64, o->speed, o->speed - e->unused);
	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].used && o->c[i].demand && !e->got[i])
			adv_planner_note(out,
					 "Class %u starves: strict classes above it use the whole "
					 "link. Limit them, or give them a share.",
					 i);
	adv_planner_note(out,
			 "AT LEAST is the rate of a class when all other ETS classes send without "
			 "limit. QUANTUM is for deficit round robin: proportional to the shares, "
			 "at least one frame (Shreedhar and Varghese, SIGCOMM 1995).");
}

/* ---- commands of iproute2's dcb(8): dcb-ets(8), dcb-pfc(8), dcb-app(8) ---- */

/* Returns the class of priorities without a class: the lowest class with a share. If no class has a
 * share, returns the lowest class. */
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

/* Writes the dcb-app(8) command. If no DSCP has a class, writes nothing. */
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
	struct json_object *commands;

	for (unsigned i = 0; i < ADV_PLAN_CLASSES; i++)
		if (o->c[i].share % (ADV_RATIO_ONE / 100)) {
			adv_planner_note(out, "No commands: dcb(8) takes whole percent only.");
			return;
		}
	adv_planner_head(out, "To set it (iproute2):");
	commands = out->json ? adv_json_add_array(out->json, "commands") : NULL;
	for (unsigned i = 0; i < 3; i++) {
		char *text = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&text, &len);

		if (f) {
			write[i](o, f);
			fclose(f);
		}
		if (len && commands)
			adv_json_append(commands, adv_json_text(text));
		else if (len)
			printf("  %s\n", text);
		free(text);
	}
}

int adv_plan_ets_main(int argc, char **argv)
{
	struct options o = {.mtu = 9216};
	struct adv_plan_ets e;
	struct adv_plan_out out;
	const char *wrong;
	bool json;

	memset(o.class_of_dscp, -1, sizeof(o.class_of_dscp));
	if (!adv_command_read(&syntax, argc, argv, &o, &json))
		return ADV_EXIT_USAGE;
	wrong = adv_plan_ets(o.c, o.speed, o.mtu + ADV_PLAN_FRAME_OVERHEAD, &e);
	if (wrong) {
		fprintf(stderr, "adverb plan ets: %s\n", wrong);
		return ADV_EXIT_USAGE;
	}
	adv_planner_begin(&out, "ets", json);
	print_classes(&out, &o, &e);
	print_rest(&out, &o, &e);
	if (o.device)
		print_commands(&out, &o);
	return adv_planner_end(&out, true);
}
