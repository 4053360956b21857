/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RoCE v1 link: frames between the two ends of a veth pair, and which frames it accepts. */
#include "harness.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/link/raw.h"
#include "../../common/netns.h"
#include "base/bytes.h"
#include "nic/wire/frame.h"

#define A      "10.9.0.1"
#define B      "10.9.0.2"
#define FORGED "10.9.0.3"
#define GROUP  "224.1.2.3"
#define QPN_A  0x1000u
#define QPN_B  0x2000u
#define QPNS   0x800u
#define FRAMES 20000 /* more than the receive ring has places */

static struct adv_tx_batch batch;
static uint8_t mac_a[6], mac_b[6];
static uint32_t index_a, index_b;

struct pair {
	struct adv_link *a;
	struct adv_link *b;
	struct adv_path path; /* from a to b */
};

static void read_mac(const char *device, uint8_t mac[6])
{
	struct ifreq r = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strncpy(r.ifr_name, device, sizeof(r.ifr_name) - 1);
	assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &r), 0);
	memcpy(mac, r.ifr_hwaddr.sa_data, 6);
	close(fd);
}

static struct adv_link *open_raw(const char *udp, uint32_t qpn, const char *address,
				 uint32_t ifindex, const uint8_t mac[6])
{
	struct adv_raw_address own = {.gid = gid_of(address), .ifindex = ifindex};
	struct adv_link *link = adv_raw_create(open_link(udp), qpn, QPNS);

	assert_non_null(link);
	memcpy(own.mac, mac, 6);
	assert_int_equal(adv_raw_set_addresses(link, &own, 1), 0);
	return link;
}

static void v1_path(struct adv_path *path, const char *to, const uint8_t mac[6])
{
	path_between(path, A, to, 0);
	path->v1 = true;
	path->hop_limit = 64;
	memcpy(path->dmac, mac, 6);
}

static struct pair open_pair(void)
{
	struct pair p = {.a = open_raw("127.0.0.1", QPN_A, A, index_a, mac_a),
			 .b = open_raw("127.0.0.2", QPN_B, B, index_b, mac_b)};

	v1_path(&p.path, B, mac_b);
	return p;
}

static void close_pair(struct pair *p)
{
	close_link(p->a);
	close_link(p->b);
}

static void send_batch(struct adv_link *link)
{
	assert_true(link->ops->send(link, &batch));
	batch.count = batch.iov_used = 0;
}

static void test_every_size(void **state)
{
	struct pair p = open_pair();

	for (uint32_t size = 0; size <= 4096; size += size < 80 ? 1 : 67) {
		struct store *store = fresh_store();

		p.path.tclass = 0x60;
		p.path.flow_label = size;
		add_packet(&batch, &p.path, QPN_B, size, size);
		send_batch(p.a);
		receive_all(p.b, store, 1);
		assert_int_equal(store->count, 1);
		check_packet(&store->packet[0], QPN_B, size, size);
		assert_memory_equal(&store->packet[0].meta.sgid, &p.path.sgid, 16);
		assert_memory_equal(&store->packet[0].meta.dgid, &p.path.dgid, 16);
		assert_true(adv_rx_is_v1(&store->packet[0].meta));
		assert_int_equal(store->packet[0].meta.tclass, 0x60);
		assert_int_equal(store->packet[0].meta.hop_limit, 64);
		assert_int_equal(store->packet[0].meta.flow_label, size);
	}
	assert_int_equal(p.b->counters.rx_icrc_errors + p.b->counters.rx_malformed, 0);
	assert_int_equal(p.a->counters.tx_packets, p.b->counters.rx_packets);
	assert_int_equal(p.a->counters.tx_bytes, p.b->counters.rx_bytes);
	close_pair(&p);
}

/* Batches of packets to two links arrive whole and in order, several times round the ring. */
static void test_round_the_ring(void **state)
{
	struct pair p = open_pair();
	unsigned psn = 0;

	while (psn < FRAMES) {
		struct store *store = fresh_store();

		for (unsigned i = 0; i < ADV_TX_BATCH_PACKETS; i++)
			add_packet(&batch, &p.path, QPN_B + i, psn + i, i * 8);
		send_batch(p.a);
		receive_all(p.b, store, ADV_TX_BATCH_PACKETS);
		assert_int_equal(store->count, ADV_TX_BATCH_PACKETS);
		for (unsigned i = 0; i < ADV_TX_BATCH_PACKETS; i++, psn++)
			check_packet(&store->packet[i], QPN_B + i, psn, i * 8);
	}
	close_pair(&p);
}

/* ---- frames as they are on the wire ---- */

/* Opens a socket that reads all RoCE v1 frames that arrive at an interface. */
static int open_listener(uint32_t ifindex)
{
	const struct sockaddr_ll at = {.sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = (int)ifindex};
	const int on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* Reads the next RoCE v1 frame, and the tag that the kernel has taken off it; -1: none. */
static size_t next_frame(int fd, uint8_t *out, size_t room, int *tci)
{
	union {
		char space[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {out, room};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct tpacket_auxdata aux;
	ssize_t n;

	do {
		h.msg_controllen = sizeof(control);
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		n = recvmsg(fd, &h, 0);
		assert_true(n > 14);
	} while (adv_get_be16(out + 12) != ADV_ETHERTYPE_ROCE);
	memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(aux));
	*tci = aux.tp_status & TP_STATUS_VLAN_VALID ? aux.tp_vlan_tci : -1;
	return (size_t)n;
}

static void test_bytes(void **state)
{
	struct pair p = open_pair();
	int fd = open_listener(index_b), tci;
	uint8_t bytes[2048];
	struct adv_frame f;
	size_t n;

	p.path.tclass = 0x23;
	p.path.flow_label = 0x12345;
	add_packet(&batch, &p.path, QPN_B, 7, 21);
	send_batch(p.a);
	n = next_frame(fd, bytes, sizeof(bytes), &tci);
	assert_int_equal(n, 14 + 40 + 12 + 24 + 4);
	assert_int_equal(adv_frame_parse(bytes, n, &f), ADV_FRAME_OK);
	assert_int_equal(f.kind, ADV_FRAME_V1);
	assert_int_equal(tci, -1);
	assert_memory_equal(f.dmac, mac_b, 6);
	assert_memory_equal(f.smac, mac_a, 6);
	assert_memory_equal(f.saddr, p.path.sgid.raw, 16);
	assert_memory_equal(f.daddr, p.path.dgid.raw, 16);
	assert_int_equal(f.tclass, 0x20); /* no ECN */
	assert_int_equal(f.flow_label, 0x12345);
	assert_int_equal(f.hop_limit, 64);
	assert_int_equal(f.icrc, adv_frame_icrc(&f));
	close(fd);
	close_pair(&p);
}

/* An injected fault damages the ICRC. */
static void test_flipped_icrc(void **state)
{
	struct pair p = open_pair();
	struct store *store = fresh_store();

	add_packet(&batch, &p.path, QPN_B, 7, 21)->icrc_flip = 1;
	add_packet(&batch, &p.path, QPN_B, 8, 21);
	send_batch(p.a);
	receive_all(p.b, store, 1);
	assert_int_equal(store->count, 1);
	check_packet(&store->packet[0], QPN_B, 8, 21);
	assert_int_equal(p.b->counters.rx_icrc_errors, 1);
	close_pair(&p);
}

/* The service level is the priority of the socket buffer. */
static void test_priority(void **state)
{
	static const uint8_t sl[] = {0, 3, 3, 6, 0, 15};
	struct pair p = open_pair();
	struct store *store = fresh_store();
	int priority;
	socklen_t len = sizeof(priority);

	for (unsigned i = 0; i < sizeof(sl); i++) {
		p.path.sl = sl[i];
		add_packet(&batch, &p.path, QPN_B, i, 100);
		send_batch(p.a);
		assert_int_equal(
			getsockopt(adv_raw_fd(p.a), SOL_SOCKET, SO_PRIORITY, &priority, &len), 0);
		assert_int_equal(priority, sl[i] & 7);
	}
	receive_all(p.b, store, sizeof(sl));
	close_pair(&p);
}

/* The priority of the VLAN tag is that of the socket buffer, by the interface's map. */
static void test_vlan_priority(void **state)
{
	struct pair p;
	int fd, tci;
	uint8_t bytes[2048];
	struct adv_raw_address own = {.gid = gid_of(A)};

	if (system("ip link add link va name va.5 type vlan id 5 egress-qos-map 3:6 5:1 && "
		   "ip link set va.5 up") != 0)
		skip();
	p = open_pair();
	fd = open_listener(index_b);
	own.ifindex = if_nametoindex("va.5");
	memcpy(own.mac, mac_a, 6);
	assert_int_equal(adv_raw_set_addresses(p.a, &own, 1), 0);
	for (unsigned i = 0; i < 3; i++) {
		static const uint8_t sl[] = {3, 5, 0};
		static const int wanted[] = {6 << 13 | 5, 1 << 13 | 5, 5};

		p.path.sl = sl[i];
		add_packet(&batch, &p.path, QPN_B, i, 100);
		send_batch(p.a);
		next_frame(fd, bytes, sizeof(bytes), &tci);
		assert_int_equal(tci, wanted[i]);
	}
	close(fd);
	close_pair(&p);
	assert_int_equal(system("ip link del va.5"), 0);
}

/* ---- ways ---- */

/* Packets to own addresses, and those of v2 paths, go through the inner link. */
static void test_inner(void **state)
{
	struct pair p = open_pair();
	struct adv_path own, v2;

	for (unsigned i = 0; i < 2; i++) {
		struct store *store = fresh_store();
		struct adv_link_way way;

		path_between(&own, "127.0.0.1", "127.0.0.2", 0xc000);
		path_between(&v2, "127.0.0.1", "127.0.0.2", 0xc000);
		own.v1 = true;
		add_packet(&batch, i ? &v2 : &own, 1, 5, 64);
		adv_link_find_way(p.a, &batch.packet[0], &way);
		assert_false(way.v1);
		send_batch(p.a);
		receive_all(p.b, store, 1);
		assert_false(adv_rx_is_v1(&store->packet[0].meta));
		check_packet(&store->packet[0], 1, 5, 64);
	}
	assert_int_equal(p.a->counters.tx_packets, 0);
	assert_int_equal(adv_link_count(p.a).tx_packets, 2);
	close_pair(&p);
}

/* A batch with packets of both ways is sent whole. */
static void test_mixed_batch(void **state)
{
	struct pair p = open_pair();
	struct store *store = fresh_store();
	struct adv_path v2;
	unsigned v1 = 0;

	path_between(&v2, "127.0.0.1", "127.0.0.2", 0xc000);
	for (unsigned i = 0; i < 10; i++)
		add_packet(&batch, i % 3 ? &p.path : &v2, i % 3 ? QPN_B : 1, i, 64);
	send_batch(p.a);
	receive_all(p.b, store, 10);
	assert_int_equal(store->count, 10);
	for (unsigned i = 0; i < 10; i++)
		v1 += adv_rx_is_v1(&store->packet[i].meta);
	assert_int_equal(v1, 6);
	close_pair(&p);
}

/* Packets from an address that the machine no longer has, and long packets, are dropped. */
static void test_dropped(void **state)
{
	struct pair p = open_pair();

	add_packet(&batch, &p.path, QPN_B, 1, 8)->more = 3;
	send_batch(p.a);
	assert_int_equal(adv_raw_set_addresses(p.a, NULL, 0), 0);
	add_packet(&batch, &p.path, QPN_B, 1, 8);
	send_batch(p.a);
	assert_int_equal(p.a->counters.tx_dropped, 2);
	close_pair(&p);
}

/* A frame that is longer than the interface's MTU is lost, and the next one is sent. */
static void test_too_long(void **state)
{
	struct pair p = open_pair();
	struct store *store = fresh_store();

	assert_int_equal(system("ip link set va mtu 1500"), 0);
	add_packet(&batch, &p.path, QPN_B, 1, 2048);
	add_packet(&batch, &p.path, QPN_B, 2, 1024);
	send_batch(p.a);
	receive_all(p.b, store, 1);
	check_packet(&store->packet[0], QPN_B, 2, 1024);
	assert_int_equal(p.a->counters.tx_dropped, 1);
	assert_int_equal(system("ip link set va mtu 9000"), 0);
	close_pair(&p);
}

/* ---- which frames arrive ---- */

/* Sends `last` after the frames of the test, and checks that it is the only packet that arrives. */
static void expect_only_last(struct pair *p)
{
	struct store *store = fresh_store();

	add_packet(&batch, &p->path, QPN_B, 99, 8);
	send_batch(p->a);
	receive_all(p->b, store, 1);
	assert_int_equal(store->count, 1);
	check_packet(&store->packet[0], QPN_B, 99, 8);
}

/* The kernel does not even give the link frames for other QP numbers. */
static void test_other_numbers(void **state)
{
	struct pair p = open_pair();

	add_packet(&batch, &p.path, QPN_B - 1, 1, 8);
	add_packet(&batch, &p.path, QPN_B + QPNS, 1, 8);
	add_packet(&batch, &p.path, 1, 1, 8);
	send_batch(p.a);
	expect_only_last(&p);
	assert_int_equal(p.b->counters.rx_packets, 1);
	close_pair(&p);
}

static void test_more_numbers(void **state)
{
	struct pair p = open_pair();
	struct store *store = fresh_store();

	for (unsigned i = 1; i < ADV_UDP_RANGES; i++)
		assert_int_equal(adv_raw_add_qpns(p.b, 0x800000 + i * 0x10000, 0x10000), 0);
	assert_int_equal(adv_raw_add_qpns(p.b, 0x400000, 0x10000), ENOSPC);
	add_packet(&batch, &p.path, 0x81ffff, 1, 8);
	add_packet(&batch, &p.path, 0x84ffff, 2, 8);
	add_packet(&batch, &p.path, 0x850000, 3, 8);
	add_packet(&batch, &p.path, QPN_B, 4, 8);
	send_batch(p.a);
	receive_all(p.b, store, 3);
	assert_int_equal(store->count, 3);
	close_pair(&p);
}

/* Frames to another GID, or for another machine's MAC address, are not accepted. */
static void test_other_addresses(void **state)
{
	static const uint8_t other[6] = {2, 0, 0, 0, 0, 9};
	struct pair p = open_pair();
	struct adv_path gid, mac;

	v1_path(&gid, "10.9.0.77", mac_b);
	v1_path(&mac, B, other);
	add_packet(&batch, &gid, QPN_B, 1, 8);
	add_packet(&batch, &mac, QPN_B, 1, 8);
	send_batch(p.a);
	expect_only_last(&p);
	assert_int_equal(p.b->counters.rx_misdelivered, 1);
	assert_int_equal(p.b->counters.rx_packets, 2);
	close_pair(&p);
}

/* Frames to a group arrive if the interface has joined it. */
static void test_multicast(void **state)
{
	static const uint8_t mac[6] = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
	struct pair p = open_pair();
	struct store *store = fresh_store();
	struct adv_gid group = gid_of(GROUP);
	struct adv_path path;
	uint8_t made[6];

	adv_raw_group_mac(&group, made);
	assert_memory_equal(made, mac, 6);
	group = gid_of("ff02::1:2345:6789");
	adv_raw_group_mac(&group, made);
	assert_memory_equal(made, ((uint8_t[]){0x33, 0x33, 0x23, 0x45, 0x67, 0x89}), 6);
	group = gid_of(GROUP);
	assert_int_equal(adv_raw_member(p.b, &group, index_b, true), 0);
	v1_path(&path, GROUP, mac_a); /* the MAC address of the path has no meaning */
	add_packet(&batch, &path, ADV_QPN_MULTICAST, 1, 8);
	send_batch(p.a);
	receive_all(p.b, store, 1);
	check_packet(&store->packet[0], ADV_QPN_MULTICAST, 1, 8);
	assert_int_equal(adv_raw_member(p.b, &group, index_b, false), 0);
	close_pair(&p);
}

static struct adv_raw_address raw_address(const char *text, uint32_t ifindex, const uint8_t mac[6])
{
	struct adv_raw_address own = {.gid = gid_of(text), .ifindex = ifindex};

	memcpy(own.mac, mac, 6);
	return own;
}

/* Frames from an address of the receiving machine are dropped, of whichever kind. */
static void test_own_source(void **state)
{
	struct pair p = open_pair();
	const struct adv_raw_address from[] = {raw_address(A, index_a, mac_a),
					       raw_address(FORGED, index_a, mac_a)};
	const struct adv_raw_address own[] = {raw_address(B, index_b, mac_b),
					      raw_address(FORGED, index_b, mac_b)};
	struct adv_gid group = gid_of(GROUP);
	struct adv_path all, one;

	assert_int_equal(adv_raw_set_addresses(p.a, from, 2), 0);
	assert_int_equal(adv_raw_set_addresses(p.b, own, 2), 0);
	assert_int_equal(adv_raw_member(p.b, &group, index_b, true), 0);
	v1_path(&all, GROUP, mac_b);
	v1_path(&one, B, mac_b);
	all.sgid = one.sgid = own[1].gid;
	add_packet(&batch, &all, ADV_QPN_MULTICAST, 1, 8);
	add_packet(&batch, &one, QPN_B, 1, 8);
	send_batch(p.a);
	expect_only_last(&p);
	assert_int_equal(p.b->counters.rx_malformed, 2);
	assert_int_equal(adv_raw_member(p.b, &group, index_b, false), 0);
	close_pair(&p);
}

/* A flood of frames that are dropped does not keep the inner link's packets waiting. */
static void test_flood(void **state)
{
	struct pair p = open_pair();
	struct store *store = fresh_store();
	struct pollfd frames = {.fd = adv_raw_fd(p.b), .events = POLLIN};
	struct pollfd packets = {.fd = p.b->inner->receive_fd, .events = POLLIN};
	struct adv_path v2;

	path_between(&v2, "127.0.0.1", "127.0.0.2", 0xc000);
	for (unsigned i = 0; i < ADV_TX_BATCH_PACKETS; i++)
		add_packet(&batch, &p.path, QPN_B, i, 8)->icrc_flip = 1;
	send_batch(p.a);
	add_packet(&batch, &v2, 1, 5, 64);
	send_batch(p.a);
	assert_int_equal(poll(&frames, 1, PATIENCE_MS), 1);
	assert_int_equal(poll(&packets, 1, PATIENCE_MS), 1);
	(void)p.b->ops->receive(p.b, 1, keep_packet, store);
	assert_int_equal(store->count, 1);
	check_packet(&store->packet[0], 1, 5, 64);
	assert_int_equal(p.b->counters.rx_icrc_errors, 1);
	close_pair(&p);
}

/* Frames whose bytes are wrong are counted, and no byte of them is delivered. */
static void test_bad_frames(void **state)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET,
				       .sll_protocol = htons(ADV_ETHERTYPE_ROCE),
				       .sll_ifindex = (int)index_a,
				       .sll_halen = 6};
	struct pair p = open_pair();
	int listener = open_listener(index_b), tci, fd = socket(AF_PACKET, SOCK_RAW, 0);
	uint8_t right[2048], bytes[2048];
	size_t n;

	add_packet(&batch, &p.path, QPN_B, 7, 64);
	send_batch(p.a);
	n = next_frame(listener, right, sizeof(right), &tci);
	for (unsigned i = 0; i < n * 8; i++) {
		memcpy(bytes, right, n);
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		/* What the ICRC does not cover: traffic class, flow label, hop limit, and byte 4 of
		 * the BTH. */
		if ((i / 8 >= 14 && i / 8 < 18) || i / 8 == 21 || i / 8 == 58)
			continue;
		/* The addresses on the Ethernet decide whether the frame arrives. */
		if (i / 8 < 14)
			continue;
		assert_int_equal(sendto(fd, bytes, n, 0, (const struct sockaddr *)&to, sizeof(to)),
				 (ssize_t)n);
	}
	for (size_t cut = 15; cut < n; cut++)
		assert_int_equal(
			sendto(fd, right, cut, 0, (const struct sockaddr *)&to, sizeof(to)),
			(ssize_t)cut);
	receive_all(p.b, fresh_store(), 1);
	expect_only_last(&p);
	assert_true(p.b->counters.rx_icrc_errors > 500);
	assert_true(p.b->counters.rx_malformed > 10);
	close(listener);
	close(fd);
	close_pair(&p);
}

/* ---- a full socket ---- */

/* If the socket is full, the link keeps the frames of the batch, and flush() sends them. */
static void test_full_socket(void **state)
{
	struct pair p;
	struct store *store = fresh_store();
	unsigned sent = 0;
	bool room = true;

	if (system("tc qdisc add dev va root tbf rate 200mbit burst 32k limit 64m 2>/dev/null") !=
	    0)
		skip();
	p = open_pair();
	while (room && sent < STORE_PACKETS) {
		for (unsigned i = 0; i < ADV_TX_BATCH_PACKETS; i++)
			add_packet(&batch, &p.path, QPN_B, sent++, 4096);
		room = p.a->ops->send(p.a, &batch);
		batch.count = batch.iov_used = 0;
	}
	while (!room) {
		struct pollfd both[] = {{.fd = p.a->send_fd, .events = POLLOUT},
					{.fd = p.b->receive_fd, .events = POLLIN}};

		assert_true(p.a->send_fd >= 0);
		assert_true(poll(both, 2, PATIENCE_MS) > 0);
		(void)p.b->ops->receive(p.b, STORE_PACKETS, keep_packet, store);
		if (both[0].revents)
			room = p.a->ops->flush(p.a);
	}
	assert_int_equal(p.a->send_fd, -1);
	receive_all(p.b, store, sent);
	assert_int_equal(store->count, sent);
	for (unsigned i = 0; i < sent; i++)
		check_packet(&store->packet[i], QPN_B, i, 4096);
	assert_int_equal(p.a->counters.tx_dropped, 0);
	assert_true(p.a->counters.tx_blocked > 0);
	close_pair(&p);
	assert_int_equal(system("tc qdisc del dev va root"), 0);
}

/* Frames that the interface's queue refuses are lost, as in a NIC. The link does not wait for room
 * in the socket, which has some. Later frames leave. */
static void test_refused_by_queue(void **state)
{
	struct pair p;
	struct store *store = fresh_store();
	unsigned psn = 0;

	if (system("tc qdisc add dev va root tbf rate 1mbit burst 300 limit 300 2>/dev/null") != 0)
		skip();
	p = open_pair();
	for (unsigned i = 0; i < 2 * ADV_TX_BATCH_PACKETS; i++) {
		add_packet(&batch, &p.path, QPN_B, psn++, 1024);
		if (i % ADV_TX_BATCH_PACKETS == ADV_TX_BATCH_PACKETS - 1)
			send_batch(p.a);
	}
	assert_int_equal(p.a->send_fd, -1);
	assert_int_equal(p.a->counters.tx_dropped, psn);
	assert_int_equal(p.a->counters.tx_packets, 0);
	assert_int_equal(system("tc qdisc del dev va root"), 0);
	add_packet(&batch, &p.path, QPN_B, psn, 1024);
	send_batch(p.a);
	receive_all(p.b, store, 1);
	check_packet(&store->packet[0], QPN_B, psn, 1024);
	close_pair(&p);
}

/* ---- creation ---- */

static void test_descriptors(void **state)
{
	unsigned before = open_descriptors();

	for (unsigned i = 0; i < 20; i++) {
		struct pair p = open_pair();

		close_pair(&p);
	}
	assert_int_equal(open_descriptors(), before);
}

/* A new inner link serves in place of the old one. */
static void test_new_inner(void **state)
{
	struct pair p = open_pair();
	struct adv_link *old = (struct adv_link *)(uintptr_t)p.b->inner;
	struct store *store = fresh_store();
	struct adv_path v2;

	adv_raw_set_inner(p.b, open_link("127.0.0.3"));
	close_link(old);
	path_between(&v2, "127.0.0.1", "127.0.0.3", 0xc000);
	add_packet(&batch, &v2, 1, 5, 64);
	add_packet(&batch, &p.path, QPN_B, 6, 64);
	send_batch(p.a);
	receive_all(p.b, store, 2);
	assert_int_equal(store->count, 2);
	close_pair(&p);
}

static bool make_devices(void)
{
	if (system("ip link add va mtu 9000 type veth peer name vb mtu 9000 && "
		   "ip link set va up && ip link set vb up") != 0 ||
	    !netns_wait_running("va") || !netns_wait_running("vb"))
		return false;
	index_a = if_nametoindex("va");
	index_b = if_nametoindex("vb");
	return true;
}

static int start(void **state)
{
	read_mac("va", mac_a);
	read_mac("vb", mac_b);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_round_the_ring),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_flipped_icrc),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_vlan_priority),
		cmocka_unit_test(test_inner),
		cmocka_unit_test(test_mixed_batch),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_other_numbers),
		cmocka_unit_test(test_more_numbers),
		cmocka_unit_test(test_other_addresses),
		cmocka_unit_test(test_multicast),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_full_socket),
		cmocka_unit_test(test_own_source),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_new_inner),
		cmocka_unit_test(test_refused_by_queue),
	};

	if (!netns_enter() || !make_devices())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, start, NULL);
}
