/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb explain: the meaning of completion statuses, their vendor_err, and asynchronous events. */
#include "cli/command.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/errors.h"
#include "cli/explain_live.h"
#include "transport/cause.h"

#define STATUS_PREFIX "IBV_WC_"
#define EVENT_PREFIX  "IBV_EVENT_"
#define CAUSE_PREFIX  "ADV_ERR_"
#define NEVER	      "only a fault plan reports it"

struct arguments {
	char *what;
	bool markdown;
	uint32_t pid;
	uint32_t qpn;
};

static const struct argp_option options[] = {
	{"pid", 'p', "PID", 0, "Explain the state of this running process", 0},
	{"qp", 'q', "QPN", 0, "With --pid: explain this queue pair only", 0},
	{"markdown", 'm', NULL, 0, "List all errors as the tables of " ADV_DOC_DIR "/errors.md", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'm':
		a->markdown = true;
		return 0;
	case 'p':
		a->pid = adv_cli_number(state, "--pid", arg);
		return 0;
	case 'q':
		a->qpn = adv_cli_number(state, "--qp", arg);
		return 0;
	case ARGP_KEY_END:
		if (a->qpn && !a->pid)
			argp_error(state, "--qp needs --pid");
		if (a->pid && a->what)
			argp_error(state, "--pid takes no argument '%s'", a->what);
		return 0;
	case ARGP_KEY_ARG:
		if (a->what)
			argp_error(state, "unexpected argument '%s'", arg);
		a->what = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse_option,
	"[STATUS|VENDOR_ERR|EVENT|STATUS/VENDOR_ERR]",
	"Explain a completion's status, its vendor_err, or an asynchronous event, and what to do. "
	"The argument is a number, a name or a text of ibv_wc_status_str(): 12/7, "
	"IBV_WC_RETRY_EXC_ERR, \"transport retry counter exceeded\". Without an argument, list all "
	"errors.",
	NULL,
	NULL,
	NULL};

/* ---- parsing the argument ---- */

static bool is_called(const char *what, const char *prefix, const char *name)
{
	size_t n = strlen(prefix);

	return strcasecmp(what, name) == 0 ||
	       (strncasecmp(what, prefix, n) == 0 && strcasecmp(what + n, name) == 0);
}

/* Returns the number in the text, or -1 if it is no number. */
static long number_of(const char *what)
{
	char *end;
	long n = strtol(what, &end, 0);

	return what[0] >= '0' && what[0] <= '9' && *end == '\0' && n <= UINT16_MAX ? n : -1;
}

typedef const struct adv_error_text *text_fn(uint32_t number);

/* Returns the number of the status, event or cause with this name, or -1 if there is none. */
static long find_text(const char *what, text_fn *text, const char *prefix)
{
	long n = number_of(what);
	const struct adv_error_text *t;

	if (n >= 0)
		return text((uint32_t)n) ? n : -1;
	for (uint32_t i = 0; (t = text(i)) != NULL; i++)
		if (is_called(what, prefix, t->name + strlen(prefix)) ||
		    strcasecmp(what, t->string) == 0)
			return i;
	return -1;
}

static long find_status(const char *what)
{
	return find_text(what, adv_status_text, STATUS_PREFIX);
}

static long find_event(const char *what)
{
	return find_text(what, adv_event_text, EVENT_PREFIX);
}

static long find_cause(const char *what)
{
	long n = number_of(what);

	if (n >= 0)
		return adv_cause((uint32_t)n) ? n : -1;
	for (uint32_t i = 0; adv_cause(i); i++)
		if (is_called(what, CAUSE_PREFIX, adv_cause(i)->name))
			return i;
	return -1;
}

/* ---- one error ---- */

static void print_advice(const char *text, const char *advice)
{
	printf("  what     %s\n", text);
	printf("  to do    %s\n", advice ? advice : NEVER);
}

/* Prints the causes for which `with` returns true. */
static void print_causes(bool (*with)(const struct adv_cause *c, long number), long number)
{
	const char *before = "  causes   ";

	for (uint32_t i = 1; adv_cause(i); i++) {
		if (!with(adv_cause(i), number))
			continue;
		printf("%s%u %s: %s\n", before, i, adv_cause(i)->name, adv_cause(i)->text);
		before = "           ";
	}
}

static bool with_status(const struct adv_cause *c, long status)
{
	return c->statuses & 1u << status;
}

static bool with_event(const struct adv_cause *c, long event)
{
	return c->events & 1u << event;
}

static void print_status(long status, bool causes)
{
	const struct adv_error_text *t = adv_status_text((uint32_t)status);

	printf("%s (status %ld): %s\n", t->name, status, t->string);
	print_advice(t->text, t->advice);
	if (causes)
		print_causes(with_status, status);
}

static void print_event(long event)
{
	const struct adv_error_text *t = adv_event_text((uint32_t)event);

	printf("%s (event %ld): %s\n", t->name, event, t->string);
	print_advice(t->text, t->advice);
	print_causes(with_event, event);
}

/* Calls `print` with each status and event of the cause. */
static void each_status_and_event(const struct adv_cause *c, void (*print)(const char *name))
{
	if (c->statuses == ADV_CAUSE_ANY_ERROR) {
		print("any error");
		return;
	}
	for (uint32_t i = 0; adv_status_text(i); i++)
		if (with_status(c, i))
			print(adv_status_text(i)->name);
	for (uint32_t i = 0; adv_event_text(i); i++)
		if (with_event(c, i))
			print(adv_event_text(i)->name);
}

static void print_with(const char *name)
{
	printf("  with     %s\n", name);
}

static void print_cause(long number)
{
	const struct adv_cause *c = adv_cause((uint32_t)number);

	printf("%s%s (vendor_err %ld)\n", CAUSE_PREFIX, c->name, number);
	print_advice(c->text, c->advice);
	each_status_and_event(c, print_with);
}

static int report_unknown_error(const char *what)
{
	fprintf(stderr,
		"adverb explain: '%s' is no status, vendor_err or event; without an argument the "
		"command lists them all\n",
		what);
	return ADV_EXIT_USAGE;
}

/* Explains STATUS/VENDOR_ERR, as programs print it. */
static int explain_pair(char *status_text, char *cause_text)
{
	long status = find_status(status_text);
	long cause = find_cause(cause_text);

	if (status < 0)
		return report_unknown_error(status_text);
	print_status(status, cause < 0);
	if (cause < 0) {
		printf("vendor_err %s: not one of Adverb's; other devices have their own numbers\n",
		       cause_text);
		return ADV_EXIT_FAILED;
	}
	print_cause(cause);
	if (with_status(adv_cause((uint32_t)cause), status))
		return 0;
	printf("The status and the vendor_err do not go together: the completion is not "
	       "Adverb's.\n");
	return ADV_EXIT_FAILED;
}

static int explain_single(const char *what)
{
	long status = find_status(what), cause = find_cause(what), event = find_event(what);

	if (status >= 0)
		print_status(status, true);
	if (cause >= 0)
		print_cause(cause);
	if (event >= 0)
		print_event(event);
	return status < 0 && cause < 0 && event < 0 ? report_unknown_error(what) : 0;
}

/* ---- all errors ---- */

static void list_texts(const char *title, text_fn *text)
{
	const struct adv_error_text *t;

	printf("%s\n", title);
	for (uint32_t i = 0; (t = text(i)) != NULL; i++)
		printf("%5u  %-30s %s%s\n", i, t->name, t->text,
		       t->advice ? "" : "; only by a fault plan");
}

static void list_errors(void)
{
	list_texts("STATUS", adv_status_text);
	printf("\nVENDOR_ERR\n");
	for (uint32_t i = 0; adv_cause(i); i++)
		printf("%5u  %-30s %s\n", i, adv_cause(i)->name, adv_cause(i)->text);
	printf("\n");
	list_texts("EVENT", adv_event_text);
}

static void print_table(const char *title, text_fn *text)
{
	const struct adv_error_text *t;

	printf("| number | %s | what it means | what to do |\n| --- | --- | --- | --- |\n", title);
	for (uint32_t i = 0; (t = text(i)) != NULL; i++)
		printf("| %u | `%s` | %s | %s |\n", i, t->name, t->text,
		       t->advice ? t->advice : NEVER);
}

static void print_cell(const char *name)
{
	printf(" `%s`", name);
}

static void print_markdown(void)
{
	print_table("status", adv_status_text);
	printf("\n| vendor_err | name | what has happened | what to do | comes with |\n"
	       "| --- | --- | --- | --- | --- |\n");
	for (uint32_t i = 0; adv_cause(i); i++) {
		const struct adv_cause *c = adv_cause(i);

		printf("| %u | `%s` | %s | %s |", i, c->name, c->text, c->advice);
		each_status_and_event(c, print_cell);
		printf(" |\n");
	}
	printf("\n");
	print_table("event", adv_event_text);
}

int adv_explain_main(int argc, char **argv)
{
	struct arguments a = {0};
	char *slash;

	if (adv_command_parse(&argp, argc, argv, 0, &a) != 0)
		return ADV_EXIT_USAGE;
	if (a.pid)
		return adv_explain_process(a.pid, a.qpn);
	if (!a.what) {
		if (a.markdown)
			print_markdown();
		else
			list_errors();
		return 0;
	}
	slash = strchr(a.what, '/');
	if (!slash)
		return explain_single(a.what);
	*slash = '\0';
	return explain_pair(a.what, slash + 1);
}
