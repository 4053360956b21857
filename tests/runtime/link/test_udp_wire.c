/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets of the UDP link on the wire, captured below IP: the ICRC of each packet fits the packet's
 * headers. Here lo has no segmentation offload, so the kernel divides segmented sends. The receiver
 * gets single packets with Identifications above 0.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "nic/wire/frame.h"

static struct adv_tx_batch batch;

static int open_capture(void)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct sock_filter outgoing[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {4, outgoing};
	int size = 4 << 20;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)),
			 0);
	a.sll_ifindex = (int)if_nametoindex("lo");
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Checks the captured RoCE frames and returns their number; `room` are expected. ids[psn] becomes
 * the Identification of each frame. */
static unsigned check_capture(int fd, const char *from, uint16_t *ids, unsigned room)
{
	static uint8_t frame[65600];
	struct adv_gid source = gid_of(from);
	unsigned skip = adv_gid_is_ipv4(&source) ? 12 : 0;
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	unsigned n = 0;

	while (poll(&pfd, 1, n < room ? PATIENCE_MS : 0) == 1) {
		ssize_t len = recv(fd, frame, sizeof(frame), 0);
		struct adv_frame f;
		struct adv_headers h;

		assert_true(len > 0);
		if (adv_frame_parse(frame, (size_t)len, &f) != ADV_FRAME_OK)
			continue;
		assert_memory_equal(f.saddr, source.raw + skip, 16 - skip);
		assert_int_equal(f.icrc, adv_frame_icrc(&f));
		assert_int_equal(f.dport, 4791);
		assert_true(skip == 0 || f.ip_df);
		assert_int_not_equal(adv_headers_decode(f.transport, f.transport_len, &h), 0);
		assert_true(h.bth.psn < room);
		ids[h.bth.psn] = f.ip_id;
		n++;
	}
	return n;
}

static void fill_batch(struct adv_path *path)
{
	batch.count = 0;
	batch.iov_used = 0;
	for (uint32_t i = 0; i < 64; i++)
		add_packet(&batch, path, 7, i, i < 20 ? 4096 : i < 22 ? 100 : i < 60 ? 256 : 0);
}

static void capture(const char *from, const char *to)
{
	struct adv_link *a = open_link(from), *b = open_link(to);
	struct store *store = fresh_store();
	int fd = open_capture();
	uint16_t ids[64];
	struct adv_path path;

	path_between(&path, from, to, 0xc000);
	fill_batch(&path);
	assert_true(a->ops->send(a, &batch));
	assert_int_equal(check_capture(fd, from, ids, 64), 64);
	if (!strchr(from, ':')) {
		for (unsigned i = 0; i < 15; i++)
			assert_int_equal(ids[i], i);
		assert_int_equal(ids[15], 0);
		assert_int_equal(ids[63], 2); /* packet 60 ends the previous train */
	}
	receive_all(b, store, 64);
	assert_int_equal(store->count, 64);
	for (uint32_t i = 0; i < 64; i++)
		check_packet(&store->packet[i], 7, i,
			     i < 20   ? 4096
			     : i < 22 ? 100
			     : i < 60 ? 256
				      : 0);
	close(fd);
	close_link(a);
	close_link(b);
}

static void test_capture_ipv4(void **state)
{
	capture("127.0.0.1", "127.0.0.2");
}

static void test_capture_ipv6(void **state)
{
	capture("::1", "fd00::2");
}

/* If the MTU of the path is too small for the packets, all are dropped. Smaller packets pass. */
static void test_small_mtu(void **state)
{
	struct adv_link *a = open_link("127.0.0.1"), *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path path;

	assert_int_equal(system("ip link set lo mtu 1500"), 0);
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc000);
	fill_batch(&path);
	assert_true(a->ops->send(a, &batch));
	receive_all(b, store, 44);
	assert_int_equal(store->count, 44);
	assert_int_equal(a->counters.tx_dropped, 20);
	assert_int_equal(a->counters.tx_packets, 44);
	for (uint32_t i = 20; i < 64; i++)
		check_packet(&store->packet[i - 20], 7, i, i < 22 ? 100 : i < 60 ? 256 : 0);
	assert_int_equal(system("ip link set lo mtu 65536"), 0);
	close_link(a);
	close_link(b);
}

/* If the device's queue becomes full, no packet is lost, duplicated or reordered. */
static void test_full_socket(void **state)
{
	struct adv_link *a = open_link("127.0.0.1"), *b = open_link("127.0.0.2");
	struct store *store = fresh_store();
	struct adv_path path;
	unsigned n = 0, blocked = 0;

	if (system("tc qdisc add dev lo root tbf rate 50mbit burst 128kb limit 64mb") != 0)
		skip();
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc000);
	while (n < 40 * 64) {
		bool room;

		batch.count = 0;
		batch.iov_used = 0;
		for (unsigned i = 0; i < 64; i++, n++)
			add_packet(&batch, &path, 7, n, n % 9 ? 4096 : 60);
		room = a->ops->send(a, &batch);
		while (!room) {
			struct pollfd pfd = {.fd = a->send_fd, .events = POLLOUT};

			assert_true(a->send_fd >= 0);
			blocked++;
			assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
			room = a->ops->flush(a);
			receive_all(b, store, 0);
		}
		assert_int_equal(a->send_fd, -1);
	}
	receive_all(b, store, n);
	assert_int_equal(system("tc qdisc del dev lo root"), 0);
	assert_int_equal(store->count, n);
	for (uint32_t i = 0; i < n; i++)
		check_packet(&store->packet[i], 7, i, i % 9 ? 4096 : 60);
	assert_true(blocked > 0);
	assert_int_equal(a->counters.tx_dropped, 0);
	close_link(a);
	close_link(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture_ipv4),
		cmocka_unit_test(test_capture_ipv6),
		cmocka_unit_test(test_full_socket),
		cmocka_unit_test(test_small_mtu),
	};

	if (!netns_enter() || !netns_add_ipv6("fd00::2") ||
	    !netns_feature_off("lo", "tx-udp-segmentation"))
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
