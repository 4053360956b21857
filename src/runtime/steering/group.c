/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/group.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/steering/port_holder.h"
#include "base/bytes.h"

#define BTH_DQPN_OFFSET 5 /* offset of the destination QPN in the UDP payload */
#define LOOPBACK	1 /* ifindex of `lo` in every network namespace */
#define IPV6_SOURCE	(SKF_NET_OFF + 8)
#define BUFFER_IDLE	1 /* the kernel rounds it up to its minimum: a packet or two */
#define BUFFER_WANTED	(4 << 20)
#define BIND_WAIT_MS	500  /* time for an earlier daemon to exit */
#define IDLE_WAIT_MS	5000 /* time for the daemon of another user that has no client */
#define DRAIN_LIMIT	40000

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? errno : 0;
}

struct program {
	/* Number of instructions. Above BPF_MAXINSNS: the program is too long. */
	unsigned short len;
	struct sock_filter code[BPF_MAXINSNS];
};

/* Adds an instruction. Returns its index. */
static unsigned add_instruction(struct program *p, struct sock_filter instruction)
{
	unsigned at = p->len;

	if (at < BPF_MAXINSNS)
		p->code[at] = instruction;
	if (at <= BPF_MAXINSNS)
		p->len++;
	return at;
}

static void add_load(struct program *p, uint16_t size, int offset)
{
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_LD | size | BPF_ABS, (uint32_t)offset));
}

/* Adds a comparison. `if_true` and `if_not` are the numbers of instructions to skip. */
static void add_compare(struct program *p, uint16_t how, uint32_t value, uint8_t if_true,
			uint8_t if_not)
{
	add_instruction(
		p, (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, value, if_true, if_not));
}

/* Adds a jump to the instruction that is added after the next set_jump_target() for this jump.
 * Returns the jump's index. */
static unsigned add_jump(struct program *p)
{
	return add_instruction(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
}

static void set_jump_target(struct program *p, unsigned jump)
{
	if (jump < BPF_MAXINSNS)
		p->code[jump].k = p->len - jump - 1;
}

static void add_return(struct program *p, uint32_t socket)
{
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, socket));
}

/* Adds the test for one run. A prefix outside the run belongs to no run: it goes to the socket of
 * ADV_SLOT_NOBODY. */
static void add_run(struct program *p, const struct adv_group_run *r)
{
	add_compare(p, BPF_JGE, r->first, 0, 1);
	add_compare(p, BPF_JGT, r->last, 0, 1);
	add_return(p, ADV_SLOT_NOBODY);
	if (!r->spread) {
		add_return(p, r->socket);
		return;
	}
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K,
							(uint32_t)r->socket - r->first));
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0));
}

/* Adds a binary search among the runs. */
static void add_choice(struct program *p, const struct adv_group_run *run, unsigned runs)
{
	unsigned half = runs / 2, upper;

	if (runs == 1) {
		add_run(p, run);
		return;
	}
	add_compare(p, BPF_JGE, run[half].first, 0, 1);
	upper = add_jump(p);
	add_choice(p, run, half);
	set_jump_target(p, upper);
	add_choice(p, run + half, runs - half);
}

/* Adds the steering by the destination QPN. Packets too short for the load instruction go to socket
 * 0. */
static void add_steering(struct program *p, const struct adv_group_run *run, unsigned runs)
{
	add_load(p, BPF_H, BTH_DQPN_OFFSET);
	add_instruction(
		p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, ADV_PREFIX_SHIFT - 8));
	if (runs)
		add_choice(p, run, runs);
	else
		add_return(p, ADV_SLOT_NOBODY);
}

/* Adds the comparison with this IPv6 address. Returns the jump that accepts it. */
static unsigned add_source(struct program *p, const struct adv_gid *gid)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned offset = 12 - 4 * i; /* the last word first: it differs most */

		add_load(p, BPF_W, IPV6_SOURCE + (int)offset);
		add_compare(p, BPF_JEQ, adv_get_be32(gid->raw + offset), 0, (uint8_t)(7 - 2 * i));
	}
	return add_jump(p);
}

int adv_group_steer(int unlocked, const struct adv_gid_table *own, const struct adv_group_run *run,
		    unsigned runs)
{
	static struct program p; /* 32 KiB; the worker has one thread */
	struct sock_fprog program = {.filter = p.code};
	unsigned go_on[2 + ADV_GID_TABLE_ENTRIES], n = 0;

	p.len = 0;
	add_load(&p, BPF_W, SKF_AD_OFF + SKF_AD_IFINDEX);
	add_compare(&p, BPF_JEQ, LOOPBACK, 1, 0);
	go_on[n++] = add_jump(&p);
	add_load(&p, BPF_W, SKF_AD_OFF + SKF_AD_PROTOCOL);
	add_compare(&p, BPF_JEQ, ETH_P_IPV6, 1, 0);
	go_on[n++] = add_jump(&p);
	for (uint32_t i = 0; i < own->count; i++)
		if (!adv_gid_is_ipv4(&own->entry[i].gid))
			go_on[n++] = add_source(&p, &own->entry[i].gid);
	add_return(&p, ADV_SLOT_NOBODY);
	while (n)
		set_jump_target(&p, go_on[--n]);
	add_steering(&p, run, runs);
	if (p.len > BPF_MAXINSNS)
		return ENOMEM;
	program.len = p.len;
	return setsockopt(unlocked, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
			  sizeof(program)) < 0
		       ? errno
		       : 0;
}

/*
 * Makes the socket ignore the path MTU in ICMP messages. Without this, any host could forge an ICMP
 * message that quotes port 4791. The kernel would then use a small path MTU to that peer for ten
 * minutes, for all sockets. The sockets of the group send nothing, so they need no path MTU.
 */
static void ignore_icmp(int fd, int family)
{
	(void)set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE);
	if (family == AF_INET6)
		(void)set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE);
}

/* Opens one socket. `join`: the socket joins the existing group; otherwise it is the group's first
 * socket. */
static int make_socket(int family, bool join, int *made)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(ADV_ROCE_UDP_PORT)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(ADV_ROCE_UDP_PORT)};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	int error;

	if (fd < 0)
		return errno;
	ignore_icmp(fd, family);
	error = set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_IDLE);
	/* If these options were 1, packets of a multicast group that any socket of the host has
	 * joined would reach all sockets of port 4791. */
	if (!error)
		error = set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	if (!error && family == AF_INET6) {
		error = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
		if (!error)
			error = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
		/* Accepts packets without a UDP checksum: RoCE has the ICRC, and Linux's rdma_rxe
		 * and NICs send no UDP checksum. */
		if (!error)
			error = set_int(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	}
	if (!error && join)
		error = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!error && (family == AF_INET6 ? bind(fd, (void *)&any6, sizeof(any6))
					  : bind(fd, (void *)&any4, sizeof(any4))) < 0)
		error = errno;
	if (error)
		close(fd);
	else
		*made = fd;
	return error;
}

/*
 * Opens the group's first socket. It is bound without SO_REUSEPORT, so that it never joins an
 * existing group. SO_REUSEPORT is set afterwards, so that the other sockets can join.
 */
static int found_group(int *family, int *made)
{
	const struct timespec pause = {0, 10 * 1000 * 1000};
	uint64_t now = adv_clock_ms(), until = now + BIND_WAIT_MS, at_most = now + IDLE_WAIT_MS;
	int error;

	*family = AF_INET6;
	for (;;) {
		error = make_socket(*family, false, made);
		if (*family == AF_INET6 &&
		    (error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENOPROTOOPT)) {
			*family = AF_INET; /* a kernel without IPv6 */
			error = make_socket(*family, false, made);
		}
		now = adv_clock_ms();
		if (error == EADDRINUSE && now < at_most &&
		    adv_port_holder_is_idle(ADV_ROCE_UDP_PORT))
			until = now + BIND_WAIT_MS;
		if (error != EADDRINUSE || now >= until)
			break;
		nanosleep(&pause, NULL);
	}
	if (!error)
		error = set_int(*made, SOL_SOCKET, SO_REUSEPORT, 1);
	return error;
}

static void say_why(int error, char *why, size_t why_len)
{
	if (error == EADDRINUSE)
		adv_port_holder_describe(ADV_ROCE_UDP_PORT, why, why_len);
	else if (error == EMFILE || error == ENFILE)
		snprintf(why, why_len,
			 "not enough file descriptors for the sockets of UDP port %d: raise the "
			 "limit (ulimit -n 1024)",
			 ADV_ROCE_UDP_PORT);
	else
		snprintf(why, why_len, "cannot set up the sockets of UDP port %d: %s",
			 ADV_ROCE_UDP_PORT, strerror(error));
}

static int family_of_socket(int fd)
{
	int family = AF_INET6;
	socklen_t len = sizeof(family);

	(void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len);
	return family;
}

int adv_group_grow(int founder, int *made)
{
	int error = make_socket(family_of_socket(founder), true, made);

	if (error)
		return error;
	error = set_int(*made, SOL_SOCKET, SO_LOCK_FILTER, 1);
	if (error)
		close(*made);
	return error;
}

int adv_group_create(int sockets[ADV_GROUP_FIRST], const struct adv_gid_table *own, char *why,
		     size_t why_len)
{
	const struct adv_group_run daemon = {0, 0, ADV_SLOT_DAEMON, false};
	int family, n = 0;
	int error = found_group(&family, &sockets[0]);

	if (!error)
		n = 1;
	/* Only the daemon holds socket 0. Its filter is not locked, so that the program can be
	 * attached again. */
	while (!error && n < ADV_GROUP_FIRST) {
		error = adv_group_grow(sockets[0], &sockets[n]);
		n += !error;
	}
	/*
	 * If at most ten sockets have the port and only one of them has joined a multicast group,
	 * newer kernels (6.18, but not 6.1) deliver the group's IPv4 packets like unicast packets:
	 * by the steering program, which sends them to the socket of ADV_SLOT_NOBODY. A second
	 * member prevents this. With IP_MULTICAST_ALL the socket of ADV_SLOT_NOBODY is a member of
	 * all groups that any socket of the machine has joined.
	 */
	if (!error)
		error = set_int(sockets[ADV_SLOT_NOBODY], IPPROTO_IP, IP_MULTICAST_ALL, 1);
	if (!error)
		error = adv_group_steer(sockets[0], own, &daemon, 1);
	/* A large receive buffer: thousands of processes of one job may request connections at the
	 * same time. */
	if (!error && set_int(sockets[ADV_SLOT_DAEMON], SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_WANTED))
		error = set_int(sockets[ADV_SLOT_DAEMON], SOL_SOCKET, SO_RCVBUF, BUFFER_WANTED);
	if (!error)
		return 0;
	say_why(error, why, why_len);
	for (int i = 0; i < n; i++)
		close(sockets[i]);
	return error;
}

/* Reads and drops queued packets, at most `limit`. Returns their number. */
static unsigned drain_socket(int fd, unsigned limit)
{
	unsigned n = 0;

	for (unsigned i = 0; i < limit; i++) {
		char byte;

		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) >= 0)
			n++;
		else if (errno == EAGAIN)
			break;
	}
	return n;
}

void adv_group_deactivate(int fd)
{
	set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_IDLE);
	drain_socket(fd, DRAIN_LIMIT);
}

uint32_t adv_group_activate(int fd)
{
	socklen_t len = sizeof(int);
	int granted = 0;

	drain_socket(fd, DRAIN_LIMIT);
	if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_WANTED) != 0)
		set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_WANTED);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) < 0)
		adv_warn("SO_RCVBUF: %s", strerror(errno));
	return (uint32_t)granted;
}

int adv_group_member(int fd, const struct adv_gid *group, uint32_t ifindex, bool join)
{
	if (!adv_gid_is_multicast(group))
		return EINVAL;
	if (adv_gid_is_ipv4(group)) {
		struct ip_mreqn m = {.imr_ifindex = (int)ifindex};

		memcpy(&m.imr_multiaddr, group->raw + 12, 4);
		return setsockopt(fd, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &m,
				  sizeof(m)) < 0
			       ? errno
			       : 0;
	}
	struct ipv6_mreq m = {.ipv6mr_interface = ifindex};

	memcpy(&m.ipv6mr_multiaddr, group->raw, 16);
	return setsockopt(fd, IPPROTO_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &m,
			  sizeof(m)) < 0
		       ? errno
		       : 0;
}
