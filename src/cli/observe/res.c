/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb res: lists the objects of running programs. */
#include "cli/observe/res.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/json.h"
#include "runtime/exchange/resources.h"

struct options {
	enum adv_resource_kind kind; /* ADV_RESOURCE_KINDS: the number of objects of each kind */
	uint32_t pid;
	bool details;
	bool json;
};

static const struct adv_option option_table[] = {
	{"pid", 'p', "PID", "List the objects of this process only", ADV_OPTION_NUMBER(pid)},
	{"details", 'd', NULL, "Show all attributes", ADV_OPTION_INTO(details)},
	{"json", 'j', NULL, "Print JSON", ADV_OPTION_INTO(json)},
};

static void read_kind(struct argp_state *state, const char *arg, void *options)
{
	struct options *o = options;

	if (o->kind != ADV_RESOURCE_KINDS)
		argp_error(state, "unexpected argument '%s'", arg);
	o->kind = adv_object_kind(arg);
	if (o->kind == ADV_RESOURCE_KINDS)
		argp_error(state, "'%s' is not qp, cq, mr, pd, srq, cm_id or ctx", arg);
}

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "List the objects of running programs, as rdma-resource(8) does for a card. The "
		 "programs are not stopped. Shown are the objects of your user's programs; root "
		 "sees all. Without an argument, show the number of objects of each kind.",
	.args = "[qp|cq|mr|pd|srq|cm_id|ctx]", .read = read_kind};

/* ---- the number of objects ---- */

static bool count_all(struct adv_control *c, const struct options *a,
		      size_t sums[ADV_RESOURCE_KINDS])
{
	for (unsigned i = 0; i < ADV_RESOURCE_KINDS; i++) {
		struct adv_objects o;
		bool good = adv_objects_read(&o, c, (enum adv_resource_kind)i, a->pid);

		sums[i] = o.count;
		adv_objects_free(&o);
		if (!good)
			return false;
	}
	return true;
}

static bool print_sums(struct adv_control *c, const struct options *a)
{
	struct json_object *o;
	size_t sums[ADV_RESOURCE_KINDS];

	if (!count_all(c, a, sums))
		return false;
	if (!a->json) {
		for (unsigned i = 0; i < ADV_RESOURCE_KINDS; i++)
			printf("%s%s %zu", i ? " " : "adverb0: ",
			       adv_object_kind_name((enum adv_resource_kind)i), sums[i]);
		printf("\n");
		return true;
	}
	o = adv_json_object();
	adv_json_add_text(o, "ifname", "adverb0");
	for (unsigned i = 0; i < ADV_RESOURCE_KINDS; i++)
		adv_json_add_number(o, adv_object_kind_name((enum adv_resource_kind)i), sums[i]);
	adv_json_print(stdout, o);
	return true;
}

/* ---- the objects of one kind ---- */

static void report_silent(const struct adv_objects *o)
{
	for (size_t i = 0; i < o->silent_count; i++) {
		char command[ADV_COMMAND_TEXT];
		bool stopped = adv_object_process_state(o->silent[i]) == 'T';

		adv_object_command(o->silent[i], command);
		fprintf(stderr, "adverb res: process %u (%s) does not answer: it is %s\n",
			o->silent[i], command,
			stopped ? "stopped (SIGSTOP); kill -CONT lets it continue"
				: "too busy or stopped");
	}
}

static bool print_objects(struct adv_control *c, const struct options *a)
{
	struct adv_objects o;
	bool good = adv_objects_read(&o, c, a->kind, a->pid);

	if (good && a->json)
		adv_res_print_json(&o, a->kind, a->details);
	else if (good)
		adv_res_print_text(&o, a->kind, a->details);
	fflush(stdout);
	report_silent(&o);
	good = good && !o.silent_count;
	adv_objects_free(&o);
	return good;
}

int adv_res_main(int argc, char **argv)
{
	struct options a = {.kind = ADV_RESOURCE_KINDS};
	struct adv_control *c;
	bool good;

	if (!adv_command_read(&syntax, argc, argv, &a, NULL))
		return ADV_EXIT_USAGE;
	c = adv_cli_connect(false);
	if (!c)
		return ADV_EXIT_FAILED;
	good = a.kind == ADV_RESOURCE_KINDS ? print_sums(c, &a) : print_objects(c, &a);
	adv_control_close(c);
	return good ? 0 : ADV_EXIT_FAILED;
}
