/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fabric status and top: print the state of the emulator. */
#include "cli/fabric/fabric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/fabric/call.h"
#include "cli/command/json.h"

static const char about[] = "Show the emulated fabric: hosts with programs, switches, and whether "
			    "virtual time follows the clock. Exit status 1: no fabric runs here.";

static uint64_t get_u64(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? (uint64_t)json_object_get_int64(v) : 0;
}

static struct json_object *get_member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) ? v : NULL;
}

static void print_time(struct json_object *o)
{
	struct json_object *t = get_member(o, "time");

	printf("%s: process %" PRIu64 ", virtual time %.6f s, %" PRIu64 "/%" PRIu64
	       " of the clock\n",
	       json_object_get_string(get_member(o, "scenario")), get_u64(o, "pid"),
	       (double)get_u64(t, "virtual_ps") * 1e-12, get_u64(t, "numerator"),
	       get_u64(t, "denominator"));
	if (get_u64(t, "slips"))
		printf("the emulator was too slow %" PRIu64
		       " times: it gave up %.3f ms, at most %.3f ms at once\n",
		       get_u64(t, "slips"), (double)get_u64(t, "slipped_ns") * 1e-6,
		       (double)get_u64(t, "worst_lag_ns") * 1e-6);
	if (get_u64(o, "deadlock"))
		printf("DEADLOCK of %" PRIu64 " queues\n", get_u64(o, "deadlock"));
}

static void print_hosts(struct json_object *o)
{
	struct json_object *hosts = get_member(o, "hosts");

	printf("%-6s %8s %14s %14s %10s %6s %8s %8s\n", "host", "programs", "tx bytes", "rx bytes",
	       "pauses", "paused", "refused", "lost");
	for (size_t i = 0; i < json_object_array_length(hosts); i++) {
		struct json_object *h = json_object_array_get_idx(hosts, i);

		printf("h%-5zu %8zu %14" PRIu64 " %14" PRIu64 " %10" PRIu64 " %6s %8" PRIu64
		       " %8" PRIu64 "\n",
		       i, json_object_array_length(get_member(h, "programs")),
		       get_u64(h, "tx_bytes"), get_u64(h, "rx_bytes"), get_u64(h, "rx_pause"),
		       get_u64(h, "paused") ? "yes" : "-", get_u64(h, "tx_refused"),
		       get_u64(h, "rx_overrun") + get_u64(h, "rx_unclaimed"));
	}
}

static uint64_t sum_of_queues(struct json_object *port)
{
	struct json_object *queues = get_member(port, "queues");
	uint64_t sum = 0;

	for (size_t i = 0; i < json_object_array_length(queues); i++)
		sum += (uint64_t)json_object_get_int64(json_object_array_get_idx(queues, i));
	return sum;
}

static void print_switches(struct json_object *o)
{
	struct json_object *switches = get_member(o, "switches");

	printf("%-8s %12s %10s %10s %10s %8s %12s\n", "switch", "buffer", "marked", "dropped",
	       "tx pause", "storms", "longest port");
	for (size_t i = 0; i < json_object_array_length(switches); i++) {
		struct json_object *s = json_object_array_get_idx(switches, i);
		struct json_object *ports = get_member(s, "ports");
		uint64_t longest = 0;

		for (size_t k = 0; k < json_object_array_length(ports); k++) {
			uint64_t bytes = sum_of_queues(json_object_array_get_idx(ports, k));

			longest = bytes > longest ? bytes : longest;
		}
		printf("s%-7zu %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64
		       " %12" PRIu64 "\n",
		       i, get_u64(s, "used"), get_u64(s, "marked"), get_u64(s, "dropped"),
		       get_u64(s, "tx_pause"), get_u64(s, "storms"), longest);
	}
}

/* Prints what disturbs cables, if anything does. */
static void print_cables(struct json_object *o)
{
	struct json_object *cables = get_member(o, "cables");

	for (size_t i = 0; i < json_object_array_length(cables); i++) {
		struct json_object *c = json_object_array_get_idx(cables, i);
		char delay[ADV_UNITS_TEXT];

		printf("cable %s to %s: drops %.4g %%, damages %.4g %%, delays by %s; %" PRIu64
		       " FCS errors\n",
		       json_object_get_string(get_member(c, "cable")),
		       json_object_get_string(get_member(c, "to")),
		       (double)get_u64(c, "drop_per_million") * 1e-4,
		       (double)get_u64(c, "corrupt_per_million") * 1e-4,
		       adv_units_print(ADV_UNIT_TIME, get_u64(c, "delay_ps"), delay),
		       get_u64(c, "fcs_errors"));
	}
}

/* Fetches the state. NULL: failed, with a message. */
static struct json_object *fetch_state(const char *who)
{
	struct adv_port_message m = {.type = ADV_PORT_STATUS};
	int fd[ADV_CALL_FDS];
	struct json_object *o;

	if (!adv_call_fabric(who, &m, -1, fd))
		return NULL;
	o = fd[0] >= 0 ? json_object_from_fd(fd[0]) : NULL;
	if (fd[0] >= 0)
		close(fd[0]);
	if (!o)
		fprintf(stderr, "%s: the state cannot be read\n", who);
	return o;
}

int adv_fabric_status_main(int argc, char **argv)
{
	struct json_object *o;
	bool json = false;

	if (!adv_command_read_json(about, argc, argv, &json))
		return ADV_EXIT_USAGE;
	o = fetch_state("adverb fabric status");
	if (!o)
		return ADV_EXIT_FAILED;
	if (json) {
		adv_json_print(stdout, o);
		return 0;
	}
	print_time(o);
	print_hosts(o);
	print_switches(o);
	print_cables(o);
	json_object_put(o);
	return 0;
}

/* ---- top ---- */

struct options {
	double delay; /* s */
	uint32_t count;
};

static void read_delay(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	o->delay = adv_cli_seconds(state, option, arg, 0.1, 3600);
}

static const struct adv_option top_options[] = {
	{"delay", 'd', "SECONDS", "Time between two screens (default 1)", .read = read_delay},
	{"count", 'n', "N", "End after N screens", ADV_OPTION_NUMBER(count)},
};

static const struct adv_options top_syntax = {
	ADV_OPTION_TABLE(top_options),
	.about = "Show the load of each cable, and queues, pauses and deadlocks of the emulated "
		 "fabric, again and again. A rate is in percent of the cable's speed."};

/* Returns the load of a cable in percent: `bytes` in the virtual time between two states. */
static double load_of(struct json_object *before, struct json_object *now, uint64_t bytes,
		      uint64_t ps_per_byte)
{
	uint64_t from = get_u64(get_member(before, "time"), "virtual_ps");
	uint64_t to = get_u64(get_member(now, "time"), "virtual_ps");

	return to > from ? 100.0 * (double)bytes * (double)ps_per_byte / (double)(to - from) : 0;
}

static void show_port(struct json_object *before, struct json_object *now, size_t sw, size_t port,
		      struct json_object *old, struct json_object *p)
{
	uint64_t sent = get_u64(p, "tx_bytes") - get_u64(old, "tx_bytes");
	uint64_t pauses = get_u64(p, "pauses") - get_u64(old, "pauses"), queued = sum_of_queues(p);

	if (!sent && !queued && !get_u64(p, "paused"))
		return;
	printf("s%zu:%-5zu %7.1f %% %12" PRIu64 " %8" PRIu64 " %s\n", sw, port,
	       load_of(before, now, sent, get_u64(p, "ps_per_byte")), queued, pauses,
	       get_u64(p, "paused") ? "paused" : "");
}

static void show_screen(struct json_object *before, struct json_object *now)
{
	struct json_object *olds = get_member(before, "switches"),
			   *news = get_member(now, "switches");

	if (isatty(STDOUT_FILENO))
		printf("\033[H\033[J");
	print_time(now);
	printf("%-8s %9s %12s %8s\n", "port", "load", "queue", "pauses");
	for (size_t i = 0; i < json_object_array_length(news); i++) {
		struct json_object *ports = get_member(json_object_array_get_idx(news, i), "ports");
		struct json_object *old = get_member(json_object_array_get_idx(olds, i), "ports");

		for (size_t k = 0; k < json_object_array_length(ports); k++)
			show_port(before, now, i, k, json_object_array_get_idx(old, k),
				  json_object_array_get_idx(ports, k));
	}
	fflush(stdout);
}

int adv_fabric_top_main(int argc, char **argv)
{
	struct options o = {.delay = 1, .count = UINT32_MAX};
	struct json_object *before, *now;

	if (!adv_command_read(&top_syntax, argc, argv, &o, NULL))
		return ADV_EXIT_USAGE;
	before = fetch_state("adverb fabric top");
	while (before && o.count--) {
		usleep((useconds_t)(o.delay * 1e6));
		now = fetch_state("adverb fabric top");
		if (now)
			show_screen(before, now);
		json_object_put(before);
		before = now;
		if (ferror(stdout))
			break;
	}
	if (!before)
		return ADV_EXIT_FAILED;
	json_object_put(before);
	return 0;
}
