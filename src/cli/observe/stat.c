/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb stat: counters of the port, or of queue pairs, with rates. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/command/command.h"
#include "cli/command/json.h"
#include "cli/observe/latencies.h"
#include "cli/observe/objects.h"
#include "cli/observe/port_reading.h"
#include "cli/observe/stat_latency.h"
#include "runtime/identity/hw_counters.h"

#define SECOND_NS	1000000000u
#define VALUES		64 /* most counters of a port or of a QP */
#define LONGEST_SECONDS 86400

struct options {
	uint32_t pid;
	uint32_t qpn;
	double interval; /* seconds; 0: print once */
	uint32_t count;	 /* reports; 0: no limit */
	bool json;
	bool latency;
};

/* The counters of the port, or of one queue pair. */
struct counted {
	uint32_t qpn; /* 0: the port */
	uint32_t pid;
	unsigned count;
	const char *name[VALUES];
	uint64_t value[VALUES];
	bool wraps[VALUES];		       /* the value is modulo 2^32 */
	uint64_t latency[ADV_LATENCY_BUCKETS]; /* of a queue pair, modulo 2^32 */
};

/* The counters of one time. */
struct reading {
	uint64_t at; /* ns */
	struct counted *list;
	size_t count;
};

static void read_interval(struct argp_state *state, const char *option, const char *arg,
			  void *options)
{
	struct options *o = options;

	o->interval = adv_cli_seconds(state, option, arg, 0.01, LONGEST_SECONDS);
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (o->count && o->interval == 0)
		argp_error(state, "--count needs --interval");
}

static const struct adv_option option_table[] = {
	{"pid", 'p', "PID", "Show the counters of the queue pairs of this process",
	 ADV_OPTION_NUMBER(pid)},
	{"qp", 'q', "QPN", "Show the counters of this queue pair", ADV_OPTION_NUMBER(qpn)},
	{"interval", 'i', "SECONDS", "Repeat, and show rates since the last report",
	 .read = read_interval},
	{"count", 'c', "N", "With --interval: end after N reports", ADV_OPTION_NUMBER(count)},
	{"latency", 'l', NULL,
	 "Show how long send requests took from their post to their completion: of all programs, "
	 "of --pid, or of --qp",
	 ADV_OPTION_INTO(latency)},
	{"json", 'j', NULL, "Print JSON, one line for each report", ADV_OPTION_INTO(json)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Show the counters of the port, under the names that mlx5 and the kernel use, or "
		 "those of queue pairs. The programs are not stopped. The port's counters include "
		 "those of ended programs.",
	.check = check_options};

/* ---- reading ---- */

static void add_value(struct counted *c, const char *name, uint64_t value, bool wraps)
{
	if (c->count == VALUES)
		return;
	c->name[c->count] = name;
	c->value[c->count] = value;
	c->wraps[c->count++] = wraps;
}

static void count_port(struct counted *c, const struct adv_counters *sums)
{
	const char *name;
	uint64_t value;

	for (unsigned i = 0; (name = adv_hw_counter_of_port(sums, i, &value)); i++)
		add_value(c, name, value, false);
	for (unsigned i = 0; (name = adv_hw_counter(sums, i, &value)); i++)
		add_value(c, name, value, false);
}

static void count_qp(struct counted *c, const struct adv_object *qp)
{
	const struct adv_counters none = {.engine = {0}};
	const char *name;
	uint64_t value, ignored;

	c->qpn = qp->number;
	c->pid = qp->pid;
	add_value(c, "send_completed", qp->qp.send_done, true);
	if (!qp->qp.srq)
		add_value(c, "recv_completed", qp->qp.recv_done, true);
	for (unsigned i = 0; (name = adv_hw_counter(&none, i, &ignored)); i++)
		if (adv_hw_counter_of_qp(qp->qp.share, i, &value))
			add_value(c, name, value, true);
}

static bool read_qps(struct adv_control *control, const struct options *a, struct reading *r)
{
	struct adv_objects o, pieces = {0};
	uint64_t begin = adv_clock_ns();
	bool good = adv_objects_read(&o, control, ADV_RESOURCE_QP, a->pid);

	r->at = begin + (adv_clock_ns() - begin) / 2;
	good = good && adv_latencies_read(&pieces, control, a->pid);
	r->list = good ? calloc(o.count + 1, sizeof(*r->list)) : NULL;
	for (size_t i = 0; r->list && i < o.count; i++) {
		struct counted *c = &r->list[r->count];

		if (a->qpn && o.list[i].number != a->qpn)
			continue;
		count_qp(c, &o.list[i]);
		adv_latencies_of(&pieces, c->pid, c->qpn, c->latency);
		r->count++;
	}
	for (size_t i = 0; i < o.silent_count; i++)
		fprintf(stderr, "adverb stat: process %u does not answer: stopped or too busy\n",
			o.silent[i]);
	adv_objects_free(&o);
	adv_objects_free(&pieces);
	if (r->list && !r->count)
		fprintf(stderr, "adverb stat: no such queue pair; adverb res qp lists them\n");
	return r->list && r->count;
}

static bool read_port(struct adv_control *control, struct reading *r)
{
	struct adv_port_reading port;

	r->list = calloc(1, sizeof(*r->list));
	if (!r->list || adv_port_reading_take(control, &port)) {
		fprintf(stderr, "adverb stat: adverbd closed the connection\n");
		return false;
	}
	r->count = 1;
	r->at = port.at;
	count_port(r->list, &port.counters);
	return true;
}

/* Reads the counters that the arguments select. If it fails, prints an error. The caller frees
 * r->list in either case. */
static bool read_counters(struct adv_control *control, const struct options *a, struct reading *r)
{
	*r = (struct reading){.at = 0};
	return a->pid || a->qpn ? read_qps(control, a, r) : read_port(control, r);
}

/* ---- printing ---- */

static const struct counted *find_counted(const struct reading *r, uint32_t qpn)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].qpn == qpn)
			return &r->list[i];
	return NULL;
}

/* Returns how often counter i grew each second; 0: not known. */
static double rate_of(const struct reading *last, const struct reading *now,
		      const struct counted *c, unsigned i)
{
	const struct counted *was = find_counted(last, c->qpn);
	uint64_t grown;

	if (!was || i >= was->count || now->at <= last->at)
		return 0;
	grown = c->value[i] - was->value[i];
	if (c->wraps[i])
		grown = (uint32_t)grown;
	return (double)grown * SECOND_NS / (double)(now->at - last->at);
}

/* What is shown of a queue pair's latency. */
struct latency {
	uint64_t requests;
	uint64_t p50, p99; /* ns */
};

/* Returns the latency since the last reading; last NULL: since the creation of the QP. */
static struct latency latency_of(const struct reading *last, const struct counted *c)
{
	const struct counted *was = last ? find_counted(last, c->qpn) : NULL;
	uint64_t grown[ADV_LATENCY_BUCKETS];

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		grown[i] = (uint32_t)(c->latency[i] - (was ? was->latency[i] : 0));
	return (struct latency){adv_latency_count(grown), adv_latency_quantile(grown, 0.5),
				adv_latency_quantile(grown, 0.99)};
}

static void print_latency(struct latency l)
{
	char p50[ADV_DURATION_TEXT], p99[ADV_DURATION_TEXT];

	if (!l.requests)
		return;
	adv_duration_text(p50, l.p50);
	adv_duration_text(p99, l.p99);
	printf("  %-32s %16s\n  %-32s %16s\n", "latency p50", p50, "latency p99", p99);
}

static void print_table(const struct reading *last, const struct reading *now)
{
	for (size_t k = 0; k < now->count; k++) {
		const struct counted *c = &now->list[k];
		char command[ADV_COMMAND_TEXT];

		adv_object_command(c->pid, command);
		if (c->qpn)
			printf("queue pair 0x%06x of process %u (%s)\n", c->qpn, c->pid, command);
		else
			printf("adverb0 port 1\n");
		for (unsigned i = 0; i < c->count; i++) {
			printf("  %-32s %16" PRIu64, c->name[i], c->value[i]);
			if (last)
				printf(" %14.1f/s", rate_of(last, now, c, i));
			printf("\n");
		}
		if (c->qpn)
			print_latency(latency_of(last, c));
	}
}

static void add_latency(struct json_object *o, struct latency l)
{
	struct json_object *values = adv_json_add_object(o, "latency");

	adv_json_add_number(values, "requests", l.requests);
	adv_json_add_number(values, "p50_ns", l.p50);
	adv_json_add_number(values, "p99_ns", l.p99);
}

static struct json_object *counted_to_json(const struct reading *last, const struct reading *now,
					   const struct counted *c)
{
	struct json_object *o = adv_json_object(), *values, *rates;
	char command[ADV_COMMAND_TEXT];

	adv_json_add_text(o, "ifname", "adverb0");
	adv_json_add_number(o, "port", 1);
	if (c->qpn) {
		adv_object_command(c->pid, command);
		adv_json_add_number(o, "lqpn", c->qpn);
		adv_json_add_number(o, "pid", c->pid);
		adv_json_add_text(o, "comm", command);
	}
	if (c->qpn)
		add_latency(o, latency_of(last, c));
	values = adv_json_add_object(o, "counters");
	for (unsigned i = 0; i < c->count; i++)
		adv_json_add_number(values, c->name[i], c->value[i]);
	if (!last)
		return o;
	rates = adv_json_add_object(o, "rates");
	for (unsigned i = 0; i < c->count; i++)
		adv_json_add(rates, c->name[i], json_object_new_double(rate_of(last, now, c, i)));
	return o;
}

static void print_json(const struct reading *last, const struct reading *now)
{
	struct json_object *all = adv_json_array();

	for (size_t i = 0; i < now->count; i++)
		adv_json_append(all, counted_to_json(last, now, &now->list[i]));
	adv_json_print_line(stdout, all);
	printf("\n");
}

static void print_reading(const struct options *a, const struct reading *last,
			  const struct reading *now)
{
	if (a->json)
		print_json(last, now);
	else
		print_table(last, now);
	fflush(stdout);
}

/* ---- reports ---- */

static int report_once(struct adv_control *control, const struct options *a)
{
	struct reading r;
	bool good = read_counters(control, a, &r);

	if (good)
		print_reading(a, NULL, &r);
	free(r.list);
	return good ? 0 : ADV_EXIT_FAILED;
}

/* Prints a report after each interval, until --count is reached or a reading fails. */
static int report_repeatedly(struct adv_control *control, const struct options *a)
{
	const struct timespec pause = adv_clock_timespec((uint64_t)(a->interval * SECOND_NS));
	struct reading last, now;
	bool good = read_counters(control, a, &last);

	for (uint32_t i = 0; good && (!a->count || i < a->count); i++) {
		nanosleep(&pause, NULL);
		good = read_counters(control, a, &now);
		if (good)
			print_reading(a, &last, &now);
		free(last.list);
		last = now;
	}
	free(last.list);
	return good ? 0 : ADV_EXIT_FAILED;
}

int adv_stat_main(int argc, char **argv)
{
	struct options a = {0};
	struct adv_control *control;
	int status;

	if (!adv_command_read(&syntax, argc, argv, &a, NULL))
		return ADV_EXIT_USAGE;
	/* Starts adverbd if it does not run: it has the counters of ended programs. */
	control = adv_cli_connect(true);
	if (!control)
		return ADV_EXIT_FAILED;
	if (a.latency) {
		const struct adv_stat_latency l = {a.pid, a.qpn, (uint64_t)(a.interval * SECOND_NS),
						   a.count, a.json};

		status = adv_stat_latency(control, &l) ? 0 : ADV_EXIT_FAILED;
		adv_control_close(control);
		return status;
	}
	status = a.interval > 0 ? report_repeatedly(control, &a) : report_once(control, &a);
	adv_control_close(control);
	return status;
}
