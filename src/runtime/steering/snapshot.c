/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/snapshot.h"

#include <errno.h>
#include <libmnl/libmnl.h>
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

#include "base/array.h"

#define DUMP_TRIES   8
#define DUMP_BUFFER  32768
#define EVENT_ROUNDS 1024

/* The attributes of one message, by type. Only types below `count` are kept. */
struct attributes {
	const struct nlattr **by_type;
	uint16_t count;
};

static int keep_attribute(const struct nlattr *a, void *user)
{
	struct attributes *kept = user;

	if (mnl_attr_get_type(a) < kept->count)
		kept->by_type[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

/*
 * Reads the attributes behind a body of `body` bytes. False: the message is shorter than the body.
 * Does not use mnl_attr_parse(), which would also read the padding behind the message.
 */
static bool read_attributes(const struct nlmsghdr *h, size_t body, const struct nlattr **by_type,
			    uint16_t count)
{
	struct attributes kept = {by_type, count};
	size_t len = mnl_nlmsg_get_payload_len(h);

	memset(by_type, 0, count * sizeof(*by_type));
	if (len < body)
		return false;
	body = MNL_ALIGN(body) < len ? MNL_ALIGN(body) : len;
	mnl_attr_parse_payload((const char *)mnl_nlmsg_get_payload(h) + body, len - body,
			       keep_attribute, &kept);
	return true;
}

static bool read_u32(const struct nlattr *a, uint32_t *value)
{
	if (!a || mnl_attr_get_payload_len(a) < sizeof(*value))
		return false;
	memcpy(value, mnl_attr_get_payload(a), sizeof(*value));
	return true;
}

static void read_link(struct adv_snapshot *s, const struct nlmsghdr *h)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(h);
	const struct nlattr *a[IFLA_MTU + 1];
	struct adv_snapshot_interface *i;

	if (!read_attributes(h, sizeof(*info), a, ADV_ARRAY_SIZE(a)) ||
	    s->interface_count == ADV_SNAPSHOT_INTERFACES)
		return;
	i = &s->interface[s->interface_count++];
	memset(i, 0, sizeof(*i));
	i->ifindex = (uint32_t)info->ifi_index;
	i->flags = info->ifi_flags;
	read_u32(a[IFLA_MTU], &i->mtu);
	if (a[IFLA_IFNAME]) {
		size_t n = mnl_attr_get_payload_len(a[IFLA_IFNAME]);

		memcpy(i->name, mnl_attr_get_payload(a[IFLA_IFNAME]),
		       n < sizeof(i->name) ? n : sizeof(i->name) - 1);
	}
	if (info->ifi_type == ARPHRD_ETHER && a[IFLA_ADDRESS] &&
	    mnl_attr_get_payload_len(a[IFLA_ADDRESS]) == sizeof(i->mac)) {
		memcpy(i->mac, mnl_attr_get_payload(a[IFLA_ADDRESS]), sizeof(i->mac));
		i->has_mac = true;
	}
}

static void read_address(struct adv_snapshot *s, const struct nlmsghdr *h)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(h);
	const struct nlattr *a[IFA_FLAGS + 1], *address;
	struct adv_snapshot_address *out;
	size_t size;

	if (!read_attributes(h, sizeof(*info), a, ADV_ARRAY_SIZE(a)))
		return;
	/* On a point-to-point link IFA_ADDRESS is the address of the other end. */
	address = a[IFA_LOCAL] ? a[IFA_LOCAL] : a[IFA_ADDRESS];
	size = info->ifa_family == AF_INET ? 4 : 16;
	if ((info->ifa_family != AF_INET && info->ifa_family != AF_INET6) || !address ||
	    mnl_attr_get_payload_len(address) != size)
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
	memcpy(out->gid.raw + 16 - size, mnl_attr_get_payload(address), size);
}

static int read_message(const struct nlmsghdr *h, void *user)
{
	if (h->nlmsg_type == RTM_NEWLINK)
		read_link(user, h);
	else if (h->nlmsg_type == RTM_NEWADDR)
		read_address(user, h);
	return MNL_CB_OK;
}

bool adv_snapshot_parse(struct adv_snapshot *s, const void *data, size_t len, int *error)
{
	int result = mnl_cb_run(data, len, 0, 0, read_message, s);

	*error = result == MNL_CB_ERROR ? errno : 0;
	return result == MNL_CB_OK;
}

/* Dumps all objects of a type into *s. The socket is new, so all its messages belong to this
 * dump. */
static int dump_objects(struct mnl_socket *socket, uint16_t type, struct adv_snapshot *s)
{
	static char buffer[DUMP_BUFFER] __attribute__((aligned(8)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtgenmsg *family = mnl_nlmsg_put_extra_header(request, sizeof(*family));
	bool more = true;
	int error = 0;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	family->rtgen_family = AF_UNSPEC;
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return errno;
	while (more) {
		ssize_t n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EPROTO;
		more = adv_snapshot_parse(s, buffer, (size_t)n, &error);
	}
	return error;
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
		/* ethtool_cmd_speed() would shift into the sign bit. */
		speed = (uint32_t)command.speed_hi << 16 | command.speed;
		s->interface[i].speed_mbps = speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
	}
	if (fd >= 0)
		close(fd);
}

static int dump_all(struct mnl_socket *socket, struct adv_snapshot *s)
{
	const struct timeval patience = {.tv_sec = 1};
	int error;

	s->interface_count = s->address_count = s->left_out = 0;
	if (setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0)
		return errno;
	error = dump_objects(socket, RTM_GETLINK, s);
	return error ? error : dump_objects(socket, RTM_GETADDR, s);
}

int adv_snapshot_take(struct adv_snapshot *s)
{
	int error = EINTR; /* EINTR: the interfaces changed during a dump */

	for (int i = 0; i < DUMP_TRIES && error == EINTR; i++) {
		struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

		if (!socket)
			return errno;
		error = dump_all(socket, s);
		mnl_socket_close(socket);
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
