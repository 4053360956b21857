/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a path remembers of its last plain packet. It must not outlive any change. */
#include "harness.h"

#include <stdio.h>

#include "runtime/link/udp_internal.h"
#include "../../common/netns.h"

static struct adv_tx_batch batch;

/* Sends one packet of 8 bytes and asserts that it arrives. Returns its meta. */
static const struct adv_rx_meta *send_one(struct adv_link *a, struct adv_link *b,
					  struct adv_path *path, uint32_t qpn, enum adv_ecn ecn)
{
	struct store *store = fresh_store();

	add_packet(&batch, path, qpn, 5, 8)->ecn = ecn;
	assert_true(a->ops->send(a, &batch));
	batch.count = 0;
	batch.iov_used = 0;
	receive_all(b, store, 1);
	assert_int_equal(store->count, 1);
	check_packet(&store->packet[0], qpn, 5, 8);
	assert_memory_equal(&store->packet[0].meta.sgid, &path->sgid, 16);
	assert_memory_equal(&store->packet[0].meta.dgid, &path->dgid, 16);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	return &store->packet[0].meta;
}

/* The first packet sets options, the second one is plain, and the third finds the memo valid. */
static void test_recalls(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("127.0.0.1");
	const struct udp_link *l = udp_link_of(a);
	struct adv_path path;

	path_between(&path, "127.0.0.1", "127.0.0.1", 0xc100);
	for (unsigned i = 0; i < 2; i++)
		send_one(a, b, &path, 7, ADV_ECN_ECT0);
	assert_non_null(udp_flow_recall(l, &path, adv_qpn_target(7), ADV_ECN_ECT0));
	assert_null(udp_flow_recall(l, &path, adv_qpn_target(7), ADV_ECN_ECT1));
	close_link(a);
	close_link(b);
}

/* Two paths of one socket need different options. */
static void test_options(void **state)
{
	static const unsigned order[] = {0, 0, 1, 1, 0, 1, 1, 0, 0};
	struct adv_link *a = open_known("127.0.0.9"), *b = open_link("127.0.0.1");
	struct adv_udp_address own = {gid_of("127.0.0.1"), 1};
	struct adv_path path[2];

	assert_int_equal(adv_udp_set_addresses(a, &own, 1), 0);
	path_between(&path[0], "127.0.0.1", "127.0.0.1", 0xc100);
	path[1] = path[0];
	path[1].tclass = 0x20;
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct adv_path *p = &path[order[i]];
		enum adv_ecn ecn = i / 3 % 2 ? ADV_ECN_ECT0 : ADV_ECN_NOT_ECT;

		assert_int_equal(send_one(a, b, p, 7, ecn)->tclass, p->tclass | ecn);
	}
	close_link(a);
	close_link(b);
}

/* A path with packets to several processes, as that of an address handle. */
static void test_targets(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("127.0.0.2");
	uint32_t qpn[2] = {7, 7 + (1u << 22)};
	uint16_t port[2], now;
	struct adv_path path;

	assert_int_not_equal(adv_qpn_target(qpn[0]), adv_qpn_target(qpn[1]));
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc100);
	for (unsigned i = 0; i < 2; i++)
		port[i] = send_one(a, b, &path, qpn[i], ADV_ECN_ECT0)->sport;
	assert_int_not_equal(port[0], port[1]);
	for (unsigned i = 0; i < 8; i++) {
		now = send_one(a, b, &path, qpn[i / 2 % 2], ADV_ECN_ECT0)->sport;
		assert_int_equal(now, port[i / 2 % 2]);
	}
	close_link(a);
	close_link(b);
}

/* Two links that have done the same number of things send along one path. */
static void test_links(void **state)
{
	struct adv_link *a[2] = {open_sender("127.0.0.8"), open_sender("127.0.0.9")};
	struct adv_link *b = open_link("0.0.0.0");
	struct adv_path path, other;
	uint16_t port[2], now;

	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc100);
	path_between(&other, "127.0.0.1", "127.0.0.3", 0xc101);
	for (unsigned i = 0; i < 3; i++) {
		port[0] = send_one(a[0], b, &path, 7, ADV_ECN_ECT0)->sport;
		send_one(a[1], b, &other, 7, ADV_ECN_ECT0);
	}
	port[1] = send_one(a[1], b, &path, 7, ADV_ECN_ECT0)->sport;
	assert_int_not_equal(port[0], port[1]);
	for (unsigned i = 0; i < 8; i++) {
		now = send_one(a[i / 2 % 2], b, &path, 7, ADV_ECN_ECT0)->sport;
		assert_int_equal(now, port[i / 2 % 2]);
	}
	close_link(a[0]);
	close_link(a[1]);
	close_link(b);
}

#define PATHS 3072 /* more than the link has places for */

/* A flow takes the place of another one, to which a path's memo refers. */
static void test_replaced_flows(void **state)
{
	struct adv_link *a = open_sender("127.0.0.1"), *b = open_link("0.0.0.0");
	static struct adv_path path[PATHS];
	char address[20];

	assert_true(PATHS > UDP_FLOWS);
	for (unsigned i = 0; i < PATHS; i++) {
		snprintf(address, sizeof(address), "127.1.%u.%u", i / 200, i % 200 + 1);
		path_between(&path[i], "127.0.0.1", address, 0xc400);
	}
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < PATHS; i++)
			send_one(a, b, &path[i], 7, ADV_ECN_ECT0);
	close_link(a);
	close_link(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recalls),	       cmocka_unit_test(test_options),
		cmocka_unit_test(test_targets),	       cmocka_unit_test(test_links),
		cmocka_unit_test(test_replaced_flows),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
