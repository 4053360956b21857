/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of the subcommands. The command adverb has them too: it checks them, and its
 * completions know them. */
#include "storage/gateway_cli/options.h"

#include <string.h>

#include "storage/kit/option_number.h"

enum {
	KEY_TO = 256,
	KEY_CONTROL,
	CONNECTIONS_DEFAULT = 256,
	CONNECTIONS_MOST = 65536,
	TIMEOUT_DEFAULT = 60000, /* ms */
};
#define PS_PER_MS	1000000000ull
#define TIMEOUT_LEAST	(10 * PS_PER_MS)
#define TIMEOUT_MOST	(86400000 * PS_PER_MS)
#define BUFFERS_DEFAULT (64ull << 20)
#define BUFFERS_LEAST	(8ull << 20)
#define BUFFERS_MOST	(64ull << 30)

static const struct argp_option nfs_options[] = {
	{"listen", 'l', "ADDRESS[:PORT]", 0,
	 "Accept connections at this address (default 0.0.0.0; port 20049, with --reverse 2049)",
	 0},
	{"to", KEY_TO, "HOST[:PORT]", 0, "The NFS server (default port 2049, with --reverse 20049)",
	 0},
	{"timeout", 't', "TIME", 0,
	 "Disconnect a client that takes no reply for this time, or sends nothing for six times as "
	 "long (default 60s)",
	 0},
	{0},
};

static const struct argp_option smb_options[] = {
	{"listen", 'l', "ADDRESS[:PORT]", 0,
	 "Accept connections at this address (default 0.0.0.0, port 445)", 0},
	{"to", KEY_TO, "HOST[:PORT]", 0, "The SMB server (default port 445)", 0},
	{"timeout", 't', "TIME", 0,
	 "Disconnect a client that takes no response or does not complete a message for this time, "
	 "or is silent for twice as long (default 60s)",
	 0},
	{0},
};

static const struct argp_option common_options[] = {
	{"reverse", 'r', NULL, 0, "Accept TCP, and forward it to a server over RDMA", 0},
	{"buffers", 'm', "SIZE", 0,
	 "Memory for large calls, and again for replies, on each device (default 64M)", 0},
	{"connections", 'c', "N", 0, "Accept at most N clients at the same time (default 256)", 0},
	{"control", KEY_CONTROL, "NAME", 0,
	 "Name for 'adverb gateway stat' (default: the port of --listen)", 0},
	{0},
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct adv_gateway_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->reverse = false;
		o->control = NULL;
		o->buffer_bytes = BUFFERS_DEFAULT;
		o->connections = CONNECTIONS_DEFAULT;
		return 0;
	case 'r':
		o->reverse = true;
		return 0;
	case KEY_CONTROL:
		o->control = arg;
		return 0;
	case 'm':
		o->buffer_bytes = adv_kit_option_number(state, ADV_UNIT_BYTES, arg, BUFFERS_LEAST,
							BUFFERS_MOST);
		return 0;
	case 'c':
		o->connections = (unsigned)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1,
								 CONNECTIONS_MOST);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child children[] = {{&common, 0, NULL, 0}, {0}};

static error_t parse_gateway_option(int key, char *arg, struct argp_state *state)
{
	struct adv_gateway_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->listen = "0.0.0.0";
		o->to = NULL;
		o->timeout_ms = TIMEOUT_DEFAULT;
		state->child_inputs[0] = o;
		return 0;
	case 'l':
		o->listen = arg;
		return 0;
	case KEY_TO:
		o->to = arg;
		return 0;
	case 't':
		o->timeout_ms = (unsigned)(adv_kit_option_number(state, ADV_UNIT_TIME, arg,
								 TIMEOUT_LEAST, TIMEOUT_MOST) /
					   PS_PER_MS);
		return 0;
	case ARGP_KEY_END:
		if (!o->to)
			argp_error(state, "--to HOST is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp adv_gateway_nfs_argp = {
	nfs_options,
	parse_gateway_option,
	NULL,
	"Accept NFS over RDMA, and forward it to an NFS server over TCP; or the other way round.\v"
	"A client mounts with '-o proto=rdma,port=20049'. The server needs no RDMA. With "
	"--reverse, the server needs RDMA, and the client does not.",
	children,
	NULL,
	NULL};

const struct argp adv_gateway_smb_argp = {
	smb_options,
	parse_gateway_option,
	NULL,
	"Accept SMB Direct, and forward it to an SMB server over TCP; or the other way round.\v"
	"A client mounts with 'mount -t cifs -o rdma'. The server needs no RDMA. With "
	"--reverse, the server needs RDMA, and the client does not.",
	children,
	NULL,
	NULL};

/* --- stat --- */

static const struct argp_option stat_options[] = {
	{"control", ADV_KIT_STAT_CONTROL, "NAME", 0, "Name of the gateway (default: the only one)",
	 0},
	{"interval", 'i', "SECONDS", 0, "Time of which the rates are (default 1)", 0},
	{"count", 'n', "N", 0, "Print rates N times (default 1)", 0},
	{"output-format", 'o', "FORMAT", 0,
	 "normal, or json: counts since the start of the gateway", 0},
	{0},
};

const struct argp adv_gateway_stat_argp = {
	stat_options,
	adv_kit_stat_parse,
	NULL,
	"Show what the clients and the server of a running gateway of the same user do: calls and "
	"megabytes a second, and the mean time until the gateway has the server's reply to a call.",
	NULL,
	NULL,
	NULL};
