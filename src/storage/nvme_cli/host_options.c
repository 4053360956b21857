/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of the commands of the host, named as those of nvme-cli and fio. */
#include <string.h>

#include "storage/nvme_server/options.h"

enum { QUEUES_MAX = 128, DEPTH_MAX = 1024, BLOCK_MAX = 1 << 20 };

#define TEXT(member)  .value = ADV_VALUE_TEXT, HOST(member)
#define COUNT(member) .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_COUNT, HOST(member)
#define BYTES(member) .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_BYTES, HOST(member)
#define HOST(member)  ADV_OPTION_OF(struct adv_nvme_host_options, member)

static const struct adv_nvme_host_options defaults = {.port = ADV_NVME_PORT,
						      .nsid = 1,
						      .queues = 1,
						      .depth = 32,
						      .block = 4096,
						      .seconds = 5,
						      .seed = 1};

/* --- for all commands --- */

static void check_transport(struct argp_state *state, const char *option, const char *arg,
			    void *values)
{
	if (strcmp(arg, "rdma") != 0)
		argp_error(state, "%s: '%s' is not rdma", option, arg);
}

static void read_format(struct argp_state *state, const char *option, const char *arg, void *values)
{
	struct adv_nvme_host_options *o = values;

	o->json = adv_kit_option_json(state, option, arg);
}

static void check_address(struct argp_state *state, void *values)
{
	const struct adv_nvme_host_options *o = values;

	if (!o->address)
		argp_error(state, "no address of a target: give --traddr ADDRESS");
}

static const struct adv_option common_options[] = {
	{"transport", 't', "rdma", "The transport; only rdma", .read = check_transport},
	{"traddr", 'a', "ADDRESS", "Address of the target", TEXT(address)},
	{"trsvcid", 's', "PORT", "Port of the target (default " ADV_NVME_PORT ")", TEXT(port)},
	{"hostnqn", 'q', "NQN", "Name of this host (default: from /etc/machine-id)",
	 TEXT(host_nqn)},
	{"output-format", 'o', "FORMAT", "normal or json", .read = read_format},
};

static const struct adv_options common = {ADV_OPTION_TABLE(common_options), .check = check_address};

/* --- with a namespace --- */

static void check_subsystem(struct argp_state *state, void *values)
{
	const struct adv_nvme_host_options *o = values;

	if (!o->nqn)
		argp_error(state, "no subsystem: give --nqn NQN (adverb nvme discover)");
}

static const struct adv_option namespace_options[] = {
	{"nqn", 'n', "NQN", "Name of the subsystem", TEXT(nqn)},
	{"namespace-id", 'N', "NUMBER", "Namespace (default 1)", .least = 1, .most = UINT32_MAX - 1,
	 COUNT(nsid)},
};

static const struct adv_options namespaced = {ADV_OPTION_TABLE(namespace_options),
					      .check = check_subsystem, .more = &common};

/* --- with I/O --- */

static const struct adv_option io_options[] = {
	{"nr-io-queues", 'i', "NUMBER", "I/O queues (default 1)", .least = 1, .most = QUEUES_MAX,
	 COUNT(queues)},
	{"queue-depth", 'Q', "NUMBER", "Commands under way in each queue (default 32)", .least = 1,
	 .most = DEPTH_MAX, COUNT(depth)},
	{"block-size", 'b', "SIZE", "Bytes of a command (default 4K)", .least = 512,
	 .most = BLOCK_MAX, BYTES(block)},
	{"offset", 0, "SIZE", "Begin at this byte of the namespace", .most = INT64_MAX,
	 BYTES(offset)},
	{"size", 0, "SIZE", "Bytes to use (default: to the end)", .least = 512, .most = INT64_MAX,
	 BYTES(length)},
	{"ctrl-loss-tmo", 0, "SECONDS",
	 "After a loss, reconnect for so long and repeat the commands under way (default 0: fail)",
	 .most = 86400, COUNT(loss_seconds)},
	{"invalidate", 0, NULL,
	 "Give the target a key for the data of each command, which its response invalidates",
	 HOST(invalidate)},
	{"seed", 0, "NUMBER", "Seed of data and offsets (default 1)", .most = INT64_MAX,
	 COUNT(seed)},
};

static const struct adv_options io = {ADV_OPTION_TABLE(io_options), .more = &namespaced};

/* --- the commands --- */

static const struct adv_option bench_options[] = {
	{"runtime", 'T', "SECONDS", "Duration (default 5)", .least = 1, .most = 86400,
	 COUNT(seconds)},
	{"rwmixwrite", 0, "PERCENT", "Writes, which destroy the data of the namespace (default 0)",
	 .most = 100, COUNT(writes)},
	{"sequential", 0, NULL, "Offsets in order (default: at random)", HOST(sequential)},
};

#define DEFAULTS  .defaults = &defaults, .size = sizeof(defaults)
#define WITH_FILE .args = "[FILE]", .file = offsetof(struct adv_nvme_host_options, file), DEFAULTS

const struct adv_options adv_nvme_discover_syntax = {
	.about = "List the subsystems of a target.", .more = &common, DEFAULTS};
const struct adv_options adv_nvme_identify_syntax = {
	.about = "Show a controller and a namespace.", .more = &namespaced, DEFAULTS};
const struct adv_options adv_nvme_read_syntax = {
	.about = "Read a namespace to a file, or to standard output.", .more = &io, WITH_FILE};
const struct adv_options adv_nvme_write_syntax = {
	.about = "Write a file, or standard input, to a namespace, and flush it. The data before "
		 "is lost.",
	.more = &io,
	WITH_FILE};
const struct adv_options adv_nvme_verify_syntax = {
	.about = "Write blocks with contents that depend on the seed and the offset, flush, read "
		 "them again and compare. The data before is lost.",
	.more = &io,
	DEFAULTS};
const struct adv_options adv_nvme_bench_syntax = {
	ADV_OPTION_TABLE(bench_options),
	.about = "Measure commands a second, throughput and latency.", .more = &io, DEFAULTS};
