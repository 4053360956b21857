/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP link between two addresses of lo: sent packets arrive, and wrong packets are dropped. */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/netns.h"

static struct adv_tx_batch batch;

static void reset(void)
{
	batch.count = 0;
	batch.iov_used = 0;
}

static void send_batch(struct adv_link *link)
{
	assert_true(link->ops->send(link, &batch));
	reset();
}

static void every_size(const char *from, const char *to)
{
	struct adv_link *a = open_link(from), *b = open_link(to);
	struct adv_path path;

	path_between(&path, from, to, 0xc123);
	for (uint32_t size = 0; size <= 4096; size++) {
		struct store *store = fresh_store();

		add_packet(&batch, &path, 0x000045, size, size);
		send_batch(a);
		receive_all(b, store, 1);
		assert_int_equal(store->count, 1);
		check_packet(&store->packet[0], 0x000045, size, size);
		assert_memory_equal(&store->packet[0].meta.sgid, &path.sgid, 16);
		assert_memory_equal(&store->packet[0].meta.dgid, &path.dgid, 16);
		assert_int_equal(store->packet[0].meta.sport, 0xc123);
	}
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	close_link(a);
	close_link(b);
}

static void test_every_size_ipv4(void **state)
{
	every_size("127.0.0.1", "127.0.0.2");
}

static void test_every_size_ipv6(void **state)
{
	every_size("::1", "fd00::2");
}

/* Sends packets of equal lengths, shorter last segments, longer successors, and more packets than
 * one send can carry. */
static void groups(const char *from, const char *to)
{
	static const uint32_t sizes[] = {4096, 4096, 4080, 4096, 0, 0, 5, 1024, 1024, 1024, 1000};
	struct adv_link *a = open_link(from), *b = open_link(to);
	struct store *store = fresh_store();
	struct adv_path path;
	unsigned n = 0;

	path_between(&path, from, to, 0xd000);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < ADV_TX_BATCH_PACKETS; i++, n++) {
			uint32_t size = round == 0 ? 4096 : round == 1 ? 0 : sizes[n % 11];

			add_packet(&batch, &path, 9, n, size);
		}
		send_batch(a);
		receive_all(b, store, n);
	}
	assert_int_equal(store->count, n);
	for (unsigned i = 0; i < n; i++)
		check_packet(&store->packet[i], 9, i, i < 64 ? 4096 : i < 128 ? 0 : sizes[i % 11]);
	assert_int_equal(a->counters.tx_packets, n);
	assert_int_equal(b->counters.rx_packets, n);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	close_link(a);
	close_link(b);
}

static void test_groups_ipv4(void **state)
{
	groups("127.0.0.1", "127.0.0.2");
}

static void test_groups_ipv6(void **state)
{
	groups("::1", "fd00::2");
}

/* Two slots of one address never share a source port; two paths to one slot do. */
static void test_slots_have_ports_of_their_own(void **state)
{
	struct adv_link *a = open_link("127.0.0.1"), *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path p, q;
	uint16_t port[2] = {0, 0};

	path_between(&p, "127.0.0.1", "127.0.0.2", 0xffff);
	path_between(&q, "127.0.0.1", "127.0.0.2", 0xffff);
	for (uint32_t i = 0; i < 40; i++)
		add_packet(&batch, i & 4 ? &p : &q, i & 1 ? 0x010007 : 0x020007, i, 512);
	send_batch(a);
	receive_all(b, store, 40);
	assert_int_equal(store->count, 40);
	for (uint32_t i = 0; i < 40; i++) {
		uint16_t sport = store->packet[i].meta.sport;

		check_packet(&store->packet[i], i & 1 ? 0x010007 : 0x020007, i, 512);
		assert_true(sport >= 0xc000);
		if (!port[i & 1])
			port[i & 1] = sport;
		assert_int_equal(sport, port[i & 1]);
	}
	assert_int_not_equal(port[0], port[1]);
	close_link(a);
	close_link(b);
}

/* Checks that single packets and segmented sends arrive with the right source address, from the
 * sender's port. */
static void from_known_port(struct adv_link *a, const char *from, const char *to)
{
	static const uint32_t sizes[] = {0, 4096, 4096, 4096, 100, 8};
	struct adv_gid source = gid_of(from);
	struct adv_link *b = open_link(to);
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, from, to, 0xd000);
	for (uint32_t i = 0; i < 12; i++) {
		add_packet(&batch, &path, 0x010009 + (i << 16), i, sizes[i % 6]);
		if (i % 6 == 5)
			send_batch(a);
	}
	for (uint32_t i = 12; i < 24; i++)
		add_packet(&batch, &path, 9, i, sizes[i % 6]);
	send_batch(a);
	receive_all(b, store, 24);
	assert_int_equal(store->count, 24);
	for (uint32_t i = 0; i < 24; i++) {
		check_packet(&store->packet[i], i < 12 ? 0x010009 + (i << 16) : 9, i, sizes[i % 6]);
		assert_int_equal(store->packet[i].meta.sport, adv_udp_sender(a));
		assert_memory_equal(&store->packet[i].meta.sgid, &source, sizeof(source));
	}
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	close_link(b);
}

/* Asserts that no other socket can bind to the port, with any address and any option. */
static void nobody_can_bind(uint16_t port)
{
	static const char *const address[] = {"127.0.0.1", "127.0.0.9", "0.0.0.0",	   "::1",
					      "fd00::2",   "::",	"::ffff:127.0.0.9"};
	static const int share[] = {0, SO_REUSEADDR, SO_REUSEPORT};

	for (unsigned i = 0; i < 7; i++) {
		for (unsigned s = 0; s < 6; s++) {
			bool ipv6 = strchr(address[i], ':');
			struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
						  .sin6_port = htons(port)};
			struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
			int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			int on = 1, only = s / 3 && i != 6;

			assert_true(fd >= 0);
			if (share[s % 3])
				setsockopt(fd, SOL_SOCKET, share[s % 3], &on, sizeof(on));
			if (ipv6)
				setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
			inet_pton(ipv6 ? AF_INET6 : AF_INET, address[i],
				  ipv6 ? (void *)&a6.sin6_addr : (void *)&a4.sin_addr);
			assert_int_equal(ipv6 ? bind(fd, (void *)&a6, sizeof(a6))
					      : bind(fd, (void *)&a4, sizeof(a4)),
					 -1);
			assert_int_equal(errno, EADDRINUSE);
			close(fd);
		}
	}
}

/* Packets to this machine come from one port, from which no other socket can send. */
static void test_known_sender(void **state)
{
	unsigned before = open_descriptors();
	struct adv_link *a = open_known("127.0.0.1"), *other = open_link("127.0.0.5");
	struct adv_udp_address own[] = {
		{gid_of("127.0.0.1"), 1}, {gid_of("fd00::2"), 1}, {gid_of("::1"), 1}};

	assert_int_equal(adv_udp_set_addresses(a, own, 3), 0);
	assert_int_not_equal(adv_udp_sender(a), 0);
	assert_int_equal(adv_udp_sender(other), 0);
	from_known_port(a, "127.0.0.1", "127.0.0.2");
	from_known_port(a, "127.0.0.3", "127.0.0.2");
	from_known_port(a, "::1", "fd00::2");
	from_known_port(a, "fd00::2", "::1");
	nobody_can_bind(adv_udp_sender(a));
	close_link(a);
	close_link(other);
	assert_int_equal(open_descriptors(), before);
}

static void test_port_taken(void **state)
{
	struct adv_link *a = open_link("127.0.0.1");
	struct store *store = fresh_store();
	int taken = plain_socket("127.0.0.1", 0xc800);
	struct adv_path path;

	path_between(&path, "127.0.0.1", "127.0.0.1", 0xc800);
	add_packet(&batch, &path, 1, 1, 64);
	send_batch(a);
	receive_all(a, store, 1);
	assert_int_equal(store->count, 1);
	assert_int_equal(store->packet[0].meta.sport, 0xc801);
	close(taken);
	close_link(a);
}

static void ecn(const char *listen, const char *from, const char *to)
{
	static const enum adv_ecn marks[] = {ADV_ECN_ECT0, ADV_ECN_ECT0, ADV_ECN_NOT_ECT,
					     ADV_ECN_ECT1, ADV_ECN_CE,	 ADV_ECN_CE};
	struct adv_link *a = open_sender(from), *b = open_link(listen);
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, from, to, 0xc001);
	path.tclass = 0xb8;
	for (uint32_t i = 0; i < 60; i++)
		add_packet(&batch, &path, 1, i, 256)->ecn = marks[i % 6];
	send_batch(a);
	receive_all(b, store, 60);
	assert_int_equal(store->count, 60);
	for (uint32_t i = 0; i < 60; i++) {
		check_packet(&store->packet[i], 1, i, 256);
		assert_int_equal(store->packet[i].meta.tclass, 0xb8 | marks[i % 6]);
		assert_memory_equal(&store->packet[i].meta.dgid, &path.dgid, 16);
	}
	close_link(a);
	close_link(b);
}

static void hop_limit(const char *listen, const char *from, const char *to)
{
	struct adv_link *a = open_sender(from), *b = open_link(listen);
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, from, to, 0xc001);
	for (unsigned i = 0; i < 4; i++) {
		path.hop_limit = (uint8_t)(33 + i / 2);
		path.link_memo = 0;
		add_packet(&batch, &path, 1, i, 256);
		send_batch(a);
		receive_all(b, store, i + 1);
		assert_int_equal(store->packet[i].meta.hop_limit, 33 + i / 2);
	}
	close_link(a);
	close_link(b);
}

static void test_hop_limit(void **state)
{
	hop_limit("127.0.0.2", "127.0.0.1", "127.0.0.2");
	hop_limit("fd00::2", "::1", "fd00::2");
	hop_limit("::", "127.0.0.1", "127.0.0.2");
	hop_limit("::", "::1", "fd00::2");
}

static void test_ecn(void **state)
{
	ecn("127.0.0.2", "127.0.0.1", "127.0.0.2");
	ecn("fd00::2", "::1", "fd00::2");
	ecn("::", "127.0.0.1", "127.0.0.2");
	ecn("::", "::1", "fd00::2");
}

/* Checks that the link detects each flipped bit that the ICRC covers. */
static void flipped_bits(const char *from, const char *to)
{
	struct adv_link *b = open_link(to);
	struct store *store = fresh_store();
	int fd = plain_socket(from, 0xc900);
	uint8_t p[128];
	size_t len = make_packet(p, from, 0xc900, to, 0, 5, 77, 33);

	send_plain(fd, to, p, len, 0);
	receive_all(b, store, 1);
	assert_int_equal(store->count, 1);
	for (unsigned bit = 0; bit < len * 8; bit++) {
		if (bit / 8 == 4) /* FECN, BECN: not covered */
			continue;
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		send_plain(fd, to, p, len, 0);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	receive_counted(b, store, 1 + (len - 1) * 8);
	assert_int_equal(store->count, 1);
	assert_int_equal(b->counters.rx_icrc_errors, (len - 1) * 8);
	close(fd);
	close_link(b);
}

static void test_flipped_bits(void **state)
{
	flipped_bits("127.0.0.1", "127.0.0.2");
	flipped_bits("::1", "fd00::2");
}

/* From an own address, a segment needs the Identification of its index. A single packet may have
 * the Identification of any segment of a GSO send. */
static void test_identification_from_own_address(void **state)
{
	struct adv_link *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	int fd = plain_socket("127.0.0.1", 0xc900);
	uint8_t p[4 * 128];
	size_t len = 0;

	for (uint32_t id = 0; id < 130; id++) {
		len = make_packet(p, "127.0.0.1", 0xc900, "127.0.0.2", (uint16_t)id, 5, id, 60);
		send_plain(fd, "127.0.0.2", p, len, 0);
	}
	receive_counted(b, store, 130);
	assert_int_equal(store->count, 64);
	for (uint32_t i = 0; i < 64; i++)
		check_packet(&store->packet[i], 5, i, 60);

	store = fresh_store();
	for (unsigned first = 0; first < 2; first++) {
		for (unsigned i = 0; i < 4; i++)
			make_packet(p + i * len, "127.0.0.1", 0xc900, "127.0.0.2",
				    (uint16_t)(first + i), 5, i, 60);
		send_plain(fd, "127.0.0.2", p, 4 * len, (uint16_t)len);
	}
	receive_counted(b, store, 138);
	assert_int_equal(store->count, 4);
	close(fd);
	close_link(b);
}

/* From other machines any Identification is accepted. The Identifications of one train increase by
 * one. */
static void test_identification_from_elsewhere(void **state)
{
	struct adv_link *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	uint8_t p[4 * 128];
	int fd;

	assert_int_equal(system("ip address add 192.0.2.1/32 dev lo"), 0);
	fd = plain_socket("192.0.2.1", 0xc900);
	for (uint32_t id = 0; id < 65536; id += 257) {
		size_t len = make_packet(p, "192.0.2.1", 0xc900, "127.0.0.2", (uint16_t)id, 5,
					 id & 0xffff, 60);

		send_plain(fd, "127.0.0.2", p, len, 0);
		for (unsigned i = 0; i < 4; i++)
			make_packet(p + i * len, "192.0.2.1", 0xc900, "127.0.0.2",
				    (uint16_t)(id + i), 5, i, 60);
		send_plain(fd, "127.0.0.2", p, 4 * len, (uint16_t)len);
	}
	receive_all(b, store, 5 * 256);
	assert_int_equal(store->count, 5 * 256);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	close(fd);
	close_link(b);
}

static void test_random_datagrams(void **state)
{
	struct adv_link *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	int fd = plain_socket("127.0.0.1", 0xc900);
	static uint8_t p[65507];

	srand(1);
	for (size_t len = 0; len <= 64; len++) {
		for (unsigned round = 0; round < 20; round++) {
			for (size_t i = 0; i < len; i++)
				p[i] = (uint8_t)rand();
			send_plain(fd, "127.0.0.2", p, len, 0);
		}
		receive_all(b, store, 0);
	}
	send_plain(fd, "127.0.0.2", p, sizeof(p), 0);
	send_plain(fd, "127.0.0.2", p, 60000, 1000);
	send_plain(fd, "127.0.0.2", p, 33, 1);
	receive_counted(b, store, 65 * 20 + 1 + 60 + 33);
	assert_int_equal(store->count, 0);
	assert_int_equal(b->counters.rx_packets, 65 * 20 + 1 + 60 + 33);
	assert_int_equal(b->counters.rx_malformed + b->counters.rx_icrc_errors,
			 b->counters.rx_packets);
	close(fd);
	close_link(b);
}

/* Datagrams of one packet whose report is known, and whose length may be. */
static void test_known_lengths(void **state)
{
	struct adv_link *b = open_link_for("127.0.0.2", 0x030000, 0x10000);
	struct store *store = fresh_store();
	int fd = plain_socket("127.0.0.1", 0xc900);
	uint8_t longer[128], shorter[64], other[64];

	assert_int_equal(make_packet(longer, "127.0.0.1", 0xc900, "127.0.0.2", 0, 0x030000, 1, 112),
			 sizeof(longer));
	make_packet(shorter, "127.0.0.1", 0xc900, "127.0.0.2", 0, 0x030000, 2, 48);
	make_packet(other, "127.0.0.1", 0xc900, "127.0.0.2", 0, 0x040000, 3, 48);
	for (unsigned i = 0; i < 4; i++) {
		send_plain(fd, "127.0.0.2", longer, sizeof(longer), 0);
		send_plain(fd, "127.0.0.2", shorter, sizeof(shorter), 0);
		send_plain(fd, "127.0.0.2", shorter, sizeof(shorter), 0);
		receive_all(b, store, 3 * (i + 1));
	}
	assert_int_equal(store->count, 12);
	for (unsigned i = 0; i < 12; i++)
		check_packet(&store->packet[i], 0x030000, i % 3 ? 2 : 1, i % 3 ? 48 : 112);
	send_plain(fd, "127.0.0.2", other, sizeof(other), 0);
	receive_counted(b, store, 13);
	assert_int_equal(b->counters.rx_misdelivered, 1);
	/* The first bytes of the packet before. */
	send_plain(fd, "127.0.0.2", longer, sizeof(longer), 0);
	receive_counted(b, store, 14);
	send_plain(fd, "127.0.0.2", longer, sizeof(shorter), 0);
	receive_counted(b, store, 15);
	assert_int_equal(b->counters.rx_icrc_errors, 1);
	assert_int_equal(store->count, 13);
	close(fd);
	close_link(b);
}

/* No packet has a length of 66 or 0. */
static void test_no_known_length(void **state)
{
	struct adv_link *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	int fd = plain_socket("127.0.0.1", 0xc900);
	uint8_t p[66] = {0};

	send_plain(fd, "127.0.0.2", p, sizeof(p), 0);
	send_plain(fd, "127.0.0.2", p, 0, 0);
	receive_counted(b, store, 2);
	assert_int_equal(b->counters.rx_malformed, 2);
	close(fd);
	close_link(b);
}

/* Datagrams of one packet with two lengths, each with a traffic class of its own. */
static void test_known_classes(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc001);
	for (unsigned i = 0; i < 8; i++) {
		add_packet(&batch, &path, 1, i, 48 + i / 2 % 2 * 4)->ecn =
			i / 2 % 2 ? ADV_ECN_CE : ADV_ECN_ECT0;
		send_batch(a);
		receive_all(b, store, i + 1);
		assert_int_equal(store->packet[i].meta.tclass,
				 i / 2 % 2 ? ADV_ECN_CE : ADV_ECN_ECT0);
	}
	close_link(a);
	close_link(b);
}

/* Packets of one datagram have its number; a datagram of one packet has none. */
static void test_datagram_numbers(void **state)
{
	struct adv_link *a = open_link("127.0.0.1"), *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc001);
	for (uint32_t i = 0; i < 7; i++) {
		add_packet(&batch, &path, 1, i, 48);
		if (i % 3 == 2 || i == 6) {
			send_batch(a);
			receive_all(b, store, i + 1);
		}
	}
	assert_int_equal(store->count, 7);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_not_equal(store->packet[i].datagram, 0);
		assert_int_equal(store->packet[i].datagram, store->packet[i / 3 * 3].datagram);
	}
	assert_int_not_equal(store->packet[0].datagram, store->packet[3].datagram);
	assert_int_equal(store->packet[6].datagram, 0);
	close_link(a);
	close_link(b);
}

static void test_other_slots_packets_are_dropped(void **state)
{
	struct adv_link *a = open_link("127.0.0.1");
	struct adv_link *b = open_link_for("127.0.0.2", 0x030000, 0x10000);
	struct store *store = fresh_store();
	struct adv_path path;

	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc001);
	add_packet(&batch, &path, 0x02ffff, 1, 8);
	add_packet(&batch, &path, 0x030000, 2, 8);
	add_packet(&batch, &path, 0x03ffff, 3, 8);
	add_packet(&batch, &path, 0x040000, 4, 8);
	add_packet(&batch, &path, ADV_QPN_MULTICAST, 5, 8);
	send_batch(a);
	receive_counted(b, store, 5);
	assert_int_equal(store->count, 3);
	assert_int_equal(b->counters.rx_misdelivered, 2);
	close_link(a);
	close_link(b);
}

/* Further QP numbers: packets to both ranges are accepted. */
static void test_more_qpns(void **state)
{
	struct adv_link *a = open_link("127.0.0.1");
	struct adv_link *b = open_link_for("127.0.0.2", 0x030000, 0x10000);
	struct store *store = fresh_store();
	struct adv_path path;
	unsigned more = 1;

	assert_int_equal(adv_udp_add_qpns(b, 0x070000, 0x10000), 0);
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc001);
	add_packet(&batch, &path, 0x030000, 1, 8);
	add_packet(&batch, &path, 0x070000, 2, 8);
	send_batch(a);
	for (uint32_t i = 0; i < 3; i++)
		add_packet(&batch, &path, 0x06ffff + i * 0x8000, 3 + i, 8);
	send_batch(a);
	receive_counted(b, store, 5);
	assert_int_equal(store->count, 4);
	assert_int_equal(b->counters.rx_misdelivered, 1);
	while (!adv_udp_add_qpns(b, 0x080000, 1))
		more++;
	assert_int_equal(more, ADV_UDP_RANGES - 1);
	close_link(a);
	close_link(b);
}

/* A packet with a foreign source address, or with addresses of different families, is dropped. The
 * link continues. */
static void test_impossible_paths(void **state)
{
	struct adv_link *a = open_link("127.0.0.1");
	struct adv_path foreign, mixed;

	path_between(&foreign, "198.51.100.7", "127.0.0.2", 0xc001);
	path_between(&mixed, "127.0.0.1", "fd00::2", 0xc001);
	add_packet(&batch, &foreign, 1, 1, 8);
	add_packet(&batch, &mixed, 1, 2, 8);
	send_batch(a);
	assert_int_equal(a->counters.tx_dropped, 2);
	assert_int_equal(a->counters.tx_packets, 0);
	close_link(a);
}

/* If there are more paths than sockets, paths share sockets, if possible of the same slot. */
static void test_few_descriptors(void **state)
{
	struct rlimit before, few;
	struct adv_link *a, *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path path[300];
	uint16_t slot_of[0x4000] = {0};

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	a = open_link("127.0.0.1");
	for (unsigned i = 0; i < 300; i++) {
		path_between(&path[i], "127.0.0.1", "127.0.0.2", (uint16_t)(0xc000 + i));
		add_packet(&batch, &path[i], (i % 3 + 1) << 16, i, 8);
		send_batch(a);
	}
	assert_true(open_descriptors() < 60);
	receive_all(b, store, 300);
	assert_int_equal(store->count, 300);
	for (unsigned i = 0; i < 300; i++) {
		uint16_t *slot = &slot_of[store->packet[i].meta.sport & 0x3fff];

		if (!*slot)
			*slot = (uint16_t)(i % 3 + 1);
		assert_int_equal(*slot, i % 3 + 1);
	}
	setrlimit(RLIMIT_NOFILE, &before);
	close_link(a);
	close_link(b);
}

static void test_no_descriptor_leaks(void **state)
{
	unsigned before = open_descriptors();

	for (unsigned i = 0; i < 200; i++) {
		struct adv_link *a = open_link("127.0.0.1");
		struct adv_path path;

		path_between(&path, "127.0.0.1", "127.0.0.1", (uint16_t)(0xc000 + i));
		add_packet(&batch, &path, 1, 1, 8);
		send_batch(a);
		close_link(a);
	}
	assert_int_equal(open_descriptors(), before);
}

static void test_not_a_socket(void **state)
{
	struct adv_udp_config config = {.receive_fd = dup(STDERR_FILENO)};
	unsigned before = open_descriptors();

	assert_null(adv_udp_create(&config));
	assert_int_equal(open_descriptors(), before - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size_ipv4),
		cmocka_unit_test(test_every_size_ipv6),
		cmocka_unit_test(test_groups_ipv4),
		cmocka_unit_test(test_groups_ipv6),
		cmocka_unit_test(test_slots_have_ports_of_their_own),
		cmocka_unit_test(test_known_sender),
		cmocka_unit_test(test_port_taken),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_hop_limit),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_identification_from_own_address),
		cmocka_unit_test(test_identification_from_elsewhere),
		cmocka_unit_test(test_random_datagrams),
		cmocka_unit_test(test_known_lengths),
		cmocka_unit_test(test_no_known_length),
		cmocka_unit_test(test_known_classes),
		cmocka_unit_test(test_datagram_numbers),
		cmocka_unit_test(test_other_slots_packets_are_dropped),
		cmocka_unit_test(test_more_qpns),
		cmocka_unit_test(test_impossible_paths),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_no_descriptor_leaks),
		cmocka_unit_test(test_not_a_socket),
	};

	if (!netns_enter() || !netns_add_ipv6("fd00::2"))
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
