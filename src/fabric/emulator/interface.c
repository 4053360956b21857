/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/emulator/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>

#define BUFFER 2048

int adv_interfaces_open(struct adv_interfaces *n)
{
	n->serial = 0;
	n->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!n->socket)
		return errno;
	return mnl_socket_bind(n->socket, 0, MNL_SOCKET_AUTOPID) < 0 ? errno : 0;
}

void adv_interfaces_close(struct adv_interfaces *n)
{
	if (n->socket)
		mnl_socket_close(n->socket);
	n->socket = NULL;
}

static struct nlmsghdr *begin_request(struct adv_interfaces *n, char *buffer, uint16_t type,
				      uint16_t flags)
{
	struct nlmsghdr *m = mnl_nlmsg_put_header(buffer);

	m->nlmsg_type = type;
	m->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	m->nlmsg_seq = ++n->serial;
	return m;
}

/* Sends the request and waits for the kernel's answer. */
static int request_kernel(struct adv_interfaces *n, struct nlmsghdr *m)
{
	char answer[BUFFER * 4];
	ssize_t len;

	if (mnl_socket_sendto(n->socket, m, m->nlmsg_len) < 0)
		return errno;
	len = mnl_socket_recvfrom(n->socket, answer, sizeof(answer));
	if (len < 0)
		return errno;
	return mnl_cb_run(answer, (size_t)len, n->serial, mnl_socket_get_portid(n->socket), NULL,
			  NULL) < 0
		       ? errno
		       : 0;
}

/* ioctl(SIOCGIFINDEX) of if_nametoindex() uses a socket of the thread's namespace: this one. */
static int index_of(const char *name, int *index)
{
	*index = (int)if_nametoindex(name);
	return *index ? 0 : errno;
}

int adv_interface_make_bridge(struct adv_interfaces *n, const char *name)
{
	char buffer[BUFFER];
	struct nlmsghdr *m = begin_request(n, buffer, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info;

	mnl_nlmsg_put_extra_header(m, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(m, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(m, IFLA_LINKINFO);
	mnl_attr_put_strz(m, IFLA_INFO_KIND, "bridge");
	mnl_attr_nest_end(m, info);
	return request_kernel(n, m);
}

int adv_interface_make_pair(struct adv_interfaces *n, const struct adv_interface_pair *pair,
			    const char *bridge)
{
	char buffer[BUFFER];
	struct nlmsghdr *m = begin_request(n, buffer, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct ifinfomsg *interface = mnl_nlmsg_put_extra_header(m, sizeof(*interface));
	struct nlattr *info, *data, *peer;
	int index, error = index_of(bridge, &index);

	if (error)
		return error;
	interface->ifi_flags = interface->ifi_change = IFF_UP;
	mnl_attr_put_strz(m, IFLA_IFNAME, pair->here);
	mnl_attr_put_u32(m, IFLA_MTU, pair->mtu);
	mnl_attr_put_u32(m, IFLA_MASTER, (uint32_t)index);
	info = mnl_attr_nest_start(m, IFLA_LINKINFO);
	mnl_attr_put_strz(m, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(m, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(m, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(m, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(m, IFLA_IFNAME, pair->there);
	mnl_attr_put_u32(m, IFLA_MTU, pair->mtu);
	mnl_attr_put(m, IFLA_ADDRESS, sizeof(pair->mac), pair->mac);
	mnl_attr_put_u32(m, IFLA_NET_NS_FD, (uint32_t)pair->net);
	mnl_attr_nest_end(m, peer);
	mnl_attr_nest_end(m, data);
	mnl_attr_nest_end(m, info);
	return request_kernel(n, m);
}

int adv_interface_up(struct adv_interfaces *n, const char *name)
{
	char buffer[BUFFER];
	struct nlmsghdr *m = begin_request(n, buffer, RTM_NEWLINK, 0);
	struct ifinfomsg *interface = mnl_nlmsg_put_extra_header(m, sizeof(*interface));
	int error = index_of(name, &interface->ifi_index);

	interface->ifi_flags = interface->ifi_change = IFF_UP;
	return error ? error : request_kernel(n, m);
}

int adv_interface_address(struct adv_interfaces *n, const char *name, uint32_t address,
			  unsigned prefix)
{
	char buffer[BUFFER];
	struct nlmsghdr *m = begin_request(n, buffer, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *a = mnl_nlmsg_put_extra_header(m, sizeof(*a));
	int index, error = index_of(name, &index);

	if (error)
		return error;
	a->ifa_family = AF_INET;
	a->ifa_prefixlen = (uint8_t)prefix;
	a->ifa_index = (uint32_t)index;
	mnl_attr_put_u32(m, IFA_LOCAL, htonl(address));
	mnl_attr_put_u32(m, IFA_ADDRESS, htonl(address));
	return request_kernel(n, m);
}
