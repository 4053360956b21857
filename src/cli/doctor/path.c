/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: which packets the way to a peer carries. Switches and interfaces with a smaller
 * MTU drop longer packets, mostly in silence; connections then open, and large messages fail. */
#include "cli/doctor/doctor.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/probe.h"
#include "runtime/control/gid_table.h"

#define SMALLEST_MTU 256u

static bool gid_of(const struct sockaddr_storage *address, struct adv_gid *gid)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;

	memset(gid, 0, sizeof(*gid));
	if (address->ss_family == AF_INET6) {
		memcpy(gid->raw, &six->sin6_addr, 16);
	} else if (address->ss_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &four->sin_addr, 4);
	}
	return address->ss_family == AF_INET6 || address->ss_family == AF_INET;
}

/* Finds the addresses of the way: the peer's, and the own one of the route. */
static bool find_way(const struct sockaddr *peer, socklen_t len, struct adv_gid *from,
		     struct adv_gid *to)
{
	int fd = socket(peer->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage own = {0}, other = {0};
	socklen_t own_len = sizeof(own);
	bool found;

	memcpy(&other, peer, len);
	found = fd >= 0 && connect(fd, peer, len) == 0 &&
		getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 && gid_of(&own, from) &&
		gid_of(&other, to);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Returns the GID table's entry of an own address; NULL: there is none. */
static const struct adv_gid_entry *find_entry(const struct adv_gid_table *t,
					      const struct adv_gid *gid)
{
	for (uint32_t i = 0; t && i < t->count; i++)
		if (adv_gid_equal(&t->entry[i].gid, gid))
			return &t->entry[i];
	return NULL;
}

/* Returns the largest path MTU below `mtu` whose packets return; 0: none. */
static uint32_t find_smaller_mtu(const struct adv_gid *from, const struct adv_gid *to, uint32_t mtu)
{
	for (mtu /= 2; mtu >= SMALLEST_MTU; mtu /= 2)
		if (adv_probe_echo(from, to, mtu) == ADV_PROBE_ANSWERED)
			return mtu;
	return 0;
}

static void report_smaller_mtu(struct adv_doctor *d, const struct adv_gid_entry *e, uint32_t good)
{
	char remedy[192];

	snprintf(remedy, sizeof(remedy),
		 "raise the MTU between the machines, or as root: ip link set %.16s mtu %u; or "
		 "give programs a path MTU of %u (perftest: -m %u)",
		 e->ifname, good + 96, good, good);
	adv_doctor_report(
		d, ADV_BAD, "path mtu", remedy,
		"packets of %u bytes, the MTU of programs here, do not return; those of %u do",
		e->path_mtu, good);
}

void adv_doctor_check_path(struct adv_doctor *d, const struct sockaddr *peer, socklen_t len)
{
	const struct adv_gid_entry *e;
	enum adv_probe_result small;
	struct adv_gid from, to;
	uint32_t good;

	if (!find_way(peer, len, &from, &to) || !(e = find_entry(d->gids, &from)))
		return;
	small = adv_probe_echo(&from, &to, 0);
	if (small != ADV_PROBE_ANSWERED) {
		adv_doctor_report(d, ADV_GOOD, "path mtu",
				  small == ADV_PROBE_NOT_TRIED
					  ? "as root, or with net.ipv4.ping_group_range"
					  : "permit ICMP echo requests (ping)",
				  "not probed: the probe is an ICMP echo request, %s",
				  small == ADV_PROBE_NOT_TRIED ? "which needs a privilege"
							       : "and the peer answers none");
		return;
	}
	if (adv_probe_echo(&from, &to, e->path_mtu) == ADV_PROBE_ANSWERED) {
		adv_doctor_report(d, ADV_GOOD, "path mtu", NULL, "packets of %u bytes pass",
				  e->path_mtu);
		return;
	}
	good = find_smaller_mtu(&from, &to, e->path_mtu);
	if (good)
		report_smaller_mtu(d, e, good);
}
