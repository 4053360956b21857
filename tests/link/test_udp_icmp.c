/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forged ICMP: whoever can send a packet to this machine can claim that a router on the way to a
 * peer takes small packets only, or that the peer is not there. Nothing that is sent afterwards may
 * fail, be cut smaller, or wait. The forger sits in another namespace and quotes packets that were
 * never sent.
 */
#include "harness.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns.h"

#define V4_HERE	    "10.9.0.1"
#define V4_THERE    "10.9.0.2"
#define V4_ROUTER   "10.9.0.77"
#define V6_HERE	    "fd09::1"
#define V6_THERE    "fd09::2"
#define V6_ROUTER   "fd09::77"
#define FIRST_PORT  0xc000
#define QUOTED_DATA 64 /* bytes of the packet that is claimed to have been refused */

static int home, away;
static struct adv_tx_batch batch;

struct forgery {
	uint8_t type;
	uint8_t code;
	uint32_t mtu; /* where the type has one */
};

static const struct forgery v4_forgeries[] = {
	{ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, 576},   {ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, 0},
	{ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, 65535}, {ICMP_DEST_UNREACH, ICMP_NET_UNREACH, 0},
	{ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0},    {ICMP_DEST_UNREACH, ICMP_PROT_UNREACH, 0},
	{ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0},    {ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, 0},
	{ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0},	      {ICMP_PARAMETERPROB, 0, 0},
};

static const struct forgery v6_forgeries[] = {
	{ICMP6_PACKET_TOO_BIG, 0, 1280},
	{ICMP6_PACKET_TOO_BIG, 0, 0},
	{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE, 0},
	{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN, 0},
	{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR, 0},
	{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT, 0},
	{ICMP6_TIME_EXCEEDED, ICMP6_TIME_EXCEED_TRANSIT, 0},
	{ICMP6_PARAM_PROB, ICMP6_PARAMPROB_NEXTHEADER, 0},
};

static uint16_t checksum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void fill_udp(uint8_t *p, uint16_t sport, uint16_t dport)
{
	struct udphdr udp = {.source = htons(sport), .dest = htons(dport), .len = htons(4120)};

	memcpy(p, &udp, sizeof(udp));
}

static void forge_v4(const struct forgery *f, const char *quoted_to, uint16_t sport, uint16_t dport)
{
	struct iphdr outer = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_ICMP};
	struct iphdr quoted = {.version = 4, .ihl = 5, .ttl = 63, .protocol = IPPROTO_UDP};
	struct icmphdr icmp = {.type = f->type, .code = f->code};
	struct sockaddr_in to = {.sin_family = AF_INET};
	uint8_t p[sizeof(outer) + sizeof(icmp) + sizeof(quoted) + QUOTED_DATA] = {0};
	uint8_t *message = p + sizeof(outer), *inside = message + sizeof(icmp);
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

	assert_true(fd >= 0);
	outer.tot_len = htons(sizeof(p));
	inet_pton(AF_INET, V4_ROUTER, &outer.saddr);
	inet_pton(AF_INET, V4_HERE, &outer.daddr);
	to.sin_addr.s_addr = outer.daddr;
	icmp.un.frag.mtu = htons((uint16_t)f->mtu);
	quoted.tot_len = htons(20 + 4120);
	quoted.frag_off = htons(IP_DF);
	quoted.saddr = outer.daddr;
	inet_pton(AF_INET, quoted_to, &quoted.daddr);
	quoted.check = checksum((uint8_t *)&quoted, sizeof(quoted), 0);
	memcpy(inside, &quoted, sizeof(quoted));
	fill_udp(inside + sizeof(quoted), sport, dport);
	memcpy(message, &icmp, sizeof(icmp));
	icmp.checksum = checksum(message, sizeof(p) - sizeof(outer), 0);
	memcpy(message, &icmp, sizeof(icmp));
	memcpy(p, &outer, sizeof(outer));
	assert_int_equal(sendto(fd, p, sizeof(p), 0, (void *)&to, sizeof(to)), sizeof(p));
	close(fd);
}

struct ipv6 {
	uint32_t version;
	uint16_t payload_len;
	uint8_t next;
	uint8_t hops;
	struct in6_addr from, to;
};

static void forge_v6(const struct forgery *f, const char *quoted_to, uint16_t sport, uint16_t dport)
{
	struct ipv6 outer = {.version = htonl(6u << 28), .next = IPPROTO_ICMPV6, .hops = 64};
	struct ipv6 quoted = {.version = htonl(6u << 28), .next = IPPROTO_UDP, .hops = 63};
	struct icmp6_hdr icmp = {.icmp6_type = f->type, .icmp6_code = f->code};
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	uint8_t p[sizeof(outer) + sizeof(icmp) + sizeof(quoted) + QUOTED_DATA] = {0};
	uint8_t *message = p + sizeof(outer), *inside = message + sizeof(icmp);
	uint16_t len = sizeof(p) - sizeof(outer);
	int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	uint32_t pseudo = IPPROTO_ICMPV6 + len;

	assert_true(fd >= 0);
	outer.payload_len = htons(len);
	inet_pton(AF_INET6, V6_ROUTER, &outer.from);
	inet_pton(AF_INET6, V6_HERE, &outer.to);
	to.sin6_addr = outer.to;
	icmp.icmp6_mtu = htonl(f->mtu);
	quoted.payload_len = htons(4120);
	quoted.from = outer.to;
	inet_pton(AF_INET6, quoted_to, &quoted.to);
	memcpy(inside, &quoted, sizeof(quoted));
	fill_udp(inside + sizeof(quoted), sport, dport);
	memcpy(message, &icmp, sizeof(icmp));
	for (unsigned i = 0; i < 16; i += 2)
		pseudo += ((uint32_t)outer.from.s6_addr[i] << 8 | outer.from.s6_addr[i + 1]) +
			  ((uint32_t)outer.to.s6_addr[i] << 8 | outer.to.s6_addr[i + 1]);
	icmp.icmp6_cksum = checksum(message, len, pseudo);
	memcpy(message, &icmp, sizeof(icmp));
	memcpy(p, &outer, sizeof(outer));
	assert_int_equal(sendto(fd, p, sizeof(p), 0, (void *)&to, sizeof(to)), sizeof(p));
	close(fd);
}

/* From the other namespace: each forgery for each port that a packet may have come from. */
static void forge_all(bool ipv6, uint16_t sender)
{
	const struct forgery *f = ipv6 ? v6_forgeries : v4_forgeries;
	unsigned n = ipv6 ? sizeof(v6_forgeries) / sizeof(*f) : sizeof(v4_forgeries) / sizeof(*f);
	const char *here = ipv6 ? V6_HERE : V4_HERE, *there = ipv6 ? V6_THERE : V4_THERE;

	assert_true(netns_go(away));
	for (unsigned i = 0; i < n; i++) {
		void (*forge)(const struct forgery *f, const char *to, uint16_t sport,
			      uint16_t dport) = ipv6 ? forge_v6 : forge_v4;

		forge(&f[i], there, ADV_ROCE_UDP_PORT, ADV_ROCE_UDP_PORT);
		forge(&f[i], here, sender, ADV_ROCE_UDP_PORT);
		for (uint16_t port = 0; port < 8; port++)
			forge(&f[i], there, FIRST_PORT + port, ADV_ROCE_UDP_PORT);
	}
	assert_true(netns_go(home));
}

/* Packets that are sent singly and packets that the kernel cuts, all of the largest size. */
static void all_arrive(struct adv_link *a, struct adv_link *b, const char *from, const char *to)
{
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, from, to, FIRST_PORT);
	for (uint32_t i = 0; i < 3; i++) {
		batch.count = batch.iov_used = 0;
		add_packet(&batch, &path, 7, i, 4096);
		assert_true(a->ops->send(a, &batch));
		receive_all(b, store, i + 1);
	}
	batch.count = batch.iov_used = 0;
	for (uint32_t i = 3; i < 35; i++)
		add_packet(&batch, &path, 7, i, 4096);
	assert_true(a->ops->send(a, &batch));
	receive_all(b, store, 35);
	assert_int_equal(a->counters.tx_dropped, 0);
	assert_int_equal(store->count, 35);
	for (uint32_t i = 0; i < 35; i++)
		check_packet(&store->packet[i], 7, i, 4096);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
}

static struct adv_link *open_away(const char *address)
{
	struct adv_link *link;

	assert_true(netns_go(away));
	link = open_link(address);
	assert_true(netns_go(home));
	return link;
}

static void under_attack(const char *here, const char *there)
{
	bool ipv6 = strchr(here, ':');
	struct adv_udp_address own[] = {{gid_of(V4_HERE), if_nametoindex("va")},
					{gid_of(V6_HERE), if_nametoindex("va")}};
	struct adv_link *a = open_known("::"), *b = open_away(there);

	assert_int_equal(adv_udp_set_addresses(a, own, 2), 0);
	for (unsigned round = 0; round < 3; round++) {
		all_arrive(a, b, here, there);
		all_arrive(a, a, here, here);
		forge_all(ipv6, adv_udp_sender(a));
	}
	all_arrive(a, b, here, there);
	all_arrive(a, a, here, here);
	close_link(a);
	close_link(b);
}

static void test_forged_icmp_ipv4(void **state)
{
	under_attack(V4_HERE, V4_THERE);
}

static void test_forged_icmp_ipv6(void **state)
{
	under_attack(V6_HERE, V6_THERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_icmp_ipv4),
		cmocka_unit_test(test_forged_icmp_ipv6),
	};

	if (!netns_enter() || !netns_join(&home, &away))
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
