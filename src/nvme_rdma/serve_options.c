/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of adverb nvme serve. The command adverb has them too: it checks them, and its
 * completions know them. */
#include <argp.h>
#include <string.h>

#include "nvme_rdma/option_number.h"
#include "nvme_rdma/options.h"

enum { WORKERS_MAX = 64, BUFFERS_MIN = 4 << 20 };
#define DEFAULT_NQN	"nqn.2026-01.org.adverb:disk"
#define DEFAULT_BUFFERS (64u << 20)

static const struct argp_option argp_options[] = {
	{"listen", 'l', "ADDRESS[:PORT]", 0,
	 "Listen at this address; may be repeated (default 0.0.0.0:" ADV_NVME_PORT ")", 0},
	{"subsystem", 's', "NQN", 0, "Name of the subsystem (default " DEFAULT_NQN ")", 0},
	{"namespace", 'n', "FILE|DEVICE|ram:SIZE", 0,
	 "Serve a file, a block device, or memory; may be repeated", 0},
	{"allow-host", 'a', "NQN", 0, "Allow only the named hosts; may be repeated", 0},
	{"read-only", 'r', NULL, 0, "Refuse writes", 0},
	{"workers", 'w', "NUMBER", 0, "Threads that serve queues (default 1)", 0},
	{"block-size", 'b', "BYTES", 0, "512 or 4096 (default 4096)", 0},
	{"buffers", 'm', "SIZE", 0, "Memory for data of each worker (default 64MiB)", 0},
	{0},
};

static void add(struct argp_state *state, const char **list, unsigned *count, const char *arg)
{
	/* argp_error() returns if ARGP_NO_EXIT is set. */
	if (*count >= ADV_NVME_LIST_ARGS)
		argp_error(state, "too many arguments like '%s'", arg);
	else
		list[(*count)++] = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_serve_options *o = state->input;
	uint64_t size;

	switch (key) {
	case 'l':
		add(state, o->listen, &o->config.listen_count, arg);
		return 0;
	case 's':
		o->config.nqn = arg;
		return 0;
	case 'n':
		add(state, o->namespaces, &o->config.namespace_count, arg);
		return 0;
	case 'a':
		add(state, o->hosts, &o->config.host_count, arg);
		return 0;
	case 'r':
		o->config.read_only = true;
		return 0;
	case 'w':
		o->config.workers = (unsigned)adv_nvme_option_number(state, ADV_UNIT_COUNT, arg, 1,
								     WORKERS_MAX);
		return 0;
	case 'b':
		size = adv_nvme_option_number(state, ADV_UNIT_BYTES, arg, 512, 4096);
		if (size != 512 && size != 4096)
			argp_error(state, "--block-size: '%s' is neither 512 nor 4096", arg);
		o->config.block_shift = size == 512 ? 9 : 12;
		return 0;
	case 'm':
		o->config.buffer_bytes = (size_t)adv_nvme_option_number(state, ADV_UNIT_BYTES, arg,
									BUFFERS_MIN, UINT32_MAX);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; a namespace: --namespace %s", arg,
			   arg);
		return 0;
	case ARGP_KEY_INIT:
		memset(o, 0, sizeof(*o));
		o->config = (struct adv_nvme_server_config){.nqn = DEFAULT_NQN,
							    .workers = 1,
							    .block_shift = 12,
							    .buffer_bytes = DEFAULT_BUFFERS,
							    .listen = o->listen,
							    .namespaces = o->namespaces,
							    .hosts = o->hosts};
		return 0;
	case ARGP_KEY_END:
		if (o->config.listen_count == 0)
			o->listen[o->config.listen_count++] = "0.0.0.0";
		if (o->config.namespace_count == 0)
			argp_error(state, "no namespace: give --namespace FILE or ram:SIZE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp adv_nvme_serve_argp = {
	argp_options, parse_option,
	NULL,	      "Serve files, block devices or memory to NVMe over Fabrics hosts, over RDMA.",
	NULL,	      NULL,
	NULL};
