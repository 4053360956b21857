/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gids: the GID table, and which entry to use. */
#include "cli/command/command.h"

#include <stdlib.h>

#include "cli/command/json.h"

#define NONE UINT32_MAX

/* The recommended indices; NONE if there is none. */
struct gid_choice {
	uint32_t remote; /* index for connections to other machines */
	uint32_t local;	 /* loopback */
	bool link_local; /* `remote` reaches machines on the same link only */
};

static const char about[] = "Show the GID table and which GID index to use (ib_write_bw -x, "
			    "UCX_IB_GID_INDEX, NCCL_IB_GID_INDEX).";

static bool is_link_local(const struct adv_gid *g)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}

static struct gid_choice choose_indices(const struct adv_gid_table *t)
{
	struct gid_choice a = {.remote = NONE, .local = NONE};

	for (uint32_t i = 0; i < t->count; i++) {
		const struct adv_gid_entry *e = &t->entry[i];
		bool link_local = is_link_local(&e->gid);

		if (e->loopback) {
			if (a.local == NONE)
				a.local = i;
		} else if (a.remote == NONE || (a.link_local && !link_local)) {
			a.remote = i;
			a.link_local = link_local;
		}
	}
	return a;
}

static void print_table(const struct adv_gid_table *t)
{
	printf("%-5s  %-39s  %-15s  %-10s  %-15s  %s\n", "INDEX", "GID", "IPV4", "TYPE",
	       "INTERFACE", "MTU");
	for (uint32_t i = 0; i < t->count; i++) {
		const struct adv_gid_entry *e = &t->entry[i];
		char gid[ADV_GID_TEXT], address[ADV_GID_TEXT_LENGTH] = "";

		adv_format_gid(gid, &e->gid);
		if (adv_gid_is_ipv4(&e->gid))
			adv_gid_text(&e->gid, address);
		printf("%-5u  %-39s  %-15s  %-10s  %-15.16s  %u\n", i, gid, address,
		       adv_format_gid_type(e), e->ifname, e->path_mtu);
	}
}

static void print_advice(const struct adv_gid_table *t)
{
	struct gid_choice a = choose_indices(t);
	char address[ADV_GID_TEXT_LENGTH];

	if (a.remote != NONE) {
		adv_gid_text(&t->entry[a.remote].gid, address);
		printf("\nUse index %u (%s on %.16s) to reach other machines%s", a.remote, address,
		       t->entry[a.remote].ifname,
		       a.link_local ? " on the same link (no interface has another address)" : "");
	}
	if (a.local != NONE) {
		adv_gid_text(&t->entry[a.local].gid, address);
		printf("%s index %u (%s) for programs on this machine%s",
		       a.remote != NONE ? ";" : "\nUse", a.local, address,
		       a.remote != NONE ? ""
					: "; no other machine can be reached, because no other "
					  "interface that is up has an IP address");
	}
	if (a.remote != NONE || a.local != NONE)
		printf(".\n");
	else
		printf("No GIDs: no interface that is up has an IP address. For programs on this "
		       "machine: ip link set lo up\n");
}

static void add_index(struct json_object *to, const char *key, uint32_t index)
{
	adv_json_add(to, key, index == NONE ? NULL : adv_json_number(index));
}

static struct json_object *entry_to_json(const struct adv_gid_entry *e, uint32_t index)
{
	struct json_object *o = adv_json_object();
	char gid[ADV_GID_TEXT], address[ADV_GID_TEXT_LENGTH], name[17];

	adv_format_gid(gid, &e->gid);
	adv_gid_text(&e->gid, address);
	snprintf(name, sizeof(name), "%.16s", e->ifname);
	adv_json_add_number(o, "index", index);
	adv_json_add_text(o, "gid", gid);
	adv_json_add_text(o, "address", address);
	adv_json_add_text(o, "type", adv_format_gid_type(e));
	adv_json_add_text(o, "interface", name);
	adv_json_add_number(o, "interface_mtu", e->if_mtu);
	adv_json_add_number(o, "mtu", e->path_mtu);
	adv_json_add_flag(o, "loopback", e->loopback);
	return o;
}

static void print_json(const struct adv_gid_table *t)
{
	struct json_object *o = adv_json_object(), *gids;
	struct gid_choice a = choose_indices(t);

	adv_json_add_text(o, "device", "adverb0");
	adv_json_add_number(o, "port", 1);
	gids = adv_json_add_array(o, "gids");
	for (uint32_t i = 0; i < t->count; i++)
		adv_json_append(gids, entry_to_json(&t->entry[i], i));
	add_index(o, "index_for_other_machines", a.remote);
	add_index(o, "index_for_this_machine", a.local);
	adv_json_print(stdout, o);
}

int adv_gids_main(int argc, char **argv)
{
	static struct adv_gid_table table;
	struct adv_control *c;
	bool json = false, good;

	if (!adv_command_read_json(about, argc, argv, &json))
		return ADV_EXIT_USAGE;
	c = adv_cli_connect(true);
	if (!c)
		return ADV_EXIT_FAILED;
	good = adv_cli_gids(c, &table);
	adv_control_close(c);
	if (!good)
		return ADV_EXIT_FAILED;
	if (json) {
		print_json(&table);
		return 0;
	}
	if (table.count)
		print_table(&table);
	print_advice(&table);
	return 0;
}
