/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fabric status: prints the state of the emulator. */
#include "cli/fabric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/fabric_call.h"
#include "cli/json.h"

static const struct argp_option argp_options[] = {
	{"json", 'j', NULL, 0, "Write JSON", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case 'j':
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {argp_options,
				 parse_option,
				 NULL,
				 "Show the emulated fabric: hosts with programs, switches, and "
				 "whether virtual time follows the clock. Exit status 1: no fabric "
				 "runs here.",
				 NULL,
				 NULL,
				 NULL};

static uint64_t number(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? (uint64_t)json_object_get_int64(v) : 0;
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) ? v : NULL;
}

static void print_time(struct json_object *o)
{
	struct json_object *t = member(o, "time");

	printf("%s: process %" PRIu64 ", virtual time %.6f s, %" PRIu64 "/%" PRIu64
	       " of the clock\n",
	       json_object_get_string(member(o, "scenario")), number(o, "pid"),
	       (double)number(t, "virtual_ps") * 1e-12, number(t, "numerator"),
	       number(t, "denominator"));
	if (number(t, "slips"))
		printf("the emulator was too slow %" PRIu64 " times: it gave up %.3f ms, at most "
		       "%.3f ms at once\n",
		       number(t, "slips"), (double)number(t, "slipped_ns") * 1e-6,
		       (double)number(t, "worst_lag_ns") * 1e-6);
	if (number(o, "deadlock"))
		printf("DEADLOCK of %" PRIu64 " queues\n", number(o, "deadlock"));
}

static void print_hosts(struct json_object *o)
{
	struct json_object *hosts = member(o, "hosts");

	printf("%-6s %8s %14s %14s %10s %6s %8s %8s\n", "host", "programs", "tx bytes", "rx bytes",
	       "pauses", "paused", "refused", "lost");
	for (size_t i = 0; i < json_object_array_length(hosts); i++) {
		struct json_object *h = json_object_array_get_idx(hosts, i);

		printf("h%-5zu %8zu %14" PRIu64 " %14" PRIu64 " %10" PRIu64 " %6s %8" PRIu64
		       " %8" PRIu64 "\n",
		       i, json_object_array_length(member(h, "programs")), number(h, "tx_bytes"),
		       number(h, "rx_bytes"), number(h, "rx_pause"),
		       number(h, "paused") ? "yes" : "-", number(h, "tx_refused"),
		       number(h, "rx_overrun") + number(h, "rx_unclaimed"));
	}
}

static uint64_t sum_of_queues(struct json_object *port)
{
	struct json_object *queues = member(port, "queues");
	uint64_t sum = 0;

	for (size_t i = 0; i < json_object_array_length(queues); i++)
		sum += (uint64_t)json_object_get_int64(json_object_array_get_idx(queues, i));
	return sum;
}

static void print_switches(struct json_object *o)
{
	struct json_object *switches = member(o, "switches");

	printf("%-8s %12s %10s %10s %10s %8s %12s\n", "switch", "buffer", "marked", "dropped",
	       "tx pause", "storms", "longest port");
	for (size_t i = 0; i < json_object_array_length(switches); i++) {
		struct json_object *s = json_object_array_get_idx(switches, i);
		struct json_object *ports = member(s, "ports");
		uint64_t longest = 0;

		for (size_t k = 0; k < json_object_array_length(ports); k++) {
			uint64_t bytes = sum_of_queues(json_object_array_get_idx(ports, k));

			longest = bytes > longest ? bytes : longest;
		}
		printf("s%-7zu %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64
		       " %12" PRIu64 "\n",
		       i, number(s, "used"), number(s, "marked"), number(s, "dropped"),
		       number(s, "tx_pause"), number(s, "storms"), longest);
	}
}

int adv_fabric_status_main(int argc, char **argv)
{
	struct adv_port_message m = {.type = ADV_PORT_STATUS};
	int fd[ADV_FABRIC_CALL_FDS];
	struct json_object *o;
	bool json = false;

	if (adv_command_parse(&argp, argc, argv, 0, &json) != 0)
		return ADV_EXIT_USAGE;
	if (!adv_fabric_call("adverb fabric status", &m, -1, fd))
		return ADV_EXIT_FAILED;
	o = fd[0] >= 0 ? json_object_from_fd(fd[0]) : NULL;
	if (fd[0] >= 0)
		close(fd[0]);
	if (!o) {
		fprintf(stderr, "adverb fabric status: the state cannot be read\n");
		return ADV_EXIT_FAILED;
	}
	if (json) {
		adv_json_print(stdout, o);
		return 0;
	}
	print_time(o);
	print_hosts(o);
	print_switches(o);
	json_object_put(o);
	return 0;
}
