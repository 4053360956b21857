/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The test's own network namespace, where port 4791 is free and tc is permitted. */
#ifndef ADV_TESTS_COMMON_NETNS_H
#define ADV_TESTS_COMMON_NETNS_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/ipv6.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* meson's exit status for a skipped test. */
#define NETNS_SKIP 77

static inline void netns_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0) {
		(void)!write(fd, text, strlen(text));
		close(fd);
	}
}

static inline bool netns_loopback_up(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Moves the process, which must have one thread, into a new namespace with lo up. */
static inline bool netns_enter(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWNET) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			return false;
		netns_write("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		netns_write("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", gid);
		netns_write("/proc/self/gid_map", map);
	}
	return netns_loopback_up();
}

/* Waits until sockets can be bound to the address: the kernel makes a new one valid a little later.
 */
static inline bool netns_await_ipv6(int fd, const struct in6_addr *address)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = *address};

	for (unsigned ms = 0; ms < 60000; ms++) {
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

/* Adds an IPv6 address to lo. */
static inline bool netns_add_ipv6(const char *address)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 128, .ifr6_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && inet_pton(AF_INET6, address, &r.ifr6_addr) == 1 &&
		  ioctl(fd, SIOCSIFADDR, &r) == 0 && netns_await_ipv6(fd, &r.ifr6_addr);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Returns the number of the device feature `name`, or -1. */
static inline int netns_feature_number(int fd, struct ifreq *r, const char *name)
{
	union {
		struct ethtool_sset_info info;
		uint32_t room[sizeof(struct ethtool_sset_info) / 4 + 1];
	} sets = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
	uint32_t count;
	struct ethtool_gstrings *names;
	int found = -1;

	r->ifr_data = (void *)&sets;
	if (ioctl(fd, SIOCETHTOOL, r) < 0)
		return -1;
	count = sets.info.data[0];
	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	if (!names)
		return -1;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = count;
	r->ifr_data = (void *)names;
	if (ioctl(fd, SIOCETHTOOL, r) == 0)
		for (uint32_t i = 0; i < names->len; i++)
			if (strncmp((char *)names->data + i * ETH_GSTRING_LEN, name,
				    ETH_GSTRING_LEN) == 0)
				found = (int)i;
	free(names);
	return found;
}

/* Disables an offload of a device, by ethtool's name. */
static inline bool netns_feature_off(const char *device, const char *name)
{
	union {
		struct ethtool_sfeatures s;
		char room[sizeof(struct ethtool_sfeatures) +
			  2 * sizeof(struct ethtool_set_features_block)];
	} set;
	struct ifreq r = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = false;
	int number;

	strncpy(r.ifr_name, device, sizeof(r.ifr_name) - 1);
	number = fd >= 0 ? netns_feature_number(fd, &r, name) : -1;
	if (number >= 0 && number < 64) {
		memset(&set, 0, sizeof(set));
		set.s.cmd = ETHTOOL_SFEATURES;
		set.s.size = 2;
		set.s.features[number / 32].valid = 1u << number % 32;
		r.ifr_data = (void *)&set;
		ok = ioctl(fd, SIOCETHTOOL, &r) >= 0;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Moves the process, which must have one thread, to the namespace of this descriptor. */
static inline bool netns_go(int ns)
{
	return setns(ns, CLONE_NEWNET) == 0;
}

/* Waits until the kernel passes packets through a link that is up, which takes up to a second.
 * False: the kernel does not pass packets. */
static inline bool netns_wait_running(const char *device)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	bool running = false;

	strncpy(r.ifr_name, device, sizeof(r.ifr_name) - 1);
	for (int i = 0; fd >= 0 && !running && i < 10000; i++) {
		running = ioctl(fd, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & IFF_RUNNING);
		usleep(1000);
	}
	if (fd >= 0)
		close(fd);
	return running;
}

/*
 * After netns_enter(): creates a second namespace, connected to the first by a veth pair of MTU
 * 9000: `va` here with 10.9.0.1 and fd09::1, `vb` there with .2 and ::2. Sets a descriptor of each.
 * The process stays in the first one. False: the kernel has no veth devices.
 */
static inline bool netns_join(int *here, int *there)
{
	char command[200];

	*here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*here < 0 || unshare(CLONE_NEWNET) < 0 || !netns_loopback_up())
		return false;
	*there = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	snprintf(command, sizeof(command),
		 "ip link add vb mtu 9000 type veth peer name va mtu 9000 netns /proc/%d/fd/%d",
		 (int)getpid(), *here);
	return *there >= 0 && system(command) == 0 &&
	       system("ip address add 10.9.0.2/24 dev vb && "
		      "ip address add fd09::2/64 dev vb nodad && ip link set vb up") == 0 &&
	       netns_go(*here) &&
	       system("ip address add 10.9.0.1/24 dev va && "
		      "ip address add fd09::1/64 dev va nodad && ip link set va up") == 0 &&
	       netns_wait_running("va") && netns_go(*there) && netns_wait_running("vb") &&
	       netns_go(*here);
}

#endif
