/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fault: fault plans of running programs and of adverbd. */
#include "cli/command/command.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/fabric/call.h"
#include "cli/command/json.h"
#include "nic/fault/name.h"
#include "runtime/exchange/fault_exchange.h"

#define ANSWER_WAIT_MS 3000

struct options {
	const char *command;
	const char *plan;
	const char *link; /* a cable of the emulated fabric; NULL: none */
	bool cm;
	bool all;
	bool json;
	uint32_t pid;
	uint32_t slot;
};

/* The requests of one run of the command, sent one after another, and their results. */
struct requests {
	struct adv_control *control;
	const struct options *options;
	enum adv_fault_command command;
	struct adv_fault_exchange_message *message;
	char text[ADV_FAULT_TEXT_MAX]; /* text of the plan to set */
	size_t text_len;
	uint32_t uid;		 /* user ID of this process */
	bool may_use_daemon;	 /* this process may request the plan of the whole daemon */
	uint32_t pid[ADV_SLOTS]; /* processes for whose connection manager a request was sent */
	unsigned sent;
	unsigned processes; /* processes to which a request was sent */
	unsigned failed;
	struct json_object *answers; /* an array, for --json; otherwise NULL */
};

static bool has_target(const struct options *o)
{
	return o->pid || o->slot || o->cm || o->all || o->link;
}

static void check_options(struct argp_state *state, void *options)
{
	struct options *o = options;
	bool set;

	if (!o->command)
		argp_error(state, "a command is needed: show, set or clear");
	set = strcmp(o->command, "set") == 0;
	if (!set && strcmp(o->command, "show") != 0 && strcmp(o->command, "clear") != 0)
		argp_error(state, "'%s' is not show, set or clear", o->command);
	if (set && !o->plan)
		argp_error(state, "set needs a plan, such as: adverb fault set --all drop=1%%");
	if (!set && o->plan)
		argp_error(state, "unexpected argument '%s'", o->plan);
	if (o->json && strcmp(o->command, "show") != 0)
		argp_error(state, "--json is for show only");
	if (!has_target(o) && strcmp(o->command, "show") == 0)
		o->all = true;
	if (!has_target(o))
		argp_error(state,
			   "a target is needed: --pid PID, --slot N, --cm, --all or --link CABLE");
	if (o->link && (o->pid || o->slot || o->cm || o->all))
		argp_error(state, "--link excludes the other targets");
	if (o->link && strcmp(o->command, "show") == 0)
		argp_error(state, "adverb fabric top shows the cables");
	if (!!o->pid + !!o->slot + o->all > 1 || (o->all && o->cm))
		argp_error(state,
			   "--pid, --slot and --all exclude each other, and --all includes --cm");
}

static void read_word(struct argp_state *state, const char *arg, void *options)
{
	struct options *o = options;

	if (o->plan)
		argp_error(state,
			   "unexpected argument '%s': a plan is one argument, in quotation marks",
			   arg);
	*(o->command ? &o->plan : &o->command) = arg;
}

static const struct adv_option option_table[] = {
	{"pid", 'p', "PID", "Select the process with this id", ADV_OPTION_NUMBER(pid)},
	{"slot", 's', "N", "Select the process with this slot (adverb status)",
	 ADV_OPTION_NUMBER(slot)},
	{"cm", 'c', NULL, "Select adverbd: the connection manager's packets of all programs",
	 ADV_OPTION_INTO(cm)},
	{"all", 'a', NULL, "Select all processes of your user (root: all users), and adverbd",
	 ADV_OPTION_INTO(all)},
	{"link", 'l', "CABLE",
	 "Select a cable of the emulated fabric, such as h3 or s1:4, as adverb fabric cable does; "
	 "PLAN is down, or of drop=PERCENT%, corrupt=PERCENT% and delay=TIME",
	 ADV_OPTION_TEXT(link)},
	{"json", 'j', NULL, "Write JSON (show only)", ADV_OPTION_INTO(json)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Show, set or clear the fault plan of running programs. A plan drops, delays or "
		 "damages packets, fails requests, takes the port down, or raises asynchronous "
		 "events.\v"
		 "Examples:\n"
		 "  adverb fault set --pid 4711 'drop=1%; delay=2ms'\n"
		 "  adverb fault set --all 'port-down=5s'\n"
		 "  adverb fault set --link s0:2 down\n"
		 "  adverb fault show\n"
		 "  adverb fault clear --all\n"
		 "\n"
		 "All words of a plan: " ADV_DOC_DIR "/faults.md\n"
		 "For a new program: adverb run --fault",
	.check = check_options, .args = "show\nset PLAN\nclear", .read = read_word};

/* ---- one request ---- */

static void print_counters(const struct adv_fault_exchange_message *m)
{
	const char *before = ": ";

	printf("  %" PRIu64 " packets", m->packets);
	for (unsigned i = 0; i < ADV_FAULT_ACTIONS; i++) {
		if (!m->hits[i])
			continue;
		printf("%s%s %" PRIu64, before, adv_fault_action_name((enum adv_fault_action)i),
		       m->hits[i]);
		before = ", ";
	}
	if (m->hits[ADV_FAULT_EXCHANGE_LOST])
		printf("%slost because too many packets were delayed %" PRIu64, before,
		       m->hits[ADV_FAULT_EXCHANGE_LOST]);
	printf("\n");
}

static struct json_object *answer_to_json(const struct adv_fault_exchange_message *m,
					  const char *who)
{
	struct json_object *o = adv_json_object(), *hits;
	char text[ADV_FAULT_TEXT_MAX + 1];

	adv_json_add_text(o, "target", who);
	if (!m->in_force) {
		adv_json_add(o, "plan", NULL);
		return o;
	}
	snprintf(text, sizeof(text), "%.*s", (int)m->text_len, m->text);
	adv_json_add_text(o, "plan", text);
	adv_json_add_number(o, "packets", m->packets);
	hits = adv_json_add_object(o, "hits");
	for (unsigned i = 0; i < ADV_FAULT_ACTIONS; i++)
		if (m->hits[i])
			adv_json_add_number(hits, adv_fault_action_name((enum adv_fault_action)i),
					    m->hits[i]);
	adv_json_add_number(o, "lost", m->hits[ADV_FAULT_EXCHANGE_LOST]);
	return o;
}

static void print_answer(const struct requests *r, const char *who)
{
	const struct adv_fault_exchange_message *m = r->message;

	if (r->answers) {
		adv_json_append(r->answers, answer_to_json(m, who));
		return;
	}
	if (!m->in_force) {
		printf("%s: no faults\n", who);
		return;
	}
	printf("%s: %.*s\n", who, (int)m->text_len, m->text);
	if (r->command == ADV_FAULT_SHOW)
		print_counters(m);
}

/* Sends the request and prints the answer. If `terse`, prints nothing if there is no plan. */
static void send_request(struct requests *r, const char *who,
			 const struct adv_control_fault *target, bool terse)
{
	struct adv_fault_exchange_message *m = r->message;
	char why[ADV_CONTROL_TEXT_LEN] = "";

	m->command = r->command;
	m->text_len = (uint32_t)r->text_len;
	memcpy(m->text, r->text, r->text_len);
	r->sent++;
	fflush(stdout);
	if (adv_fault_request(r->control, target, m, ANSWER_WAIT_MS, why, sizeof(why)) == 0) {
		if (m->in_force || !terse)
			print_answer(r, who);
		return;
	}
	fprintf(stderr, "adverb fault: %s: %s\n", who, why);
	r->failed++;
}

static void request_from_process(struct requests *r, const struct adv_control_entry *e)
{
	struct adv_control_fault target = {ADV_CONTROL_FAULT_SLOT, e->slot};
	char who[64];

	r->processes++;
	snprintf(who, sizeof(who), "slot %u, process %u (%s)", e->slot, e->pid, e->comm);
	send_request(r, who, &target, false);
}

/* Requests the daemon's plan for a process once, even if the process has several slots. */
static void request_from_connections(struct requests *r, uint32_t pid)
{
	struct adv_control_fault target = {ADV_CONTROL_FAULT_PROCESS, pid};
	char who[80];
	unsigned i = 0;

	while (i < ADV_SLOTS && r->pid[i] && r->pid[i] != pid)
		i++;
	if (!pid || i == ADV_SLOTS || r->pid[i])
		return;
	r->pid[i] = pid;
	snprintf(who, sizeof(who), "connection manager, process %u", pid);
	send_request(r, who, &target, true);
}

static void request_from_daemon(struct requests *r)
{
	struct adv_control_fault target = {ADV_CONTROL_FAULT_DAEMON, 0};

	send_request(r, "connection manager, all", &target, !r->options->cm);
}

/* ---- all selected processes ---- */

static bool is_selected(const struct requests *r, const struct adv_control_entry *e)
{
	const struct options *o = r->options;

	if (o->pid)
		return e->pid == o->pid;
	if (o->slot)
		return e->slot == o->slot;
	return o->all && (r->uid == 0 || e->uid == r->uid);
}

static int request_from_all(struct requests *r)
{
	const struct options *o = r->options;
	struct adv_control_status s;
	struct adv_control_entry e;
	uint32_t from = 0;
	int error = adv_control_status(r->control, &s);

	if (error)
		return error;
	r->may_use_daemon = r->uid == 0 || (!s.system && s.uid == r->uid);
	while ((error = adv_control_list(r->control, from, &e)) == 0) {
		from = e.slot + 1;
		if (!is_selected(r, &e))
			continue;
		request_from_process(r, &e);
		/* Not if the whole daemon gets the plan: it would apply to the process twice. */
		if (!(o->all && r->command == ADV_FAULT_SET && r->may_use_daemon))
			request_from_connections(r, e.pid);
	}
	if (error != ENOENT)
		return error;
	if (o->cm || (o->all && r->may_use_daemon))
		request_from_daemon(r);
	return 0;
}

/* Reads the plan and gives it a seed, so that all processes use the same seed. If the plan is
 * wrong, prints an error and returns false. */
static bool read_plan(struct requests *r)
{
	struct adv_fault_plan plan;

	if (r->command != ADV_FAULT_SET)
		return true;
	if (!adv_cli_read_plan("fault set", r->options->plan, &plan))
		return false;
	r->text_len = adv_fault_plan_print(&plan, r->text, sizeof(r->text));
	return true;
}

static enum adv_fault_command command_of(const char *name)
{
	if (strcmp(name, "set") == 0)
		return ADV_FAULT_SET;
	return strcmp(name, "clear") == 0 ? ADV_FAULT_CLEAR : ADV_FAULT_SHOW;
}

static int report_result(const struct requests *r, int error)
{
	const struct options *o = r->options;

	if (error)
		fprintf(stderr, "adverb fault: adverbd closed the connection\n");
	else if (!r->sent && o->pid)
		fprintf(stderr,
			"adverb fault: process %u has no slot; adverb status lists the processes "
			"with slots\n",
			o->pid);
	else if (!r->sent && o->slot)
		fprintf(stderr, "adverb fault: no process has slot %u\n", o->slot);
	else {
		if (o->all && !r->processes && !o->json)
			printf("no program %s uses RDMA now; for a new one: adverb run --fault "
			       "PLAN\n",
			       r->uid == 0 ? "in this network namespace" : "of your user");
		return r->failed ? ADV_EXIT_FAILED : 0;
	}
	return ADV_EXIT_FAILED;
}

int adv_fault_main(int argc, char **argv)
{
	struct options o = {0};
	struct requests *r;
	int status = ADV_EXIT_FAILED;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL))
		return ADV_EXIT_USAGE;
	if (o.link)
		return adv_call_change_cable("adverb fault", o.link, o.plan ? o.plan : "up")
			       ? 0
			       : ADV_EXIT_FAILED;
	r = calloc(1, sizeof(*r));
	if (!r)
		return ADV_EXIT_FAILED;
	r->options = &o;
	r->command = command_of(o.command);
	r->uid = geteuid();
	r->message = calloc(1, sizeof(*r->message));
	if (!read_plan(r))
		status = ADV_EXIT_USAGE;
	else if (r->message)
		r->control = adv_cli_connect(false);
	if (r->control && o.json)
		r->answers = adv_json_array();
	if (r->control)
		status = report_result(r, request_from_all(r));
	if (r->answers) {
		struct json_object *top = adv_json_object();

		adv_json_add(top, "targets", r->answers);
		adv_json_print(stdout, top);
	}
	adv_control_close(r->control);
	free(r->message);
	free(r);
	return status;
}
