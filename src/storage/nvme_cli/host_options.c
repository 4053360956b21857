/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of the commands of the host, named as those of nvme-cli and fio. */
#include <argp.h>
#include <string.h>

#include "storage/kit/option_number.h"
#include "storage/nvme_server/options.h"

enum { QUEUES_MAX = 128, DEPTH_MAX = 1024, BLOCK_MAX = 1 << 20 };
enum {
	KEY_OFFSET = 256,
	KEY_LENGTH,
	KEY_SEED,
	KEY_WRITES,
	KEY_SEQUENTIAL,
	KEY_LOSS,
	KEY_INVALIDATE
};

/* --- for all commands --- */

static void set_defaults(struct adv_nvme_host_options *o)
{
	memset(o, 0, sizeof(*o));
	o->port = ADV_NVME_PORT;
	o->nsid = 1;
	o->queues = 1;
	o->depth = 32;
	o->block = 4096;
	o->seconds = 5;
	o->seed = 1;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_host_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		set_defaults(o);
		return 0;
	case 't':
		if (strcmp(arg, "rdma") != 0)
			argp_error(state, "--transport: '%s' is not rdma", arg);
		return 0;
	case 'a':
		o->address = arg;
		return 0;
	case 's':
		o->port = arg;
		return 0;
	case 'q':
		o->host_nqn = arg;
		return 0;
	case 'o':
		o->json = adv_kit_option_json(state, arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->address)
			argp_error(state, "no address of a target: give --traddr ADDRESS");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option common_options[] = {
	{"transport", 't', "rdma", 0, "The transport; only rdma", 0},
	{"traddr", 'a', "ADDRESS", 0, "Address of the target", 0},
	{"trsvcid", 's', "PORT", 0, "Port of the target (default " ADV_NVME_PORT ")", 0},
	{"hostnqn", 'q', "NQN", 0, "Name of this host (default: from /etc/machine-id)", 0},
	{"output-format", 'o', "FORMAT", 0, "normal or json", 0},
	{0},
};

static const struct argp common = {common_options, parse_common, NULL, NULL, NULL, NULL, NULL};

/* --- with a namespace --- */

static error_t parse_namespace(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_host_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case 'n':
		o->nqn = arg;
		return 0;
	case 'N':
		o->nsid = (uint32_t)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1,
							  UINT32_MAX - 1);
		return 0;
	case ARGP_KEY_END:
		if (!o->nqn)
			argp_error(state, "no subsystem: give --nqn NQN (adverb nvme discover)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option namespace_options[] = {
	{"nqn", 'n', "NQN", 0, "Name of the subsystem", 0},
	{"namespace-id", 'N', "NUMBER", 0, "Namespace (default 1)", 0},
	{0},
};

static const struct argp_child common_child[] = {{&common, 0, NULL, 0}, {0}};
static const struct argp namespaced = {
	namespace_options, parse_namespace, NULL, NULL, common_child, NULL, NULL};

/* --- with I/O --- */

static error_t parse_io(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_host_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case 'i':
		o->queues =
			(uint16_t)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, QUEUES_MAX);
		return 0;
	case 'Q':
		o->depth =
			(uint16_t)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, DEPTH_MAX);
		return 0;
	case 'b':
		o->block =
			(uint32_t)adv_kit_option_number(state, ADV_UNIT_BYTES, arg, 512, BLOCK_MAX);
		return 0;
	case KEY_OFFSET:
		o->offset = adv_kit_option_number(state, ADV_UNIT_BYTES, arg, 0, INT64_MAX);
		return 0;
	case KEY_LENGTH:
		o->length = adv_kit_option_number(state, ADV_UNIT_BYTES, arg, 512, INT64_MAX);
		return 0;
	case KEY_INVALIDATE:
		o->invalidate = true;
		return 0;
	case KEY_LOSS:
		o->loss_seconds =
			(unsigned)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 0, 86400);
		return 0;
	case KEY_SEED:
		o->seed = adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 0, INT64_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option io_options[] = {
	{"nr-io-queues", 'i', "NUMBER", 0, "I/O queues (default 1)", 0},
	{"queue-depth", 'Q', "NUMBER", 0, "Commands under way in each queue (default 32)", 0},
	{"block-size", 'b', "SIZE", 0, "Bytes of a command (default 4K)", 0},
	{"offset", KEY_OFFSET, "SIZE", 0, "Begin at this byte of the namespace", 0},
	{"size", KEY_LENGTH, "SIZE", 0, "Bytes to use (default: to the end)", 0},
	{"ctrl-loss-tmo", KEY_LOSS, "SECONDS", 0,
	 "After a loss, reconnect for so long and repeat the commands under way (default 0: fail)",
	 0},
	{"invalidate", KEY_INVALIDATE, NULL, 0,
	 "Give the target a key for the data of each command, which its response invalidates", 0},
	{"seed", KEY_SEED, "NUMBER", 0, "Seed of data and offsets (default 1)", 0},
	{0},
};

static const struct argp_child namespaced_child[] = {{&namespaced, 0, NULL, 0}, {0}};
static const struct argp io = {io_options, parse_io, NULL, NULL, namespaced_child, NULL, NULL};
static const struct argp_child io_child[] = {{&io, 0, NULL, 0}, {0}};

/* --- the commands --- */

/* Gives the input to the child, and refuses arguments. */
static error_t parse_plain(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_copy(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_host_options *o = state->input;

	if (key != ARGP_KEY_ARG || o->file)
		return parse_plain(key, arg, state);
	o->file = arg;
	return 0;
}

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_host_options *o = state->input;

	switch (key) {
	case 'T':
		o->seconds = adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, 86400);
		return 0;
	case KEY_WRITES:
		o->writes = (unsigned)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 0, 100);
		return 0;
	case KEY_SEQUENTIAL:
		o->sequential = true;
		return 0;
	default:
		return parse_plain(key, arg, state);
	}
}

static const struct argp_option bench_options[] = {
	{"runtime", 'T', "SECONDS", 0, "Duration (default 5)", 0},
	{"rwmixwrite", KEY_WRITES, "PERCENT", 0,
	 "Writes, which destroy the data of the namespace (default 0)", 0},
	{"sequential", KEY_SEQUENTIAL, NULL, 0, "Offsets in order (default: at random)", 0},
	{0},
};

const struct argp adv_nvme_discover_argp = {
	NULL, parse_plain, NULL, "List the subsystems of a target.", common_child, NULL, NULL};
const struct argp adv_nvme_identify_argp = {
	NULL, parse_plain, NULL, "Show a controller and a namespace.", namespaced_child,
	NULL, NULL};
const struct argp adv_nvme_read_argp = {
	NULL,	  parse_copy, "[FILE]", "Read a namespace to a file, or to standard output.",
	io_child, NULL,	      NULL};
const struct argp adv_nvme_write_argp = {
	NULL,
	parse_copy,
	"[FILE]",
	"Write a file, or standard input, to a namespace, and flush it. The data before is lost.",
	io_child,
	NULL,
	NULL};
const struct argp adv_nvme_verify_argp = {NULL,
					  parse_plain,
					  NULL,
					  "Write blocks with contents that depend on the seed and "
					  "the offset, flush, read them again and "
					  "compare. The data before is lost.",
					  io_child,
					  NULL,
					  NULL};
const struct argp adv_nvme_bench_argp = {
	bench_options, parse_bench, NULL, "Measure commands a second, throughput and latency.",
	io_child,      NULL,	    NULL};
