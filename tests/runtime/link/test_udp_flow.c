/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the UDP link remembers of paths and of received datagrams. None of it may outlive a change.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/link/udp_internal.h"
#include "../../common/netns.h"

static struct adv_tx_batch batch;

static void send_batch(struct adv_link *link)
{
	assert_true(link->ops->send(link, &batch));
	batch.count = 0;
	batch.iov_used = 0;
}

/* Sends one packet and asserts that it arrives with these addresses. Returns its source port. */
static uint16_t send_one(struct adv_link *a, struct adv_link *b, struct adv_path *path,
			 uint32_t psn)
{
	struct store *store = fresh_store();

	add_packet(&batch, path, 7, psn, 64);
	send_batch(a);
	receive_all(b, store, 1);
	assert_int_equal(store->count, 1);
	check_packet(&store->packet[0], 7, psn, 64);
	assert_memory_equal(&store->packet[0].meta.sgid, &path->sgid, 16);
	assert_memory_equal(&store->packet[0].meta.dgid, &path->dgid, 16);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	return store->packet[0].meta.sport;
}

/* A path whose addresses change keeps its hint. Its packets go to the new addresses. */
static void test_path_changes(void **state)
{
	static const char *const address[] = {"127.0.0.1", "127.0.0.2", "::1", "fd00::2"};
	struct adv_link *a = open_sender("::"), *b = open_link("::");
	struct adv_path path;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < 64; i++) {
		unsigned family = i / 16 % 2 * 2;

		path_between(&path, address[family + i % 2], address[family + i / 2 % 2],
			     (uint16_t)(0xc100 + i / 4 % 2));
		path.link_hint = hint;
		assert_int_equal(send_one(a, b, &path, i), 0xc100 + i / 4 % 2);
		hint = path.link_hint;
	}
	close_link(a);
	close_link(b);
}

/* An address becomes one of the machine's own. From then on its packets leave from the sender's
 * port, until the machine loses the address. */
static void test_addresses_change(void **state)
{
	struct adv_link *b = open_link("fd00::2"), *a = open_known("::1");
	struct adv_udp_address own = {gid_of("fd00::2"), 1}, many[ADV_UDP_ADDRESSES + 1] = {0};
	struct adv_path path;

	path_between(&path, "::1", "fd00::2", 0xc200);
	for (uint32_t i = 0; i < 12; i++) {
		unsigned count = i / 3 % 2;

		assert_int_equal(adv_udp_set_addresses(a, &own, count), 0);
		assert_int_equal(send_one(a, b, &path, i), count ? adv_udp_sender(a) : 0xc200);
	}
	assert_int_equal(adv_udp_set_addresses(a, many, ADV_UDP_ADDRESSES + 1), ENOSPC);
	assert_true(adv_udp_is_own_address(a, &own.gid));
	close_link(a);
	close_link(b);
}

/* The sender's socket is bound to no address. Its packets carry the path's source address, also if
 * that is the destination, and the kernel would choose another one or the same. */
static void test_source_of_sender(void **state)
{
	static const char *const address[] = {"127.0.0.1", "127.0.0.2", "192.0.2.1",
					      "192.0.2.2", "::1",	"fd00::2"};
	struct adv_link *a = open_known("127.0.0.9"), *b = NULL;
	struct adv_udp_address own[6];
	struct adv_path path;

	assert_int_equal(system("ip address add 192.0.2.1/24 dev lo && "
				"ip address add 192.0.2.2/24 dev lo"),
			 0);
	for (unsigned i = 0; i < 6; i++)
		own[i] = (struct adv_udp_address){gid_of(address[i]), 1};
	assert_int_equal(adv_udp_set_addresses(a, own, 6), 0);
	for (unsigned to = 0; to < 6; to++) {
		b = open_link(address[to]);
		for (unsigned from = to < 4 ? 0 : 4; from < (to < 4 ? 4 : 6); from++) {
			path_between(&path, address[from], address[to], 0xc300);
			assert_int_equal(send_one(a, b, &path, from), adv_udp_sender(a));
		}
		close_link(b);
	}
	assert_int_equal(system("ip address del 192.0.2.1/24 dev lo"), 0);
	close_link(a);
}

#define PATHS 3072 /* more than the link has places for */

/* Sends packets in batches of 64 paths, and asserts that each packet arrives at its destination. */
static void send_along(struct adv_link *a, struct adv_link *b, struct adv_path *path)
{
	struct store *store = fresh_store();

	for (uint32_t i = 0; i < PATHS; i++) {
		add_packet(&batch, &path[i], i, i, 8);
		if (batch.count == ADV_TX_BATCH_PACKETS) {
			send_batch(a);
			receive_all(b, store, i + 1);
		}
	}
	assert_int_equal(store->count, PATHS);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	for (uint32_t i = 0; i < PATHS; i++) {
		check_packet(&store->packet[i], i, i, 8);
		assert_memory_equal(&store->packet[i].meta.dgid, &path[i].dgid, 16);
	}
}

/* There are more paths than places, so paths of one batch need the same place, and hints become
 * wrong. */
static void test_many_paths(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("0.0.0.0");
	static struct adv_path path[PATHS];
	char address[20];

	assert_true(PATHS > UDP_FLOWS);
	for (unsigned i = 0; i < PATHS; i++) {
		snprintf(address, sizeof(address), "127.1.%u.%u", i / 200, i % 200 + 1);
		path_between(&path[i], "127.0.0.1", address, 0xc400);
	}
	for (unsigned round = 0; round < 3; round++)
		send_along(a, b, path);
	close_link(a);
	close_link(b);
}

/* Datagrams of one length from many sources, in turn: each has its own addresses, port and marks.
 */
static void test_many_sources(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("0.0.0.0");
	struct store *store = fresh_store();
	struct adv_path path[200];
	char from[20], to[20];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(from, sizeof(from), "127.2.0.%u", i % 7 + 1);
		snprintf(to, sizeof(to), "127.3.0.%u", i % 3 + 1);
		path_between(&path[i], from, to, (uint16_t)(0xc500 + i % 5));
		path[i].tclass = (uint8_t)(i % 2 << 2);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		add_packet(&batch, &path[i % 200], 7, i, 64)->ecn = i % 4;
		if (batch.count == 50)
			send_batch(a);
		receive_all(b, store, batch.count ? 0 : i + 1);
	}
	assert_int_equal(store->count, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct adv_rx_meta *meta = &store->packet[i].meta;
		const struct adv_path *p = &path[i % 200];

		check_packet(&store->packet[i], 7, i, 64);
		assert_memory_equal(&meta->sgid, &p->sgid, 16);
		assert_memory_equal(&meta->dgid, &p->dgid, 16);
		assert_int_equal(meta->sport, p->sport);
		assert_int_equal(meta->tclass, p->tclass | (i % 4));
	}
	close_link(a);
	close_link(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_changes),	 cmocka_unit_test(test_addresses_change),
		cmocka_unit_test(test_source_of_sender), cmocka_unit_test(test_many_paths),
		cmocka_unit_test(test_many_sources),
	};

	if (!netns_enter() || !netns_add_ipv6("fd00::2"))
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
