/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb devinfo: prints the device as adverbd sees it. */
#include "cli/command/command.h"

#include "cli/command/json.h"

struct options {
	bool verbose;
	bool json;
};

static const struct adv_option option_table[] = {
	{"verbose", 'v', NULL, "Also show the GID table with its interfaces",
	 ADV_OPTION_INTO(verbose)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about =
		"Show the RDMA device: the state and MTU of its port, its GUID, and the numbers of "
		"GIDs and slots. 'adverb run ibv_devinfo' shows the device as programs see it."};

static void print_gids(const struct adv_gid_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct adv_gid_entry *e = &t->entry[i];
		char gid[ADV_GID_TEXT];

		adv_format_gid(gid, &e->gid);
		printf("\t\tGID[%3u]:\t\t%s, %s, %.16s", i, gid, adv_format_gid_type(e), e->ifname);
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

static void print_json(const struct adv_gid_table *t, const struct adv_control_status *s)
{
	struct json_object *o = adv_json_object();
	char guid[20], name[17];

	adv_format_guid(guid, t->node_guid);
	adv_json_add_text(o, "device", "adverb0");
	adv_json_add_text(o, "node_guid", guid);
	adv_json_add_number(o, "slots_used", s->slots_used);
	adv_json_add_number(o, "slots_total", s->slots_total);
	adv_json_add_number(o, "port", 1);
	adv_json_add_text(o, "state", t->port_active ? "PORT_ACTIVE" : "PORT_DOWN");
	snprintf(name, sizeof(name), "%.16s", t->entry[0].ifname);
	adv_json_add(o, "active_mtu", t->count ? adv_json_number(t->active_mtu) : NULL);
	adv_json_add(o, "interface", t->count ? adv_json_text(name) : NULL);
	adv_json_add(o, "interface_mtu", t->count ? adv_json_number(t->entry[0].if_mtu) : NULL);
	adv_json_add_number(o, "gids", t->count);
	adv_json_add_text(o, "link_layer", "Ethernet");
	adv_json_print(stdout, o);
}

int adv_devinfo_main(int argc, char **argv)
{
	static struct adv_gid_table table;
	struct adv_control_status status;
	struct adv_control *c;
	struct options o = {0};
	bool good;

	if (!adv_command_read(&syntax, argc, argv, &o, &o.json))
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
	if (good && o.json)
		print_json(&table, &status);
	else if (good)
		print_device(&table, &status, o.verbose);
	return good ? 0 : ADV_EXIT_FAILED;
}
