/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb top: a live view of programs and their queue pairs. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cli/command/command.h"
#include "cli/observe/latencies.h"
#include "cli/command/module.h"
#include "cli/top/terminal.h"
#include "cli/top/view.h"
#include "runtime/identity/identity.h"
#include "runtime/exchange/resources.h"

#define SECOND_NS     1000000000u
#define BATCH_COLUMNS 160
#define INTERVAL_MOST 3600

static const struct adv_module terminal_module = {ADV_TERMINAL_MODULE, ADV_TERMINAL_SYMBOL,
						  "ncurses", "libncursesw6", "libncurses-dev"};

struct top {
	struct adv_top_view view;
	struct adv_control *control; /* NULL: adverbd does not run */
	struct adv_top_data data;
	/* The last reading. */
	struct adv_top_rows programs;
	struct adv_top_rows queue_pairs; /* of the page */
	struct adv_top_row port;
	uint64_t port_at;
	struct adv_screen screen;
	double interval; /* seconds */
	uint32_t count;	 /* reports of a batch; 0: no limit */
	bool batch;
};

static const struct argp_option options[] = {
	{"interval", 'i', "SECONDS", 0, "Time between two updates (default: 1)", 0},
	{"batch", 'b', NULL, 0, "Print the tables as text, without a terminal", 0},
	{"count", 'n', "N", 0, "End after N updates", 0},
	{"once", 'o', NULL, 0, "Print one table: --batch --count=1", 0},
	{"pid", 'p', "PID", 0, "Show the queue pairs of this process", 0},
	{"queue-pairs", 'a', NULL, 0, "Show the queue pairs of all programs", 0},
	{"nvme", 'N', NULL, 0,
	 "Show the namespaces and hosts of NVMe over Fabrics targets, and the clients of gateways",
	 0},
	{"filter", 'f', "TEXT", 0, "Show rows with this part of a name, process or queue pair", 0},
	{"sort", 's', "ORDER", 0, "Sort by bytes, messages, latency, trouble, number or name", 0},
	{"reverse", 'r', NULL, 0, "Sort the other way", 0},
	{0},
};

static void refuse_order(struct argp_state *state, const char *arg)
{
	char list[96] = "";
	size_t n = 0;

	for (unsigned i = 0; i < ADV_TOP_ORDERS; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      adv_top_order_name((enum adv_top_order)i));
	argp_error(state, "--sort: '%s' is none of: %s", arg, list);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top *t = state->input;

	switch (key) {
	case 'i':
		t->interval = adv_cli_seconds(state, "--interval", arg, 0.1, INTERVAL_MOST);
		return 0;
	case 'o':
		t->count = 1;
		t->batch = true;
		return 0;
	case 'b':
		t->batch = true;
		return 0;
	case 'n':
		t->count = adv_cli_number(state, "--count", arg);
		return 0;
	case 'p':
		t->view.pid = adv_cli_number(state, "--pid", arg);
		t->view.page = ADV_TOP_QUEUE_PAIRS;
		return 0;
	case 'a':
		t->view.page = ADV_TOP_QUEUE_PAIRS;
		return 0;
	case 'N':
		t->view.page = ADV_TOP_STORAGE;
		return 0;
	case 'f':
		if (strlen(arg) >= ADV_TOP_FILTER)
			argp_error(state, "--filter: at most %d characters", ADV_TOP_FILTER - 1);
		snprintf(t->view.filter, sizeof(t->view.filter), "%s", arg);
		return 0;
	case 's':
		t->view.order = adv_top_find_order(arg);
		if (t->view.order == ADV_TOP_ORDERS)
			refuse_order(state, arg);
		return 0;
	case 'r':
		t->view.reverse = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse_option,
	NULL,
	"Show the programs that use the device, their queue pairs, throughput, message rate, "
	"latency and losses, live. The programs are not stopped. Shown are the programs of your "
	"user; root sees all. Key h: help.",
	NULL,
	NULL,
	NULL};

/* ---- reading ---- */

static bool keep_object(void *user, const struct adv_object *object)
{
	struct adv_objects *o = user;

	if (!adv_grow(&o->list, o->count, &o->room, sizeof(*object)))
		return false;
	o->list[o->count++] = *object;
	return true;
}

static void count_silent(void *user, uint32_t pid, int error)
{
	struct adv_objects *o = user;

	if (error == ETIMEDOUT)
		o->silent_count++;
}

/* Reads the objects of a kind of the page's programs. 0 or errno. */
static int read_objects(struct top *t, enum adv_resource_kind kind, struct adv_objects *o)
{
	const struct adv_resource_query query = {.kind = kind,
						 .pid = t->view.pid,
						 .fn = keep_object,
						 .silent = count_silent,
						 .user = o};

	return adv_resources_each(t->control, &query);
}

/* Reads the queue pairs of the page. 0 or errno. */
static int read_queue_pairs(struct top *t, uint64_t at)
{
	struct adv_objects o = {0}, latencies = {0};
	int error = read_objects(t, ADV_RESOURCE_QP, &o);
	struct adv_top_rows now;
	size_t kept = 0;

	if (!error)
		error = read_objects(t, ADV_RESOURCE_LATENCY, &latencies);
	adv_latencies_sort(&latencies);

	for (size_t i = 0; i < o.count; i++)
		if (t->view.page != ADV_TOP_DETAILS || o.list[i].number == t->view.qpn)
			o.list[kept++] = o.list[i];
	o.count = kept;
	t->data.silent = (uint32_t)o.silent_count;
	if (!error && !adv_top_queue_pairs(&now, &o, &latencies, at))
		error = ENOMEM;
	if (!error) {
		adv_top_compare(&now, &t->queue_pairs);
		adv_top_free(&t->queue_pairs);
		t->queue_pairs = now;
	}
	adv_objects_free(&o);
	adv_objects_free(&latencies);
	return error;
}

/* Sets what the head of the page shows. */
static void set_head(struct top *t, const struct adv_sample *s)
{
	struct adv_top_data *d = &t->data;

	d->status = s->status;
	d->port_active = s->gids.port_active;
	d->mbps = adv_identity_shown_mbps(s->gids.count ? s->gids.entry[0].speed_mbps : 0);
	d->port = adv_top_port(s);
	if (t->port_at)
		adv_top_compare_row(&d->port, &t->port, s->at - t->port_at, false);
	t->port = d->port;
	t->port_at = s->at;
	d->program = (struct adv_top_row){0};
	for (size_t i = 0; i < t->programs.count; i++)
		if (t->view.pid && t->programs.row[i].pid == t->view.pid)
			d->program = t->programs.row[i];
}

/* Reads the programs, and for other pages the queue pairs. 0 or errno. */
static int read_page(struct top *t)
{
	struct adv_top_rows now = {0};
	struct adv_sample s;
	int error = adv_sample_read(&s, t->control);

	t->data.silent = 0;
	if (!error && !adv_top_programs(&now, &s))
		error = ENOMEM;
	if (!error) {
		adv_top_compare(&now, &t->programs);
		adv_top_free(&t->programs);
		t->programs = now;
		set_head(t, &s);
		if (t->view.page == ADV_TOP_STORAGE)
			adv_top_storage_read(&t->data.storage);
		else if (t->view.page != ADV_TOP_PROGRAMS)
			error = read_queue_pairs(t, s.at);
	}
	adv_sample_free(&s);
	return error;
}

/* Selects and sorts the rows of the last reading. */
static void arrange_rows(struct top *t)
{
	const struct adv_top_rows *from =
		t->view.page == ADV_TOP_PROGRAMS ? &t->programs : &t->queue_pairs;
	struct adv_top_rows *to = &t->data.rows;

	adv_top_free(to);
	to->row = calloc(from->count + 1, sizeof(*to->row));
	to->count = to->row ? from->count : 0;
	for (size_t i = 0; i < to->count; i++)
		to->row[i] = from->row[i];
	if (t->view.page != ADV_TOP_DETAILS)
		adv_top_filter(to, t->view.filter);
	adv_top_sort(to, t->view.order, t->view.reverse);
}

/* Brings the data up to date. */
static void update_data(struct top *t)
{
	char why[256];
	int error;

	if (!t->control)
		t->control = adv_control_connect(false, why, sizeof(why));
	error = t->control ? read_page(t) : ECONNREFUSED;
	if (error == ECONNRESET) {
		adv_control_close(t->control);
		t->control = NULL;
	}
	t->data.connected = !error;
	t->data.hindered = error == ECONNREFUSED && adv_cli_port_conflict(why, sizeof(why));
	arrange_rows(t);
}

/* ---- a batch ---- */

/* Returns the width of the output: of $COLUMNS, as top(1). */
static unsigned batch_columns(void)
{
	const char *text = getenv("COLUMNS");
	long n = text ? strtol(text, NULL, 10) : 0;

	return n >= 40 && n <= ADV_SCREEN_COLUMNS ? (unsigned)n : BATCH_COLUMNS;
}

static void print_line(const char *text, size_t len)
{
	while (len && text[len - 1] == ' ')
		len--;
	printf("%.*s\n", (int)len, text);
}

/* Prints the tables. A rate needs two readings, so the first table appears after an interval. */
static void run_batch(struct top *t)
{
	const struct timespec pause = adv_clock_timespec((uint64_t)(t->interval * SECOND_NS));

	update_data(t);
	for (uint32_t i = 0; !t->count || i < t->count; i++) {
		nanosleep(&pause, NULL);
		update_data(t);
		t->screen.columns = batch_columns();
		t->screen.rows = adv_top_batch_rows(&t->view, &t->data);
		adv_top_draw(&t->screen, &t->view, &t->data, true);
		for (unsigned k = 0; k < t->screen.rows; k++)
			print_line(t->screen.text[k], t->screen.columns);
		printf("\n");
		if (fflush(stdout) != 0)
			return;
	}
}

/* ---- the terminal ---- */

static volatile sig_atomic_t ended;

static void end_loop(int signal_number)
{
	ended = 1;
}

static void draw_screen(struct top *t, const struct adv_terminal *terminal)
{
	terminal->size(&t->screen.rows, &t->screen.columns);
	adv_top_draw(&t->screen, &t->view, &t->data, false);
	terminal->show(&t->screen);
}

/* Handles a key. A new page is read at once; the others wait for the next update. */
static void press_key(struct top *t, int key)
{
	enum adv_top_page page = t->view.page;
	uint32_t pid = t->view.pid;

	if (!key || !adv_top_press(&t->view, &t->data, key))
		return;
	if (page != t->view.page || pid != t->view.pid) {
		adv_top_free(&t->queue_pairs);
		update_data(t);
	} else {
		arrange_rows(t);
	}
}

static void run_terminal(struct top *t, const struct adv_terminal *terminal)
{
	const uint64_t interval = (uint64_t)(t->interval * 1000);
	uint64_t next = adv_clock_ms() + interval;
	uint32_t updates = 0;

	update_data(t);
	while (!t->view.quit && !ended) {
		uint64_t now = adv_clock_ms();

		draw_screen(t, terminal);
		press_key(t, terminal->key(now < next ? (int)(next - now) : 0));
		if (adv_clock_ms() < next)
			continue;
		next = adv_clock_ms() + interval;
		if (!t->view.frozen)
			update_data(t);
		if (t->count && ++updates >= t->count)
			break;
	}
}

static bool run_live(struct top *t)
{
	const struct adv_terminal *terminal = adv_module_load("adverb top", &terminal_module);

	if (!terminal)
		return false;
	if (!terminal->open()) {
		fprintf(stderr,
			"adverb top: no terminal that it knows; adverb top --batch prints text\n");
		return false;
	}
	(void)signal(SIGTERM, end_loop);
	(void)signal(SIGINT, end_loop);
	(void)signal(SIGHUP, end_loop);
	run_terminal(t, terminal);
	terminal->close();
	return true;
}

int adv_top_main(int argc, char **argv)
{
	struct top *t = calloc(1, sizeof(*t));
	bool good = true;
	int status;

	if (!t)
		return ADV_EXIT_FAILED;
	t->interval = 1;
	status = adv_command_parse(&argp, argc, argv, 0, t) != 0 ? ADV_EXIT_USAGE : 0;
	if (!status && t->batch)
		run_batch(t);
	else if (!status)
		good = run_live(t);
	adv_control_close(t->control);
	adv_top_free(&t->data.rows);
	adv_top_storage_free(&t->data.storage);
	adv_top_free(&t->programs);
	adv_top_free(&t->queue_pairs);
	free(t);
	return good ? status : ADV_EXIT_FAILED;
}
