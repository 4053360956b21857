/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb exporter: metrics for Prometheus, by HTTP or in files for node_exporter. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command/command.h"
#include "cli/exporter/files.h"
#include "cli/exporter/http.h"
#include "cli/exporter/listener.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/metrics_storage.h"
#include "cli/command/module.h"
#include "runtime/exchange/resources.h"

#define LISTEN	      "127.0.0.1:9401"
#define FRESH_MS      500 /* requests within this time get the same metrics */
#define INTERVAL      5	  /* seconds */
#define INTERVAL_MOST 86400
#define TEXT_TYPE     "text/plain; version=0.0.4; charset=utf-8"

static const struct adv_module http_module = {ADV_HTTP_MODULE, ADV_HTTP_SYMBOL, "libmicrohttpd",
					      "libmicrohttpd12", "libmicrohttpd-dev"};

struct options {
	const char *listen;
	const char *textfile;
	const char *sysfs;
	uint32_t interval; /* seconds */
	bool once;
};

struct exporter {
	struct options wanted;
	struct adv_control *control; /* NULL: not connected */
	struct adv_metrics metrics;
	char *text; /* the metrics; NULL: they could not be read */
	size_t len;
	size_t own; /* position of Adverb's own metrics in the text */
	uint64_t read_ms;
	int tree; /* folder of --sysfs; -1: none */
	const struct adv_http *http;
	struct adv_http_server *server; /* NULL: does not listen */
};

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (o->interval > INTERVAL_MOST)
		argp_error(state, "--interval: at most %d seconds", INTERVAL_MOST);
	if (o->once && o->listen)
		argp_error(state, "--once does not listen");
}

static const struct adv_option option_table[] = {
	{"listen", 'l', "ADDRESS:PORT",
	 "Serve http://ADDRESS:PORT/metrics (default: " LISTEN
	 ", unless --textfile or --sysfs is given)",
	 ADV_OPTION_TEXT(listen)},
	{"textfile", 't', "FILE",
	 "Write the metrics to FILE, for node_exporter's textfile collector",
	 ADV_OPTION_TEXT(textfile)},
	{"sysfs", 's', "FOLDER",
	 "Write a tree of files to FOLDER, for node_exporter --path.sysfs=FOLDER/sys",
	 ADV_OPTION_TEXT(sysfs)},
	{"interval", 'i', "SECONDS", "Interval of --textfile and --sysfs (default: 5)",
	 ADV_OPTION_NUMBER(interval)},
	{"once", 'o', NULL,
	 "Write the files once and end; without --textfile and --sysfs: print the metrics",
	 ADV_OPTION_INTO(once)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Export the counters of the device and of the programs that use it as metrics for "
		 "Prometheus. Shown are the programs of your user; root sees all. Ends with "
		 "SIGTERM or SIGINT.",
	.check = check_options};

/* ---- reading ---- */

static bool keep_sum(void *user, const struct adv_object *o)
{
	struct adv_metrics *m = user;

	if (o->type < ADV_RESOURCE_KINDS)
		m->objects[o->type] = o->users;
	return true;
}

/* Reads everything from adverbd. 0 or errno. */
static int read_metrics(struct exporter *x)
{
	const struct adv_resource_query sums = {
		.kind = ADV_RESOURCE_SUMMARY, .fn = keep_sum, .user = &x->metrics};
	int error;

	adv_sample_free(&x->metrics.sample);
	error = adv_sample_read(&x->metrics.sample, x->control);
	return error ? error : adv_resources_each(x->control, &sums);
}

/* As read_metrics(). Connects to adverbd if necessary, and starts it: it has the counters of ended
 * programs. */
static int read_connected(struct exporter *x)
{
	int error = ECONNRESET;

	for (int i = 0; i < 2 && error == ECONNRESET; i++) {
		if (!x->control)
			x->control = adv_cli_connect(true);
		if (!x->control)
			return ECONNREFUSED;
		error = read_metrics(x);
		if (error == ECONNRESET) {
			adv_control_close(x->control);
			x->control = NULL;
		}
	}
	return error;
}

/* Brings x->text up to date. False: x->text is NULL. */
static bool refresh_text(struct exporter *x)
{
	long own;
	int error;
	FILE *f;

	if (x->text && adv_clock_ms() - x->read_ms < FRESH_MS)
		return true;
	free(x->text);
	x->text = NULL;
	error = read_connected(x);
	if (error) {
		fprintf(stderr, "adverb exporter: cannot read the counters: %s\n", strerror(error));
		return false;
	}
	f = open_memstream(&x->text, &x->len);
	if (!f)
		return false;
	adv_metrics_write_node(f, &x->metrics.sample);
	own = ftell(f);
	adv_metrics_write_own(f, &x->metrics);
	adv_metrics_write_storage(f);
	if (fclose(f) != 0) {
		free(x->text);
		x->text = NULL;
	}
	x->own = own > 0 ? (size_t)own : 0;
	x->read_ms = adv_clock_ms();
	return x->text;
}

/* ---- answers and files ---- */

static struct adv_http_page page_of(unsigned status, const char *type, const char *text)
{
	return (struct adv_http_page){status, type, text, strlen(text)};
}

static struct adv_http_page answer_request(void *user, const char *path)
{
	struct exporter *x = user;

	if (strcmp(path, "/") == 0)
		return page_of(200, "text/html",
			       "<!DOCTYPE html>\n<title>adverb exporter</title>\n"
			       "<p><a href=\"/metrics\">Metrics</a></p>\n");
	if (strcmp(path, "/metrics") != 0)
		return page_of(404, "text/plain", "not found; the metrics are at /metrics\n");
	if (!refresh_text(x))
		return page_of(503, "text/plain", "adverbd does not answer\n");
	return (struct adv_http_page){200, TEXT_TYPE, x->text, x->len};
}

/* Writes the files that are wanted. If there is a tree, node_exporter has the port's metrics from
 * there, and refuses to get them twice. */
static bool write_files(struct exporter *x)
{
	bool good = refresh_text(x);
	size_t from = x->tree >= 0 ? x->own : 0;

	if (good && x->wanted.textfile)
		good = adv_exporter_write_text(x->wanted.textfile, x->text + from, x->len - from);
	if (good && x->tree >= 0)
		good = adv_exporter_write_tree(x->tree, &x->metrics.sample);
	return good;
}

/* ---- the loop ---- */

/* Returns how long poll() may block, ms; -1: until a descriptor is ready. */
static int time_left(const struct exporter *x, uint64_t next_ms)
{
	int left = x->server ? x->http->timeout(x->server) : -1;
	uint64_t now = adv_clock_ms();

	if (!x->wanted.textfile && x->tree < 0)
		return left;
	if (now >= next_ms)
		return 0;
	return left >= 0 && (uint64_t)left < next_ms - now ? left : (int)(next_ms - now);
}

/* Serves until a signal of `signals` arrives. A failure to write files is printed each time. */
static void serve_until_signal(struct exporter *x, int signals)
{
	bool files = x->wanted.textfile || x->tree >= 0;
	struct pollfd p[2] = {{.fd = signals, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	uint64_t next_ms = adv_clock_ms();

	if (x->server)
		p[1].fd = x->http->descriptor(x->server);
	for (;;) {
		if (poll(p, 2, time_left(x, next_ms)) < 0 && errno != EINTR)
			return;
		if (p[0].revents)
			return;
		if (x->server)
			x->http->run(x->server);
		if (files && adv_clock_ms() >= next_ms) {
			(void)write_files(x);
			next_ms = adv_clock_ms() + x->wanted.interval * 1000ull;
		}
	}
}

/* Blocks the signals that end the program, and returns a descriptor on which they arrive. */
static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool start_server(struct exporter *x)
{
	char bound[ADV_LISTENER_TEXT], why[256];
	int listener;

	x->http = adv_module_load("adverb exporter", &http_module);
	if (!x->http)
		return false;
	listener = adv_listener_open(x->wanted.listen, bound, why, sizeof(why));
	if (listener < 0) {
		fprintf(stderr, "adverb exporter: --listen: %s\n", why);
		return false;
	}
	x->server = x->http->start(listener, answer_request, x);
	if (!x->server) {
		fprintf(stderr, "adverb exporter: cannot start the HTTP server: %s\n",
			strerror(errno));
		return false;
	}
	printf("metrics: http://%s/metrics\n", bound);
	fflush(stdout);
	return true;
}

static bool run_once(struct exporter *x)
{
	if (x->wanted.textfile || x->tree >= 0)
		return write_files(x);
	return refresh_text(x) && fwrite(x->text, 1, x->len, stdout) == x->len &&
	       fflush(stdout) == 0;
}

static bool run_exporter(struct exporter *x)
{
	int signals;

	if (x->wanted.sysfs) {
		x->tree = adv_exporter_open_tree(x->wanted.sysfs);
		if (x->tree < 0)
			return false;
	}
	if (x->wanted.once)
		return run_once(x);
	if (!x->wanted.listen && !x->wanted.textfile && !x->wanted.sysfs)
		x->wanted.listen = LISTEN;
	signals = take_signals();
	if (signals < 0 || (x->wanted.listen && !start_server(x)) || !refresh_text(x))
		return false;
	serve_until_signal(x, signals);
	close(signals);
	return true;
}

int adv_exporter_main(int argc, char **argv)
{
	struct exporter x = {.wanted = {.interval = INTERVAL}, .tree = -1};
	bool good;

	if (!adv_command_read(&syntax, argc, argv, &x.wanted, NULL))
		return ADV_EXIT_USAGE;
	good = run_exporter(&x);
	if (x.server)
		x.http->stop(x.server);
	if (x.tree >= 0)
		close(x.tree);
	adv_sample_free(&x.metrics.sample);
	adv_control_close(x.control);
	free(x.text);
	return good ? 0 : ADV_EXIT_FAILED;
}
