/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/snapshot.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <net/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define DUMP_TRIES   8
#define DUMP_BUFFER  32768
#define EVENT_ROUNDS 1024

/* Attributes by number; an attribute cut short ends the list. */
static void attributes(const struct rtattr *a, int len, const struct rtattr **by_type, unsigned max)
{
	memset(by_type, 0, (max + 1) * sizeof(*by_type));
	while (RTA_OK(a, len)) {
		unsigned type = a->rta_type & NLA_TYPE_MASK;

		if (type <= max)
			by_type[type] = a;
		a = RTA_NEXT(a, len);
	}
}

static bool read_u32(const struct rtattr *a, uint32_t *value)
{
	if (!a || RTA_PAYLOAD(a) < sizeof(*value))
		return false;
	memcpy(value, RTA_DATA(a), sizeof(*value));
	return true;
}

static void read_link(struct adv_snapshot *s, const struct nlmsghdr *h)
{
	const struct ifinfomsg *info = NLMSG_DATA(h);
	const struct rtattr *a[IFLA_MAX + 1];
	struct adv_interface *i;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*info)) ||
	    s->interface_count == ADV_SNAPSHOT_INTERFACES)
		return;
	attributes(IFLA_RTA(info), (int)IFLA_PAYLOAD(h), a, IFLA_MAX);
	i = &s->interface[s->interface_count++];
	memset(i, 0, sizeof(*i));
	i->ifindex = (uint32_t)info->ifi_index;
	i->flags = info->ifi_flags;
	read_u32(a[IFLA_MTU], &i->mtu);
	if (a[IFLA_IFNAME] && RTA_PAYLOAD(a[IFLA_IFNAME]) > 0) {
		size_t n = RTA_PAYLOAD(a[IFLA_IFNAME]);

		memcpy(i->name, RTA_DATA(a[IFLA_IFNAME]),
		       n < sizeof(i->name) ? n : sizeof(i->name) - 1);
	}
	if (info->ifi_type == ARPHRD_ETHER && a[IFLA_ADDRESS] &&
	    RTA_PAYLOAD(a[IFLA_ADDRESS]) == sizeof(i->mac)) {
		memcpy(i->mac, RTA_DATA(a[IFLA_ADDRESS]), sizeof(i->mac));
		i->has_mac = true;
	}
}

static void read_address(struct adv_snapshot *s, const struct nlmsghdr *h)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct ifaddrmsg *info = NLMSG_DATA(h);
	const struct rtattr *a[IFA_MAX + 1], *address;
	struct adv_address *out;
	size_t size;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return;
	attributes(IFA_RTA(info), (int)IFA_PAYLOAD(h), a, IFA_MAX);
	/* On point-to-point links IFA_ADDRESS is the other end's. */
	address = a[IFA_LOCAL] ? a[IFA_LOCAL] : a[IFA_ADDRESS];
	size = info->ifa_family == AF_INET ? 4 : 16;
	if ((info->ifa_family != AF_INET && info->ifa_family != AF_INET6) || !address ||
	    RTA_PAYLOAD(address) != size)
		return;
	if (s->address_count == ADV_SNAPSHOT_ADDRESSES) {
		s->left_out++;
		return;
	}
	out = &s->address[s->address_count++];
	memset(out, 0, sizeof(*out));
	out->ifindex = info->ifa_index;
	if (!read_u32(a[IFA_FLAGS], &out->flags))
		out->flags = info->ifa_flags;
	if (size == 4)
		memcpy(out->gid.raw, mapped, sizeof(mapped));
	memcpy(out->gid.raw + 16 - size, RTA_DATA(address), size);
}

bool adv_snapshot_parse(struct adv_snapshot *s, const void *data, size_t len, int *error)
{
	const struct nlmsghdr *h = data;
	size_t step;

	*error = 0;
	for (; NLMSG_OK(h, len); h = (const void *)((const char *)h + step), len -= step) {
		/* The last one's padding may be missing: not NLMSG_NEXT, which would step beyond.
		 */
		step = NLMSG_ALIGN(h->nlmsg_len) < len ? NLMSG_ALIGN(h->nlmsg_len) : len;
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			*error = EINTR;
		if (h->nlmsg_type == NLMSG_DONE)
			return false;
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			*error = EPROTO;
			if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*e)) && e->error < 0)
				*error = -e->error;
			return false;
		}
		if (h->nlmsg_type == RTM_NEWLINK)
			read_link(s, h);
		else if (h->nlmsg_type == RTM_NEWADDR)
			read_address(s, h);
	}
	return true;
}

static int dump(int fd, uint16_t type, struct adv_snapshot *s)
{
	static char buffer[DUMP_BUFFER] __attribute__((aligned(8)));
	struct {
		struct nlmsghdr header;
		struct rtgenmsg family;
	} request = {
		.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
			   .nlmsg_type = type,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.family = {.rtgen_family = AF_UNSPEC},
	};
	int error = 0, interrupted = 0;
	bool more = true;

	if (send(fd, &request, request.header.nlmsg_len, MSG_NOSIGNAL) < 0)
		return errno;
	while (more) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EPROTO;
		if ((size_t)n > sizeof(buffer))
			return EMSGSIZE;
		more = adv_snapshot_parse(s, buffer, (size_t)n, &error);
		if (error == EINTR)
			interrupted = EINTR;
		else if (error)
			return error;
	}
	return interrupted;
}

static void ask_speeds(struct adv_snapshot *s)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned i = 0; fd >= 0 && i < s->interface_count; i++) {
		struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
		struct ifreq r = {.ifr_data = (void *)&command};
		uint32_t speed;

		memcpy(r.ifr_name, s->interface[i].name, sizeof(r.ifr_name));
		if (ioctl(fd, SIOCETHTOOL, &r) < 0)
			continue;
		/* Not ethtool_cmd_speed(), which shifts into the sign. */
		speed = (uint32_t)command.speed_hi << 16 | command.speed;
		s->interface[i].speed_mbps = speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
	}
	if (fd >= 0)
		close(fd);
}

int adv_snapshot_take(struct adv_snapshot *s)
{
	const struct timeval patience = {.tv_sec = 1};
	int error = EINTR;

	for (int i = 0; i < DUMP_TRIES && error == EINTR; i++) {
		int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

		if (fd < 0)
			return errno;
		s->interface_count = s->address_count = s->left_out = 0;
		error = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0
				? errno
				: dump(fd, RTM_GETLINK, s);
		if (!error)
			error = dump(fd, RTM_GETADDR, s);
		close(fd);
	}
	if (!error)
		ask_speeds(s);
	return error;
}

int adv_snapshot_watch(void)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK,
				.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (void *)&a, sizeof(a)) < 0) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

bool adv_snapshot_changed(int fd)
{
	bool changed = false;

	for (int i = 0; i < EVENT_ROUNDS; i++) {
		char byte;

		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) < 0 && errno == EAGAIN)
			break;
		changed = true;
	}
	return changed;
}
