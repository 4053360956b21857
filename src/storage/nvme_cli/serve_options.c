/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of adverb nvme serve, add, remove and stat. The command adverb has them too: it
 * checks them, and its completions know them. */
#include <argp.h>
#include <string.h>

#include "storage/nvme_server/config.h"
#include "storage/kit/option_number.h"
#include "storage/nvme_server/options.h"

#define DEFAULT_NQN "nqn.2026-01.org.adverb:disk"
enum { KEY_REFERRAL = 256, KEY_BUFFERED, KEY_CONTROL, KEY_ADDRESS_SHARE };

/* --- of a namespace --- */

static const struct argp_option namespace_options[] = {
	{"read-only", 'r', NULL, 0, "Refuse writes", 0},
	{"block-size", 'b', "BYTES", 0, "512 or 4096 (default 4096)", 0},
	{"buffered", KEY_BUFFERED, NULL, 0,
	 "Use the page cache; by default, files with blocks of 4096 bytes are opened with O_DIRECT "
	 "if the file system permits it",
	 0},
	{0},
};

static error_t parse_namespace(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_namespace_options *o = state->input;
	uint64_t size;

	switch (key) {
	case ARGP_KEY_INIT:
		o->block_shift = 12;
		return 0;
	case 'r':
		o->read_only = true;
		return 0;
	case KEY_BUFFERED:
		o->buffered = true;
		return 0;
	case 'b':
		size = adv_kit_option_number(state, ADV_UNIT_BYTES, arg, 512, 4096);
		if (size != 512 && size != 4096)
			argp_error(state, "--block-size: '%s' is neither 512 nor 4096", arg);
		o->block_shift = size == 512 ? 9 : 12;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp namespace_argp = {
	namespace_options, parse_namespace, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child namespace_child[] = {{&namespace_argp, 0, NULL, 0}, {0}};

/* --- serve --- */

static const struct argp_option serve_options[] = {
	{"config", 'c', "FILE", 0,
	 "Read the subsystems from a file; --listen, --referral, --workers, --buffers, "
	 "--address-share and --control replace its values",
	 0},
	{"listen", 'l', "ADDRESS[:PORT]", 0,
	 "Listen at this address; may be repeated (default 0.0.0.0:" ADV_NVME_PORT ")", 0},
	{"subsystem", 's', "NQN", 0, "Name of the subsystem (default " DEFAULT_NQN ")", 0},
	{"namespace", 'n', "FILE|DEVICE|ram:SIZE", 0,
	 "Serve a file, a block device, or memory; may be repeated", 0},
	{"allow-host", 'a', "NQN", 0, "Allow only the named hosts; may be repeated", 0},
	{"referral", KEY_REFERRAL, "ADDRESS[:PORT]", 0,
	 "Refer hosts to the discovery service of another target; may be repeated", 0},
	{"workers", 'w', "NUMBER", 0, "Threads that serve queues (default 1)", 0},
	{"buffers", 'm', "SIZE", 0, "Memory for data of each worker (default 64M)", 0},
	{"address-share", KEY_ADDRESS_SHARE, "PERCENT", 0,
	 "The part of the target that hosts of one address may use (default 50)", 0},
	{"control", KEY_CONTROL, "NAME", 0,
	 "Name of the target for adverb nvme add and remove (default: the port)", 0},
	{0},
};

static void add_argument(struct argp_state *state, struct adv_nvme_list *list, const char *arg)
{
	/* argp_error() returns if ARGP_NO_EXIT is set. */
	if (list->count >= ADV_NVME_LIST_ARGS)
		argp_error(state, "too many arguments like '%s'", arg);
	else
		list->at[list->count++] = arg;
}

static void check_options(struct argp_state *state, const struct adv_nvme_serve_options *o)
{
	const struct adv_nvme_namespace_options *n = &o->options;

	if (!o->file && o->namespaces.count == 0)
		argp_error(state,
			   "no namespace: give --namespace FILE or ram:SIZE, or --config FILE");
	else if (o->file &&
		 (o->namespaces.count || o->hosts.count || o->nqn || n->read_only || n->buffered))
		argp_error(state, "with --config, the file describes the subsystems");
}

static error_t parse_serve(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_serve_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		memset(o, 0, sizeof(*o));
		state->child_inputs[0] = &o->options;
		return 0;
	case 'c':
		o->file = arg;
		return 0;
	case 'l':
		add_argument(state, &o->listen, arg);
		return 0;
	case 's':
		o->nqn = arg;
		return 0;
	case 'n':
		add_argument(state, &o->namespaces, arg);
		return 0;
	case 'a':
		add_argument(state, &o->hosts, arg);
		return 0;
	case KEY_REFERRAL:
		add_argument(state, &o->referrals, arg);
		return 0;
	case KEY_CONTROL:
		o->control = arg;
		return 0;
	case 'w':
		o->workers = (unsigned)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1,
							     ADV_NVME_WORKERS_MAX);
		return 0;
	case 'm':
		o->buffer_bytes = (size_t)adv_kit_option_number(state, ADV_UNIT_BYTES, arg,
								ADV_NVME_BUFFERS_MIN, UINT32_MAX);
		return 0;
	case KEY_ADDRESS_SHARE:
		o->address_share =
			(unsigned)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, 100);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; a namespace: --namespace %s", arg,
			   arg);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		if (!o->nqn)
			o->nqn = DEFAULT_NQN;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp adv_nvme_serve_argp = {
	serve_options,
	parse_serve,
	NULL,
	"Serve files, block devices or memory to NVMe over Fabrics hosts, over RDMA.",
	namespace_child,
	NULL,
	NULL};

/* --- add and remove --- */

static const struct argp_option change_options[] = {
	{"control", KEY_CONTROL, "NAME", 0,
	 "Name of the target (default: its port " ADV_NVME_PORT ")", 0},
	{"subsystem", 's', "NQN", 0, "Name of the subsystem (default: the only one)", 0},
	{"namespace-id", 'N', "NUMBER", 0,
	 "Number of the namespace (add: default: the lowest "
	 "free one)",
	 0},
	{0},
};

static error_t parse_change(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_change_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		memset(o, 0, sizeof(*o));
		o->control = ADV_NVME_PORT;
		return 0;
	case KEY_CONTROL:
		o->control = arg;
		return 0;
	case 's':
		o->nqn = arg;
		return 0;
	case 'N':
		o->nsid = (uint32_t)adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1,
							  ADV_NVME_LIST_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_add(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_change_options *o = state->input;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &o->options;
	if (key == ARGP_KEY_ARG && !o->path) {
		o->path = arg;
		return 0;
	}
	if (key == ARGP_KEY_ARG || (key == ARGP_KEY_END && !o->path)) {
		argp_error(state, "one file, block device or ram:SIZE is needed");
		return 0;
	}
	return parse_change(key, arg, state);
}

static error_t parse_remove(int key, char *arg, struct argp_state *state)
{
	struct adv_nvme_change_options *o = state->input;

	if (key == ARGP_KEY_ARG) {
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	}
	if (key == ARGP_KEY_END && !o->nsid)
		argp_error(state, "no namespace: give --namespace-id NUMBER");
	return parse_change(key, arg, state);
}

const struct argp adv_nvme_add_argp = {
	change_options,
	parse_add,
	"FILE|DEVICE|ram:SIZE",
	"Add a namespace to a running target of the same user. Hosts notice it at once.",
	namespace_child,
	NULL,
	NULL};
const struct argp adv_nvme_remove_argp = {
	change_options,
	parse_remove,
	NULL,
	"Remove a namespace of a running target of the same user. Commands in execution finish.",
	NULL,
	NULL,
	NULL};

/* --- stat --- */

static const struct argp_option stat_options[] = {
	{"control", ADV_KIT_STAT_CONTROL, "NAME", 0,
	 "Name of the target (default: its port " ADV_NVME_PORT ")", 0},
	{"interval", 'i', "SECONDS", 0, "Time of which the rates are (default 1)", 0},
	{"count", 'n', "N", 0, "Print rates N times (default 1)", 0},
	{"output-format", 'o', "FORMAT", 0, "normal, or json: counts since the start of the target",
	 0},
	{0},
};

const struct argp adv_nvme_stat_argp = {
	stat_options,
	adv_kit_stat_parse,
	NULL,
	"Show what the namespaces and hosts of a running target of the same user do: commands and "
	"megabytes a second, and the mean time of a command until its host has the response.",
	NULL,
	NULL,
	NULL};
