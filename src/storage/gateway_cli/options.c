/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of the subcommands. The command adverb has them too: it checks them, and its
 * completions know them. */
#include "storage/gateway_cli/options.h"

#define PS_PER_MS	1000000000ull
#define TIMEOUT_LEAST	(10 * PS_PER_MS)
#define TIMEOUT_MOST	(86400000 * PS_PER_MS)
#define GATEWAY(member) ADV_OPTION_OF(struct adv_gateway_options, member)

static const struct adv_gateway_options defaults = {
	.listen = "0.0.0.0", .buffer_bytes = 64 << 20, .connections = 256, .timeout_ms = 60000};

static void read_timeout(struct argp_state *state, const char *option, const char *arg,
			 void *values)
{
	struct adv_gateway_options *o = values;

	o->timeout_ms = (unsigned)(adv_option_plain(state, option, ADV_UNIT_TIME, arg,
						    TIMEOUT_LEAST, TIMEOUT_MOST) /
				   PS_PER_MS);
}

static void check_server(struct argp_state *state, void *values)
{
	const struct adv_gateway_options *o = values;

	if (!o->to)
		argp_error(state, "--to HOST is missing");
}

static const struct adv_option nfs_options[] = {
	{"listen", 'l', "ADDRESS[:PORT]",
	 "Accept connections at this address (default 0.0.0.0; port 20049, with --reverse 2049)",
	 .value = ADV_VALUE_TEXT, GATEWAY(listen)},
	{"to", 0, "HOST[:PORT]", "The NFS server (default port 2049, with --reverse 20049)",
	 .value = ADV_VALUE_TEXT, GATEWAY(to)},
	{"timeout", 't', "TIME",
	 "Disconnect a client that takes no reply for this time, or sends nothing for six times as "
	 "long (default 60s)",
	 .read = read_timeout},
};

static const struct adv_option smb_options[] = {
	{"listen", 'l', "ADDRESS[:PORT]",
	 "Accept connections at this address (default 0.0.0.0, port 445)", .value = ADV_VALUE_TEXT,
	 GATEWAY(listen)},
	{"to", 0, "HOST[:PORT]", "The SMB server (default port 445)", .value = ADV_VALUE_TEXT,
	 GATEWAY(to)},
	{"timeout", 't', "TIME",
	 "Disconnect a client that takes no response or does not complete a message for this time, "
	 "or is silent for twice as long (default 60s)",
	 .read = read_timeout},
};

static const struct adv_option common_options[] = {
	{"reverse", 'r', NULL, "Accept TCP, and forward it to a server over RDMA",
	 GATEWAY(reverse)},
	{"buffers", 'm', "SIZE",
	 "Memory for large calls, and again for replies, on each device (default 64M)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_BYTES, .least = 8 << 20, .most = 64ull << 30,
	 GATEWAY(buffer_bytes)},
	{"connections", 'c', "N", "Accept at most N clients at the same time (default 256)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_COUNT, .least = 1, .most = 65536,
	 GATEWAY(connections)},
	{"control", 0, "NAME", "Name for 'adverb gateway stat' (default: the port of --listen)",
	 .value = ADV_VALUE_TEXT, GATEWAY(control)},
};

static const struct adv_options common = {ADV_OPTION_TABLE(common_options), .check = check_server};

const struct adv_options adv_gateway_nfs_syntax = {
	ADV_OPTION_TABLE(nfs_options),
	.about = "Accept NFS over RDMA, and forward it to an NFS server over TCP; or the other way "
		 "round.\vA client mounts with '-o proto=rdma,port=20049'. The server needs no "
		 "RDMA. With --reverse, the server needs RDMA, and the client does not.",
	.more = &common,
	.defaults = &defaults,
	.size = sizeof(defaults),
};

const struct adv_options adv_gateway_smb_syntax = {
	ADV_OPTION_TABLE(smb_options),
	.about = "Accept SMB Direct, and forward it to an SMB server over TCP; or the other way "
		 "round.\vA client mounts with 'mount -t cifs -o rdma'. The server needs no RDMA. "
		 "With --reverse, the server needs RDMA, and the client does not.",
	.more = &common,
	.defaults = &defaults,
	.size = sizeof(defaults),
};

/* --- stat --- */

static const struct adv_option stat_options[] = {
	{"control", 0, "NAME", "Name of the gateway (default: the only one)",
	 .value = ADV_VALUE_TEXT, ADV_OPTION_OF(struct adv_kit_stat_options, control)},
};

const struct adv_options adv_gateway_stat_syntax = {
	ADV_OPTION_TABLE(stat_options),
	.about = "Show what the clients and the server of a running gateway of the same user do: "
		 "calls and megabytes a second, and the mean time until the gateway has the "
		 "server's reply to a call.",
	.more = &adv_kit_stat_intervals,
	.defaults = &adv_kit_stat_defaults,
	.size = sizeof(adv_kit_stat_defaults),
};
