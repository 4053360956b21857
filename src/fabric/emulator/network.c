/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/emulator/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/emulator/interface.h"

#define JUMBO_MTU   9000 /* of an interface, for a path MTU of 4096 */
#define HEADERS_MTU 200	 /* that the MTU of an interface exceeds a smaller path MTU by */
#define PREFIX	    16
#define BRIDGE	    "fabric"
#define NIC	    "eth0"

static int fail_step(char why[ADV_NETWORK_WHY], const char *what, int error)
{
	snprintf(why, ADV_NETWORK_WHY, "%s: %s", what, strerror(error));
	return error;
}

/* ---- the user namespace ---- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Enters a new user namespace that has the caller's user and group. */
static int make_user(struct adv_network *n, char why[ADV_NETWORK_WHY])
{
	unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
	char users[64], groups[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return fail_step(
			why,
			"a user namespace is refused (see user_namespaces(7); root needs none)",
			errno);
	snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	if (!write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", users) || !write_file("/proc/self/gid_map", groups))
		return fail_step(why, "the map of the user namespace cannot be written", errno);
	n->user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	return n->user < 0 ? fail_step(why, "/proc/self/ns/user", errno) : 0;
}

/* ---- hosts ---- */

static int make_host(struct adv_network *n, const struct adv_port_place *place, uint32_t index)
{
	struct adv_network_host *h = &n->host[index];
	char name[32];

	/* the name of the peer of this host's interface, too */
	snprintf(name, sizeof(name), "h%u", index);
	if (unshare(CLONE_NEWNET | CLONE_NEWUTS) < 0 || sethostname(name, strlen(name)) < 0)
		return errno;
	h->net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	h->uts = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	return h->net < 0 || h->uts < 0 ? errno : 0;
}

/* Returns to the namespaces of the emulator. */
static int go_back(const struct adv_network *n)
{
	return setns(n->net, CLONE_NEWNET) < 0 || setns(n->uts, CLONE_NEWUTS) < 0 ? errno : 0;
}

static int join_bridge(struct adv_network *n, const struct adv_port_place *place, uint32_t index,
		       struct adv_interfaces *bridge)
{
	struct adv_interface_pair pair = {.there = NIC, .net = n->host[index].net, .mtu = n->mtu};

	snprintf(pair.here, sizeof(pair.here), ADV_NETWORK_PORT, index);
	adv_port_mac(index, pair.mac);
	return adv_interface_make_pair(bridge, &pair, BRIDGE);
}

/* Sets the host's interfaces up; within its namespace. */
static int set_up_host(const struct adv_port_place *place, uint32_t index)
{
	struct adv_interfaces own;
	int error = adv_interfaces_open(&own);

	/* Nobody else has these addresses: an interface need not wait for an answer. */
	(void)write_file("/proc/sys/net/ipv6/conf/" NIC "/accept_dad", "0");
	if (!error)
		error = adv_interface_up(&own, "lo");
	if (!error)
		error = adv_interface_address(&own, NIC, place->network + index, PREFIX);
	if (!error)
		error = adv_interface_up(&own, NIC);
	adv_interfaces_close(&own);
	return error;
}

static int make_hosts(struct adv_network *n, const struct adv_port_place *place,
		      struct adv_interfaces *bridge, char why[ADV_NETWORK_WHY])
{
	for (uint32_t i = 0; i < n->hosts; i++) {
		int error = make_host(n, place, i), back = go_back(n);

		if (!error)
			error = back;
		if (!error)
			error = join_bridge(n, place, i, bridge);
		if (!error && setns(n->host[i].net, CLONE_NEWNET) < 0)
			error = errno;
		if (!error) {
			error = set_up_host(place, i);
			back = go_back(n);
			error = error ? error : back;
		}
		if (error) {
			snprintf(why, ADV_NETWORK_WHY, "the network of host h%u: %s", i,
				 strerror(error));
			return error;
		}
	}
	return 0;
}

static int make_bridge(struct adv_network *n, struct adv_interfaces *bridge)
{
	int error;

	/* The emulator needs a host name of its own too: without root it could not return to that
	 * of its starter. */
	if (unshare(CLONE_NEWNET | CLONE_NEWUTS) < 0)
		return errno;
	n->net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	n->uts = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	if (n->net < 0 || n->uts < 0)
		return errno;
	error = adv_interfaces_open(bridge);
	if (!error)
		error = adv_interface_make_bridge(bridge, BRIDGE);
	return error ? error : adv_interface_up(bridge, BRIDGE);
}

int adv_network_open(struct adv_network *n, const struct adv_port_place *place, uint32_t mtu,
		     char why[ADV_NETWORK_WHY])
{
	struct adv_interfaces bridge = {.socket = NULL};
	int error = 0;

	*n = (struct adv_network){.user = -1, .net = -1, .uts = -1, .hosts = place->hosts};
	n->mtu = mtu >= 4096 ? JUMBO_MTU : mtu + HEADERS_MTU;
	n->host = calloc(n->hosts, sizeof(*n->host));
	if (!n->host)
		return fail_step(why, "no memory", ENOMEM);
	for (uint32_t i = 0; i < n->hosts; i++)
		n->host[i].net = n->host[i].uts = -1;
	error = make_bridge(n, &bridge);
	if (error == EPERM) {
		error = make_user(n, why);
		if (error)
			return error;
		error = make_bridge(n, &bridge);
	}
	if (error)
		fail_step(why, "a bridge between the hosts cannot be made", error);
	if (!error)
		error = make_hosts(n, place, &bridge, why);
	adv_interfaces_close(&bridge);
	return error;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void adv_network_close(struct adv_network *n)
{
	for (uint32_t i = 0; n->host && i < n->hosts; i++) {
		close_fd(&n->host[i].net);
		close_fd(&n->host[i].uts);
	}
	free(n->host);
	n->host = NULL;
	close_fd(&n->user);
	close_fd(&n->net);
	close_fd(&n->uts);
}

int adv_network_within(const struct adv_network *n, uint32_t host, int (*fn)(void *user),
		       void *user)
{
	int error;

	if (setns(n->host[host].net, CLONE_NEWNET) < 0)
		return errno;
	error = fn(user);
	return setns(n->net, CLONE_NEWNET) < 0 ? errno : error;
}
