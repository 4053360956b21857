/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb devinfo: prints the device as adverbd sees it. */
#include "cli/command.h"

#include <argp.h>

static const struct argp_option argp_options[] = {
	{"verbose", 'v', NULL, 0, "Also show the GID table with its interfaces", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *verbose = state->input;

	switch (key) {
	case 'v':
		*verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Show the RDMA device: the state and MTU of its port, its GUID, and the numbers of GIDs "
	"and slots. 'adverb run ibv_devinfo' shows the device as programs see it.",
	NULL,
	NULL,
	NULL};

static void print_gids(const struct adv_gid_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct adv_gid_entry *e = &t->entry[i];
		char gid[ADV_GID_TEXT];

		adv_format_gid(gid, &e->gid);
		printf("\t\tGID[%3u]:\t\t%s, RoCE v2, %.16s", i, gid, e->ifname);
		if (e->speed_mbps)
			printf(", %u Mbit/s", e->speed_mbps);
		printf("\n");
	}
}

static void print_device(const struct adv_gid_table *t, const struct adv_control_status *s,
			 bool verbose)
{
	char guid[20];

	adv_format_guid(guid, t->node_guid);
	printf("hca_id:\tadverb0\n");
	printf("\tnode_guid:\t\t\t%s\n", guid);
	printf("\tslots in use:\t\t\t%u of %u\n", s->slots_used, s->slots_total);
	printf("\tphys_port_cnt:\t\t\t1\n");
	printf("\tport:\t1\n");
	printf("\t\tstate:\t\t\t%s\n", t->port_active ? "PORT_ACTIVE (4)" : "PORT_DOWN (1)");
	if (t->count)
		printf("\t\tactive_mtu:\t\t%u (interface %.16s: %u)\n", t->active_mtu,
		       t->entry[0].ifname, t->entry[0].if_mtu);
	printf("\t\tGIDs:\t\t\t%u\n", t->count);
	printf("\t\tlink_layer:\t\tEthernet\n");
	if (verbose)
		print_gids(t);
	if (!t->port_active)
		printf("no interface that is up has an IP address: ip link set lo up\n");
}

int adv_devinfo_main(int argc, char **argv)
{
	static struct adv_gid_table table;
	struct adv_control_status status;
	struct adv_control *c;
	bool verbose = false, good;

	if (argp_parse(&argp, argc, argv, 0, NULL, &verbose) != 0)
		return ADV_EXIT_USAGE;
	c = adv_cli_connect(true);
	if (!c)
		return ADV_EXIT_FAILED;
	good = adv_cli_gids(c, &table);
	if (good && adv_control_status(c, &status) != 0) {
		fprintf(stderr, "adverb: adverbd closed the connection\n");
		good = false;
	}
	adv_control_close(c);
	if (good)
		print_device(&table, &status, verbose);
	return good ? 0 : ADV_EXIT_FAILED;
}
