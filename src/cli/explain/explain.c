/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb explain: the meaning of completion statuses, their vendor_err, and asynchronous events. */
#include "cli/command/command.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "cli/observe/errors.h"
#include "cli/explain/json.h"
#include "cli/explain/live.h"
#include "nic/engine/cause.h"

#define STATUS_PREFIX "IBV_WC_"
#define EVENT_PREFIX  "IBV_EVENT_"
#define CAUSE_PREFIX  "ADV_ERR_"
#define CM_PREFIX     "RDMA_CM_EVENT_"
#define NEVER	      "only a fault plan reports it"

struct options {
	char *what;
	bool markdown;
	bool json;
	uint32_t pid;
	uint32_t qpn;
};

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (o->json && o->markdown)
		argp_error(state, "--json and --markdown exclude each other");
	if (o->qpn && !o->pid)
		argp_error(state, "--qp needs --pid");
	if (o->pid && o->what)
		argp_error(state, "--pid takes no argument '%s'", o->what);
}

static const struct adv_option option_table[] = {
	{"pid", 'p', "PID", "Explain the state of this running process", ADV_OPTION_NUMBER(pid)},
	{"qp", 'q', "QPN", "With --pid: explain this queue pair only", ADV_OPTION_NUMBER(qpn)},
	{"json", 'j', NULL, "Print JSON", ADV_OPTION_INTO(json)},
	{"markdown", 'm', NULL, "List all errors as the tables of " ADV_DOC_DIR "/errors.md",
	 ADV_OPTION_INTO(markdown)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Explain a completion's status, its vendor_err, an asynchronous event, an event "
		 "of the connection manager, or the errno of a call, and what to do. The argument "
		 "is a number, a name or a text of ibv_wc_status_str(): 12/7, "
		 "IBV_WC_RETRY_EXC_ERR, \"transport retry counter exceeded\", "
		 "RDMA_CM_EVENT_REJECTED/8, ibv_modify_qp/EINVAL. With --pid, explain the state of "
		 "a running program. Without an argument, list all errors.",
	.check = check_options,
	.args = "[STATUS|VENDOR_ERR|EVENT|STATUS/VENDOR_ERR|EVENT/STATUS|CALL|CALL/ERRNO]",
	.file = offsetof(struct options, what)};

/* The report; NULL: it is printed as text. */
static struct json_object *json;

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
		    (t->string[0] && strcasecmp(what, t->string) == 0))
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

/* As find_text(), but finds names only: a number is a status, a cause or an event of the device. */
static long find_cm_event(const char *what)
{
	return number_of(what) >= 0 ? -1 : find_text(what, adv_cm_event_text, CM_PREFIX);
}

/* Finds a reason of a REJ by its number or its name. -1: there is none. */
static long find_reject(const char *what)
{
	long n = number_of(what);

	if (n >= 0)
		return adv_reject_text((uint32_t)n) ? n : -1;
	for (uint32_t i = 0; i < adv_reject_reasons(); i++)
		if (adv_reject_text(i) && is_called(what, "IB_CM_REJ_", adv_reject_text(i)->name))
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
		if (json) {
			adv_explain_json_cause(json, i);
			continue;
		}
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

	if (json) {
		adv_explain_json_error(json, "statuses", (uint32_t)status, t);
	} else {
		printf("%s (status %ld): %s\n", t->name, status, t->string);
		print_advice(t->text, t->advice);
	}
	if (causes)
		print_causes(with_status, status);
}

static void print_event(long event)
{
	const struct adv_error_text *t = adv_event_text((uint32_t)event);

	if (json) {
		adv_explain_json_error(json, "events", (uint32_t)event, t);
	} else {
		printf("%s (event %ld): %s\n", t->name, event, t->string);
		print_advice(t->text, t->advice);
	}
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

	if (json) {
		adv_explain_json_cause(json, (uint32_t)number);
		return;
	}
	printf("%s%s (vendor_err %ld)\n", CAUSE_PREFIX, c->name, number);
	print_advice(c->text, c->advice);
	each_status_and_event(c, print_with);
}

/* ---- the connection manager and the calls ---- */

static void print_cm_event(long event)
{
	const struct adv_error_text *t = adv_cm_event_text((uint32_t)event);

	if (json) {
		adv_explain_json_error(json, "cm-events", (uint32_t)event, t);
		return;
	}
	printf("%s (event %ld of the connection manager)\n", t->name, event);
	print_advice(t->text, t->advice);
}

static void print_reject(long reason)
{
	const struct adv_error_text *t = adv_reject_text((uint32_t)reason);

	if (json) {
		adv_explain_json_error(json, "rejects", (uint32_t)reason, t);
		return;
	}
	printf("IB_CM_REJ_%s (reject reason %ld)\n", t->name, reason);
	print_advice(t->text, t->advice);
}

static void print_call_error(const struct adv_call_error *e)
{
	if (json)
		adv_explain_json_call(json, e);
	else
		printf("%s, errno %d (%s): %s\n", e->call, e->error, strerror(e->error), e->text);
}

/* Prints the errnos of a call (error 0: all of them), or the calls with an errno (call NULL).
 * Returns how many there are. */
static unsigned print_call_errors(const char *call, int error)
{
	const struct adv_call_error *e;
	unsigned count = 0;

	for (uint32_t i = 0; (e = adv_call_error(i)) != NULL; i++) {
		if ((call && strcmp(e->call, call) != 0) || (error && e->error != error))
			continue;
		print_call_error(e);
		count++;
	}
	return count;
}

static bool is_call(const char *what)
{
	const struct adv_call_error *e;

	for (uint32_t i = 0; (e = adv_call_error(i)) != NULL; i++)
		if (strcmp(e->call, what) == 0)
			return true;
	return false;
}

static int report_unknown_error(const char *what)
{
	fprintf(stderr,
		"adverb explain: '%s' is no status, vendor_err, event or call; without an argument "
		"the command lists them all\n",
		what);
	return ADV_EXIT_USAGE;
}

/* Explains an event of the connection manager with its status. */
static int explain_cm_pair(long event, const char *status_text)
{
	char *end;
	long status = strtol(status_text, &end, 10), reject = find_reject(status_text);

	print_cm_event(event);
	if (event == RDMA_CM_EVENT_REJECTED && reject >= 0) {
		print_reject(reject);
		return 0;
	}
	if (event != RDMA_CM_EVENT_REJECTED && end != status_text && !*end && status < 0 &&
	    status > INT16_MIN) {
		if (json)
			adv_json_add_text(json, "errno", strerrorname_np((int)-status));
		else
			printf("status %ld: %s\n", status, strerror((int)-status));
		return 0;
	}
	fprintf(stderr, "adverb explain: '%s' is no status of this event\n", status_text);
	return ADV_EXIT_USAGE;
}

/* Explains CALL/ERRNO. */
static int explain_call_error(const char *call, const char *error_text)
{
	long number = number_of(error_text);
	int error = number > 0 ? (int)number : adv_errno_of(error_text);

	if (error && print_call_errors(call, error))
		return 0;
	fprintf(stderr, "adverb explain: '%s' is no errno of %s; adverb explain %s lists them\n",
		error_text, call, call);
	return ADV_EXIT_USAGE;
}

/* Explains STATUS/VENDOR_ERR, as programs print it. */
static int explain_pair(char *status_text, char *cause_text)
{
	long status = find_status(status_text);
	long cause = find_cause(cause_text);

	if (find_cm_event(status_text) >= 0)
		return explain_cm_pair(find_cm_event(status_text), cause_text);
	if (is_call(status_text))
		return explain_call_error(status_text, cause_text);
	if (status < 0)
		return report_unknown_error(status_text);
	print_status(status, cause < 0);
	if (cause < 0) {
		fprintf(json ? stderr : stdout,
			"vendor_err %s: not one of Adverb's; other devices have their own "
			"numbers\n",
			cause_text);
		return ADV_EXIT_FAILED;
	}
	print_cause(cause);
	if (with_status(adv_cause((uint32_t)cause), status))
		return 0;
	fprintf(json ? stderr : stdout, "The status and the vendor_err do not go together: the "
					"completion is not Adverb's.\n");
	return ADV_EXIT_FAILED;
}

static int explain_single(const char *what)
{
	long status = find_status(what), cause = find_cause(what), event = find_event(what);
	long cm_event = find_cm_event(what), reject = number_of(what) < 0 ? find_reject(what) : -1;
	bool known = status >= 0 || cause >= 0 || event >= 0 || cm_event >= 0 || reject >= 0;

	if (is_call(what) || adv_errno_of(what))
		return print_call_errors(is_call(what) ? what : NULL, adv_errno_of(what)) ? 0 : 1;
	if (cm_event >= 0)
		print_cm_event(cm_event);
	if (reject >= 0)
		print_reject(reject);
	if (status >= 0)
		print_status(status, true);
	if (cause >= 0)
		print_cause(cause);
	if (event >= 0)
		print_event(event);
	return known ? 0 : report_unknown_error(what);
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
	printf("\n");
	list_texts("EVENT OF THE CONNECTION MANAGER", adv_cm_event_text);
	printf("\nREJECT REASON\n");
	for (uint32_t i = 0; i < adv_reject_reasons(); i++)
		if (adv_reject_text(i))
			printf("%5u  %-30s %s\n", i, adv_reject_text(i)->name,
			       adv_reject_text(i)->text);
	printf("\nERRNO OF A CALL\n");
	(void)print_call_errors(NULL, 0);
}

static void add_texts(const char *key, text_fn *text)
{
	for (uint32_t i = 0; text(i); i++)
		adv_explain_json_error(json, key, i, text(i));
}

static void add_errors(void)
{
	add_texts("statuses", adv_status_text);
	for (uint32_t i = 0; adv_cause(i); i++)
		adv_explain_json_cause(json, i);
	add_texts("events", adv_event_text);
	add_texts("cm-events", adv_cm_event_text);
	for (uint32_t i = 0; i < adv_reject_reasons(); i++)
		if (adv_reject_text(i))
			print_reject(i);
	(void)print_call_errors(NULL, 0);
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
	printf("\n");
	print_table("event of the connection manager", adv_cm_event_text);
	printf("\n| reason | name | what it means | what to do |\n| --- | --- | --- | --- |\n");
	for (uint32_t i = 0; i < adv_reject_reasons(); i++)
		if (adv_reject_text(i))
			printf("| %u | `%s` | %s | %s |\n", i, adv_reject_text(i)->name,
			       adv_reject_text(i)->text, adv_reject_text(i)->advice);
	printf("\n| call | errno | what it means |\n| --- | --- | --- |\n");
	for (uint32_t i = 0; adv_call_error(i); i++)
		printf("| `%s` | `%s` | %s |\n", adv_call_error(i)->call,
		       strerrorname_np(adv_call_error(i)->error), adv_call_error(i)->text);
}

static int explain_qps(char *what)
{
	char *slash = strchr(what, '/');

	if (!slash)
		return explain_single(what);
	*slash = '\0';
	return explain_pair(what, slash + 1);
}

/* Explains an error, or all if `what` is NULL, as JSON. */
static int explain_as_json(char *what)
{
	int status = 0;

	json = adv_json_object();
	if (what)
		status = explain_qps(what);
	else
		add_errors();
	if (json_object_object_length(json) > 0)
		adv_json_print(stdout, json);
	else
		json_object_put(json);
	json = NULL;
	return status;
}

int adv_explain_main(int argc, char **argv)
{
	struct options a = {0};

	if (!adv_command_read(&syntax, argc, argv, &a, NULL))
		return ADV_EXIT_USAGE;
	if (a.pid)
		return adv_explain_process(a.pid, a.qpn, a.json);
	if (a.json)
		return explain_as_json(a.what);
	if (a.what)
		return explain_qps(a.what);
	if (a.markdown)
		print_markdown();
	else
		list_errors();
	return 0;
}
