/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: the command. */
#include "cli/doctor/doctor.h"

#include <argp.h>

#include "cli/command/command.h"
#include "cli/command/json.h"

struct options {
	const char *peer;
	bool json;
};

static const struct argp_option argp_options[] = {
	{"peer", 'p', "ADDRESS", 0, "Also send to this machine", 0},
	{"json", 'j', NULL, 0, "Write JSON", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'p':
		o->peer = arg;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; for another machine: --peer %s", arg,
			   arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Check this machine, and the way to another one, and say what to do: versions, limits, "
	"permissions, features of the kernel, adverbd, UDP port 4791, addresses, MTU, and a "
	"request "
	"to the connection manager of this machine and of the peer. Exit status 1: programs would "
	"fail.",
	NULL,
	NULL,
	NULL};

int adv_doctor_main(int argc, char **argv)
{
	struct options o = {0};
	struct adv_doctor d = {.findings = NULL};
	struct json_object *top;

	if (adv_command_parse(&argp, argc, argv, 0, &o) != 0)
		return ADV_EXIT_USAGE;
	if (o.json)
		d.findings = adv_json_array();
	adv_doctor_check_machine(&d);
	adv_doctor_check_network(&d);
	adv_doctor_check_exchange(&d, o.peer);
	if (o.json) {
		top = adv_json_object();
		adv_json_add_number(top, "bad", d.bad);
		adv_json_add_number(top, "slow", d.slow);
		adv_json_add(top, "findings", d.findings);
		adv_json_print(stdout, top);
	} else {
		printf("%u bad, %u slow\n", d.bad, d.slow);
	}
	return d.bad ? ADV_EXIT_FAILED : 0;
}
