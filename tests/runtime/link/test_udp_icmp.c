/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forged ICMP: any host that can send to this machine can claim that a router accepts small packets
 * only, or that a peer does not exist. Later sends must not fail, be fragmented or wait. The forger
 * is in another namespace and quotes packets that were never sent.
 */
#include "harness.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/netns.h"

#define V4_HERE	    "10.9.0.1"
#define V4_THERE    "10.9.0.2"
#define V4_ROUTER   "10.9.0.77"
#define V6_HERE	    "fd09::1"
#define V6_THERE    "fd09::2"
#define V6_ROUTER   "fd09::77"
#define FIRST_PORT  0xc000
#define QUOTED_DATA 64 /* quoted bytes of the packet that was allegedly rejected */

static int home, away;
static struct adv_tx_batch batch;

struct forgery {
	uint8_t type;
	uint8_t code;
	uint32_t mtu; /* used by the types that have an MTU */
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

/* Sends each forgery from the other namespace, for each possible source port. */
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

/* Checks that single packets and segmented sends arrive. All packets have the largest size. */
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

/* Opens a link in this namespace. If epoll is not NULL, the link collects ICMP errors. */
static struct adv_link *open_here(int *epoll)
{
	struct adv_udp_address own[] = {{gid_of(V4_HERE), if_nametoindex("va")},
					{gid_of(V6_HERE), if_nametoindex("va")}};
	struct adv_udp_config config = {.sender = true};
	struct adv_link *link;

	config.receive_fd = plain_socket("::", ADV_ROCE_UDP_PORT);
	if (epoll) {
		*epoll = epoll_create1(EPOLL_CLOEXEC);
		assert_true(*epoll >= 0);
		config.errors = true;
		config.error_epoll = *epoll;
	}
	link = adv_udp_create(&config);
	assert_non_null(link);
	assert_int_equal(adv_udp_set_addresses(link, own, 2), 0);
	return link;
}

static void attack(struct adv_link *a, const char *here, const char *there)
{
	bool ipv6 = strchr(here, ':');
	struct adv_link *b = open_away(there);

	for (unsigned round = 0; round < 3; round++) {
		all_arrive(a, b, here, there);
		all_arrive(a, a, here, here);
		forge_all(ipv6, adv_udp_sender(a));
	}
	all_arrive(a, b, here, there);
	all_arrive(a, a, here, here);
	close_link(b);
}

static void under_attack(const char *here, const char *there)
{
	struct adv_link *a = open_here(NULL);

	attack(a, here, there);
	close_link(a);
}

static void test_forged_icmp_ipv4(void **state)
{
	under_attack(V4_HERE, V4_THERE);
}

static void test_forged_icmp_ipv6(void **state)
{
	under_attack(V6_HERE, V6_THERE);
}

/* ---- a link that collects ICMP errors ---- */

struct reported {
	unsigned count;
	struct adv_gid from;
	struct adv_gid to;
	size_t len;
	uint8_t quote[600];
};

static void keep_error(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
		       const uint8_t *quote, size_t len)
{
	struct reported *t = user;

	t->count++;
	t->from = *sgid;
	t->to = *dgid;
	t->len = len;
	assert_true(len <= sizeof(t->quote));
	memcpy(t->quote, quote, len);
}

static bool becomes_readable(int epoll)
{
	struct pollfd p = {.fd = epoll, .events = POLLIN};

	return poll(&p, 1, PATIENCE_MS) == 1;
}

/* Checks that no send fails because of unread ICMP errors. Reading the errors reports a closed
 * port, and ends. */
static void told_under_attack(const char *here, const char *there)
{
	struct reported reported = {0};
	struct adv_link *a;
	unsigned n, all = 0;
	int epoll;

	a = open_here(&epoll);
	attack(a, here, there);
	assert_true(becomes_readable(epoll));
	while ((n = adv_udp_read_errors(a, 4, keep_error, &reported)) > 0) {
		assert_true(n <= 4);
		all += n;
	}
	assert_true(reported.count > 0 && reported.count < all);
	for (size_t i = 0; i < reported.len; i++)
		assert_int_equal(reported.quote[i], 0); /* the forger's bytes */
	assert_int_equal(poll(&(struct pollfd){.fd = epoll, .events = POLLIN}, 1, 0), 0);
	close_link(a);
	close(epoll);
}

/* Checks the report of a closed port on another host: that host's kernel sends the report and
 * quotes the packet. */
static void told_of_closed_port(const char *here, const char *there)
{
	struct adv_gid from = gid_of(here), to = gid_of(there);
	struct reported reported = {0};
	struct store *store = fresh_store();
	struct adv_link *a, *b;
	struct adv_path path;
	int epoll;

	a = open_here(&epoll);
	path_between(&path, here, there, FIRST_PORT);
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &path, 7, 1, 256);
	assert_true(a->ops->send(a, &batch));
	assert_true(becomes_readable(epoll));
	/* The next packet is sent although the socket has a pending error. */
	b = open_away(there);
	batch.count = batch.iov_used = 0;
	add_packet(&batch, &path, 7, 1, 256);
	assert_true(a->ops->send(a, &batch));
	receive_all(b, store, 1);
	assert_int_equal(store->count, 1);
	assert_int_equal(a->counters.tx_dropped, 0);
	while (adv_udp_read_errors(a, 4, keep_error, &reported) > 0)
		;
	assert_int_equal(reported.count, 1);
	assert_true(adv_gid_equal(&reported.from, &from) && adv_gid_equal(&reported.to, &to));
	assert_int_equal(reported.len, store->packet[0].len + ADV_ICRC_LEN);
	assert_memory_equal(reported.quote, store->packet[0].data, store->packet[0].len);
	assert_int_equal(poll(&(struct pollfd){.fd = epoll, .events = POLLIN}, 1, 0), 0);
	close_link(b);
	close_link(a);
	close(epoll);
}

static void test_told_ipv4(void **state)
{
	told_of_closed_port(V4_HERE, V4_THERE);
	told_under_attack(V4_HERE, V4_THERE);
}

static void test_told_ipv6(void **state)
{
	told_of_closed_port(V6_HERE, V6_THERE);
	told_under_attack(V6_HERE, V6_THERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_icmp_ipv4),
		cmocka_unit_test(test_forged_icmp_ipv6),
		cmocka_unit_test(test_told_ipv4),
		cmocka_unit_test(test_told_ipv6),
	};

	if (!netns_enter() || !netns_join(&home, &away))
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
