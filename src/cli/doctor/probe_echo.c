/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The probe by ICMP and ICMPv6 echo requests. */
#include "cli/doctor/probe.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "nic/wire/headers.h"

#define ATTEMPTS   2
#define ATTEMPT_MS 300
#define ECHO_HEAD  8
/* UDP header, BTH and ICRC: the bytes of a RoCE v2 packet between the IP header and the payload. */
#define ROCE_HEADS (8 + ADV_BTH_LEN + ADV_ICRC_LEN)
#define LONGEST	   (ROCE_HEADS + 4096)

struct echo {
	int fd;
	bool six;
	bool raw; /* a raw socket: receives all ICMP, with the IPv4 header */
	uint16_t id;
	uint16_t sequence;
	size_t length;
	uint8_t bytes[LONGEST];
};

static socklen_t address_of(const struct adv_gid *gid, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)out;

	memset(out, 0, sizeof(*out));
	if (adv_gid_is_ipv4(gid)) {
		four->sin_family = AF_INET;
		memcpy(&four->sin_addr, gid->raw + 12, 4);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	memcpy(&six->sin6_addr, gid->raw, 16);
	return sizeof(*six);
}

/* Opens the socket: an echo socket (ping_group_range), else a raw one (CAP_NET_RAW). */
static bool open_echo(struct echo *e, const struct adv_gid *from, const struct adv_gid *to)
{
	const int no_fragments = IP_PMTUDISC_PROBE, yes = 1;
	int family, protocol;
	struct sockaddr_storage address;
	socklen_t len;

	e->six = !adv_gid_is_ipv4(to);
	family = e->six ? AF_INET6 : AF_INET;
	protocol = e->six ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	e->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	e->raw = e->fd < 0;
	if (e->raw)
		e->fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (e->fd < 0)
		return false;
	if (e->six) {
		(void)setsockopt(e->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &no_fragments,
				 sizeof(no_fragments));
		(void)setsockopt(e->fd, IPPROTO_IPV6, IPV6_DONTFRAG, &yes, sizeof(yes));
	} else {
		(void)setsockopt(e->fd, IPPROTO_IP, IP_MTU_DISCOVER, &no_fragments,
				 sizeof(no_fragments));
	}
	len = address_of(from, &address);
	if (bind(e->fd, (struct sockaddr *)(void *)&address, len) == 0) {
		len = address_of(to, &address);
		if (connect(e->fd, (struct sockaddr *)(void *)&address, len) == 0)
			return true;
	}
	close(e->fd);
	return false;
}

/* Computes the Internet checksum (RFC 1071). */
static uint16_t internet_checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void fill_request(struct echo *e)
{
	uint16_t sum;

	memset(e->bytes, 0, e->length);
	e->bytes[0] = e->six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	e->bytes[4] = (uint8_t)(e->id >> 8);
	e->bytes[5] = (uint8_t)e->id;
	e->bytes[6] = (uint8_t)(e->sequence >> 8);
	e->bytes[7] = (uint8_t)e->sequence;
	/* The kernel fills in the checksum of ICMPv6 and of echo sockets. */
	sum = internet_checksum(e->bytes, e->length);
	e->bytes[2] = (uint8_t)(sum >> 8);
	e->bytes[3] = (uint8_t)sum;
}

/* True if the received bytes are the answer to the newest request. */
static bool is_answer(const struct echo *e, const uint8_t *p, ssize_t n)
{
	ssize_t at = e->raw && !e->six && n > 0 ? (p[0] & 15) * 4 : 0;

	if (n < at + ECHO_HEAD || p[at] != (e->six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
		return false;
	/* An echo socket has its own id, and receives only its own answers. */
	return (!e->raw || (p[at + 4] << 8 | p[at + 5]) == e->id) &&
	       (p[at + 6] << 8 | p[at + 7]) == e->sequence;
}

static enum adv_probe_result result_of(int error)
{
	return error == EMSGSIZE       ? ADV_PROBE_TOO_LONG
	       : error == ECONNREFUSED ? ADV_PROBE_REFUSED
	       : error == EACCES || error == EPERM
		       ? ADV_PROBE_REFUSED /* an own firewall rejects the packet */
		       : ADV_PROBE_SILENT;
}

static enum adv_probe_result try_echo(struct echo *e)
{
	uint64_t now = adv_clock_ms(), deadline = now + ATTEMPT_MS;
	struct pollfd readable = {.fd = e->fd, .events = POLLIN};
	uint8_t got[128];

	e->sequence++;
	fill_request(e);
	if (send(e->fd, e->bytes, e->length, MSG_NOSIGNAL) < 0)
		return result_of(errno);
	for (; now < deadline; now = adv_clock_ms()) {
		ssize_t n;

		if (poll(&readable, 1, (int)(deadline - now)) <= 0)
			break;
		n = recv(e->fd, got, sizeof(got), MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && errno != EAGAIN)
			return result_of(errno);
		if (is_answer(e, got, n))
			return ADV_PROBE_ANSWERED;
	}
	return ADV_PROBE_SILENT;
}

static bool is_link_local(const struct adv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

enum adv_probe_result adv_probe_echo(const struct adv_gid *from, const struct adv_gid *to,
				     uint32_t payload)
{
	enum adv_probe_result result = ADV_PROBE_SILENT;
	struct echo e = {.id = (uint16_t)getpid(), .length = ROCE_HEADS + payload};

	/* A link-local address needs an interface, which a GID does not name. */
	if (e.length > LONGEST || is_link_local(to) || !open_echo(&e, from, to))
		return ADV_PROBE_NOT_TRIED;
	for (int i = 0; i < ATTEMPTS && result == ADV_PROBE_SILENT; i++)
		result = try_echo(&e);
	close(e.fd);
	return result;
}
