/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: adverbd, UDP port 4791, addresses and MTU. */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "nic/wire/packet.h"

#define MTU_FOR_4096 4192 /* 4096 bytes of payload, and the headers of RoCE */

/* Connects to adverbd and starts it if it does not run. On failure, reports why. */
static struct adv_control *reach_daemon(struct adv_doctor *d)
{
	struct adv_control_status s;
	char why[1024], port[1024];
	struct adv_control *c = adv_control_connect(false, why, sizeof(why));
	bool ran = c != NULL;

	if (!c && errno == ECONNREFUSED && adv_cli_port_conflict(port, sizeof(port))) {
		adv_doctor_report(d, ADV_BAD, "port 4791", NULL, "%s", port);
		return NULL;
	}
	if (!c)
		c = adv_control_connect(true, why, sizeof(why));
	if (!c || adv_control_status(c, &s) != 0) {
		adv_doctor_report(d, ADV_BAD, "daemon", NULL, "%s",
				  c ? "adverbd closed the connection" : why);
		adv_control_close(c);
		return NULL;
	}
	adv_doctor_report(d, ADV_GOOD, "daemon", NULL, "adverbd %s for %s (process %u)",
			  ran ? "runs" : "starts", s.system ? "all users" : "your user",
			  s.worker_pid);
	adv_doctor_report(d, ADV_GOOD, "port 4791", NULL, "held by that adverbd");
	return c;
}

/* Sets d->own to the address of a GID. */
static void set_own(struct adv_doctor *d, const struct adv_gid_entry *e)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&d->own;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&d->own;

	memset(&d->own, 0, sizeof(d->own));
	if (adv_gid_is_ipv4(&e->gid)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, e->gid.raw + 12, 4);
		d->own_len = sizeof(*in);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_scope_id = e->ifindex; /* for link-local addresses */
	memcpy(&in6->sin6_addr, e->gid.raw, 16);
	d->own_len = sizeof(*in6);
}

static void check_addresses(struct adv_doctor *d, const struct adv_gid_table *t)
{
	const struct adv_gid_entry *first = &t->entry[0];
	char address[ADV_GID_TEXT_LENGTH], remedy[128];

	if (!t->count) {
		adv_doctor_report(d, ADV_BAD, "addresses", "ip link set lo up",
				  "no interface that is up has an IP address");
		return;
	}
	set_own(d, first);
	adv_gid_text(&first->gid, address);
	if (first->loopback)
		adv_doctor_report(
			d, ADV_GOOD, "addresses",
			"for other machines: give an interface an IP address",
			"%u GIDs, loopback only: programs on this machine reach each other",
			t->count);
	else
		adv_doctor_report(d, ADV_GOOD, "addresses", NULL, "%u GIDs; index 0 is %s on %.16s",
				  t->count, address, first->ifname);
	snprintf(remedy, sizeof(remedy),
		 "if the network carries it, as root: ip link set %.16s mtu %d (both ends)",
		 first->ifname, MTU_FOR_4096);
	adv_doctor_report(d, first->path_mtu < 4096 ? ADV_SLOW : ADV_GOOD, "mtu",
			  first->path_mtu < 4096 ? remedy : NULL,
			  "%u bytes a packet (%.16s has an MTU of %u)", first->path_mtu,
			  first->ifname, first->if_mtu);
}

/* Says which P_Key connections use, if the table is not the default one. A port whose first entry
 * is a limited membership cannot connect to itself: d->own is then not used. */
static void check_partitions(struct adv_doctor *d, const struct adv_pkey_table *t)
{
	uint16_t first = t->pkey[0];

	if (t->count == 1 && first == ADV_PKEY_DEFAULT)
		return;
	if (adv_pkey_match_index(t, first) >= 0) {
		adv_doctor_report(d, ADV_GOOD, "partitions", NULL,
				  "%u P_Keys; connections use 0x%04x", t->count, first);
		return;
	}
	adv_doctor_report(d, ADV_GOOD, "partitions",
			  "for other hosts: put a full membership (0x8000 | partition) first "
			  "(adverbd --pkeys)",
			  "%u P_Keys; connections use 0x%04x, a limited membership: they reach "
			  "full members of the partition only, and not this machine",
			  t->count, first);
	d->own_len = 0;
}

void adv_doctor_check_network(struct adv_doctor *d)
{
	static struct adv_gid_table table;
	struct adv_control *c = reach_daemon(d);

	if (c && adv_cli_gids(c, &table)) {
		d->gids = &table;
		check_addresses(d, &table);
		check_partitions(d, &table.pkeys);
	}
	adv_control_close(c);
}
