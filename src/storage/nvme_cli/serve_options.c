/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of adverb nvme serve, add, remove and stat. The command adverb has them too: it
 * checks them, and its completions know them. */
#include "storage/nvme_server/config.h"
#include "storage/nvme_server/options.h"

#define DEFAULT_NQN "nqn.2026-01.org.adverb:disk"

/* --- of a namespace --- */

#define NAMESPACE(member) ADV_OPTION_OF(struct adv_nvme_namespace_options, member)

static void read_block_size(struct argp_state *state, const char *option, const char *arg,
			    void *values)
{
	struct adv_nvme_namespace_options *o = values;
	uint64_t size = adv_option_plain(state, option, ADV_UNIT_BYTES, arg, 512, 4096);

	if (size != 512 && size != 4096)
		argp_error(state, "%s: '%s' is neither 512 nor 4096", option, arg);
	o->block_shift = size == 512 ? 9 : 12;
}

static void set_block_size(struct argp_state *state, void *values)
{
	struct adv_nvme_namespace_options *o = values;

	if (!o->block_shift)
		o->block_shift = 12;
}

static const struct adv_option namespace_options[] = {
	{"read-only", 'r', NULL, "Refuse writes", NAMESPACE(read_only)},
	{"block-size", 'b', "BYTES", "512 or 4096 (default 4096)", .read = read_block_size},
	{"buffered", 0, NULL,
	 "Use the page cache; by default, files with blocks of 4096 bytes are opened with O_DIRECT "
	 "if the file system permits it",
	 NAMESPACE(buffered)},
};

static const struct adv_options namespace = {ADV_OPTION_TABLE(namespace_options),
					     .check = set_block_size};

/* --- serve --- */

#define SERVE(member) ADV_OPTION_OF(struct adv_nvme_serve_options, member)

static void add_argument(struct argp_state *state, struct adv_nvme_list *list, const char *arg)
{
	if (list->count >= ADV_NVME_LIST_ARGS)
		argp_error(state, "too many arguments like '%s'", arg);
	list->at[list->count++] = arg;
}

static void add_listen(struct argp_state *state, const char *option, const char *arg, void *values)
{
	add_argument(state, &((struct adv_nvme_serve_options *)values)->listen, arg);
}

static void add_namespace(struct argp_state *state, const char *option, const char *arg,
			  void *values)
{
	add_argument(state, &((struct adv_nvme_serve_options *)values)->namespaces, arg);
}

static void add_host(struct argp_state *state, const char *option, const char *arg, void *values)
{
	add_argument(state, &((struct adv_nvme_serve_options *)values)->hosts, arg);
}

static void add_referral(struct argp_state *state, const char *option, const char *arg,
			 void *values)
{
	add_argument(state, &((struct adv_nvme_serve_options *)values)->referrals, arg);
}

static const struct adv_option serve_options[] = {
	{"config", 'c', "FILE",
	 "Read the subsystems from a file; --listen, --referral, --workers, --buffers, "
	 "--address-share and --control replace its values",
	 .value = ADV_VALUE_TEXT, SERVE(file)},
	{"listen", 'l', "ADDRESS[:PORT]",
	 "Listen at this address; may be repeated (default 0.0.0.0:" ADV_NVME_PORT ")",
	 .read = add_listen},
	{"subsystem", 's', "NQN", "Name of the subsystem (default " DEFAULT_NQN ")",
	 .value = ADV_VALUE_TEXT, SERVE(nqn)},
	{"namespace", 'n', "FILE|DEVICE|ram:SIZE",
	 "Serve a file, a block device, or memory; may be repeated", .read = add_namespace},
	{"allow-host", 'a', "NQN", "Allow only the named hosts; may be repeated", .read = add_host},
	{"referral", 0, "ADDRESS[:PORT]",
	 "Refer hosts to the discovery service of another target; may be repeated",
	 .read = add_referral},
	{"workers", 'w', "NUMBER", "Threads that serve queues (default 1)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_COUNT, .least = 1, .most = ADV_NVME_WORKERS_MAX,
	 SERVE(workers)},
	{"buffers", 'm', "SIZE", "Memory for data of each worker (default 64M)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_BYTES, .least = ADV_NVME_BUFFERS_MIN,
	 .most = UINT32_MAX, SERVE(buffer_bytes)},
	{"address-share", 0, "PERCENT",
	 "The part of the target that hosts of one address may use (default 50)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_COUNT, .least = 1, .most = 100,
	 SERVE(address_share)},
	{"control", 0, "NAME",
	 "Name of the target for adverb nvme add and remove (default: the port)",
	 .value = ADV_VALUE_TEXT, SERVE(control)},
};

static void refuse_argument(struct argp_state *state, const char *arg, void *values)
{
	argp_error(state, "unexpected argument '%s'; a namespace: --namespace %s", arg, arg);
}

static void check_serve(struct argp_state *state, void *values)
{
	struct adv_nvme_serve_options *o = values;

	if (!o->file && o->namespaces.count == 0)
		argp_error(state,
			   "no namespace: give --namespace FILE or ram:SIZE, or --config FILE");
	if (o->file && (o->namespaces.count || o->hosts.count || o->nqn || o->options.read_only ||
			o->options.buffered))
		argp_error(state, "with --config, the file describes the subsystems");
	if (!o->nqn)
		o->nqn = DEFAULT_NQN;
}

const struct adv_options adv_nvme_serve_syntax = {
	ADV_OPTION_TABLE(serve_options),
	.about = "Serve files, block devices or memory to NVMe over Fabrics hosts, over RDMA.",
	.check = check_serve,
	.read = refuse_argument,
	.more = &namespace,
};

/* --- add and remove --- */

#define CHANGE(member) ADV_OPTION_OF(struct adv_nvme_change_options, member)

static const struct adv_nvme_change_options defaults = {.control = ADV_NVME_PORT};

static const struct adv_option change_options[] = {
	{"control", 0, "NAME", "Name of the target (default: its port " ADV_NVME_PORT ")",
	 .value = ADV_VALUE_TEXT, CHANGE(control)},
	{"subsystem", 's', "NQN", "Name of the subsystem (default: the only one)",
	 .value = ADV_VALUE_TEXT, CHANGE(nqn)},
	{"namespace-id", 'N', "NUMBER",
	 "Number of the namespace (add: default: the lowest free one)", .value = ADV_VALUE_PLAIN,
	 .unit = ADV_UNIT_COUNT, .least = 1, .most = ADV_NVME_LIST_MAX, CHANGE(nsid)},
};

static void read_path(struct argp_state *state, const char *arg, void *values)
{
	struct adv_nvme_change_options *o = values;

	if (o->path)
		argp_error(state, "one file, block device or ram:SIZE is needed");
	o->path = arg;
}

static void check_add(struct argp_state *state, void *values)
{
	const struct adv_nvme_change_options *o = values;

	if (!o->path)
		argp_error(state, "one file, block device or ram:SIZE is needed");
}

static void check_remove(struct argp_state *state, void *values)
{
	const struct adv_nvme_change_options *o = values;

	if (!o->nsid)
		argp_error(state, "no namespace: give --namespace-id NUMBER");
}

const struct adv_options adv_nvme_add_syntax = {
	ADV_OPTION_TABLE(change_options),
	.about = "Add a namespace to a running target of the same user. Hosts notice it at once.",
	.check = check_add,
	.args = "FILE|DEVICE|ram:SIZE",
	.read = read_path,
	.more = &namespace,
	.defaults = &defaults,
	.size = sizeof(defaults),
};
const struct adv_options adv_nvme_remove_syntax = {
	ADV_OPTION_TABLE(change_options),
	.about = "Remove a namespace of a running target of the same user. Commands in execution "
		 "finish.",
	.check = check_remove,
	.defaults = &defaults,
	.size = sizeof(defaults),
};

/* --- stat --- */

static const struct adv_option stat_options[] = {
	{"control", 0, "NAME", "Name of the target (default: its port " ADV_NVME_PORT ")",
	 .value = ADV_VALUE_TEXT, ADV_OPTION_OF(struct adv_kit_stat_options, control)},
};

const struct adv_options adv_nvme_stat_syntax = {
	ADV_OPTION_TABLE(stat_options),
	.about = "Show what the namespaces and hosts of a running target of the same user do: "
		 "commands and megabytes a second, and the mean time of a command until its host "
		 "has the response.",
	.more = &adv_kit_stat_intervals,
	.defaults = &adv_kit_stat_defaults,
	.size = sizeof(adv_kit_stat_defaults),
};
