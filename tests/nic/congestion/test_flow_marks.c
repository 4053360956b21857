/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CE marks and CNPs: tests the packets that cause a CNP, and the CNPs that are accepted. */
#include "base/array.h"
#include "flow_bed.h"
#include "nic/congestion/flow.h"
#include "nic/queue/qp_state.h"
#include "nic/wire/slot.h"

/* ---- notification point ---- */

static void check_cnp(const struct bed *bed)
{
	static const uint8_t zeros[16];
	const struct wire *w = &bed->cnp;

	assert_int_equal(w->from, 1);
	assert_int_equal(w->len, 28);
	assert_int_equal(w->h.bth.dest_qpn, adv_qp_num(bed->end[0]->qp));
	assert_int_equal(w->h.bth.psn, 0);
	assert_true(w->h.bth.becn);
	assert_false(w->h.bth.fecn || w->h.bth.ackreq || w->h.bth.migreq || w->h.bth.solicited);
	assert_memory_equal(w->data + 12, zeros, 16);
	/* DSCP 48, and not ECN-capable. */
	assert_int_equal(w->meta.tclass, 48 << 2);
}

/* The first mark causes a CNP at once. Then there is one CNP for each 50 us with marks, and none
 * without marks. */
static void test_cnps(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND};

	for (unsigned t = 0; t < 3; t++) {
		struct bed bed;
		uint64_t start;

		open_bed(&bed, types[t]);
		bed.end[1]->qp->path.link_memo = 5; /* of data, which has another DSCP */
		post_write(&bed, 0, 4096);
		net_run(bed.net, MS);
		assert_int_equal(bed.cnps, 0);
		bed.mark = DATA;
		start = bed.net->now;
		post_write(&bed, 0, SIZE);
		net_run(bed.net, 120 * MS);
		assert_int_equal(bed.ecn, ADV_ECN_ECT0);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1024);
		assert_int_equal(bed.cnps, counters(&bed, 1)->np_cnp_sent);
		assert_int_equal(bed.cnps, counters(&bed, 0)->rp_cnp_handled);
		/* UC sent everything before the first CNP arrived. */
		assert_true(bed.cnps >= (types[t] == IBV_QPT_UC ? 1 : 20));
		assert_int_equal(bed.cnp_time[0], start + NET_DELAY);
		for (unsigned i = 1; i < bed.cnps; i++)
			assert_true(bed.cnp_time[i] - bed.cnp_time[i - 1] >= 50 * US);
		check_cnp(&bed);
		assert_int_equal(bed.end[1]->qp->flow->cnp_path.link_memo, 0);
		assert_true(limit(&bed, 0) > 0);
		assert_int_equal(limit(&bed, 1), 0);
		net_abandon(bed.net);
	}
}

/* The interval and the DSCP of CNPs are parameters. A mark just before the end of the interval
 * causes no CNP. */
static void test_interval(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	cc.params.min_time_between_cnps = 7;
	cc.params.cnp_dscp = 3;
	open_with(&bed, &o, 0, &cc);
	bed.mark = DATA;
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t at[] = {0, 7 * US - 1, 7 * US};
		static const unsigned cnps[] = {1, 1, 2};
		pass(bed.net, SEC + MS + at[i] - bed.net->now);
		adv_flow_free(bed.end[0]->qp);
		post_write(&bed, 0, 8);
		net_run(bed.net, 2500);
		assert_int_equal(bed.cnps, cnps[i]);
	}
	assert_int_equal(bed.cnp.meta.tclass, 3 << 2);
	assert_int_equal(bed.end[1]->qp->flow->cnp_path.sl, 6);
	net_abandon(bed.net);
}

/* A queue pair whose priority is paused still sends CNPs, which have another priority: the first
 * CNP, and the next one while an acknowledgement waits. */
static void test_cnps_of_the_held(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = DATA;
	adv_engine_hold(bed.net->node[1].e, 1 << 0);
	post_write(&bed, 0, 2000);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.cnps, 1);
	post_write(&bed, 0, 2000);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.cnps, 2);
	assert_int_equal(bed.acks, 0);
	assert_int_equal(bed.end[0]->send_count, 0);
	adv_engine_hold(bed.net->node[1].e, 0);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.end[0]->send_count, 2);
	net_close(bed.net);
}

/* Marks on datagrams are only counted. Marks on CNPs, malformed packets and guessed PSNs cause no
 * CNP.
 */
static void test_marks_without_cnp(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {.bth = {.pkey = ADV_PKEY_DEFAULT}};
	struct adv_rx_meta meta = {.tclass = ADV_ECN_CE};
	struct adv_rx_packet pkt = {.meta = &meta};
	uint8_t data[64];
	struct bed bed;
	static const struct {
		uint8_t opcode;
		int psn; /* distance from the expected PSN of requests */
		bool other_qp, other_address, other_pkey;
		bool answered;
	} cases[] = {
		{.opcode = ADV_OPCODE_CNP},
		{.opcode = ADV_SERVICE_UC | ADV_OP_SEND_ONLY},
		{.opcode = 0x1f},
		{.opcode = ADV_OP_SEND_ONLY, .psn = 1 << 15},
		{.opcode = ADV_OP_SEND_ONLY, .psn = -(1 << 15) - 1},
		{.opcode = ADV_OP_SEND_ONLY, .other_qp = true},
		{.opcode = ADV_OP_SEND_ONLY, .other_address = true},
		{.opcode = ADV_OP_SEND_ONLY, .other_pkey = true},
		{.opcode = ADV_OP_ACKNOWLEDGE},
		{.opcode = ADV_OP_SEND_ONLY, .answered = true},
		{.opcode = ADV_OP_SEND_ONLY, .psn = (1 << 15) - 1, .answered = true},
		{.opcode = ADV_OP_SEND_ONLY, .psn = -(1 << 15), .answered = true},
		{.opcode = ADV_OP_ACKNOWLEDGE, .psn = 0x8ff000, .answered = true},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		unsigned wanted = cases[i].answered;

		o.psn[1] = 0x900000; /* PSN of node 1 as a sender; it expects 0x1000 */
		open_with(&bed, &o, 0, NULL);
		h.bth.opcode = cases[i].opcode == 0x1f ? 0 : cases[i].opcode;
		h.bth.dest_qpn = adv_qp_num(bed.end[1]->qp) + cases[i].other_qp;
		h.bth.pkey = cases[i].other_pkey ? 0x1234 : ADV_PKEY_DEFAULT;
		h.bth.psn = (0x1000u + (uint32_t)cases[i].psn) & ADV_PSN_MASK;
		pkt.len = (uint32_t)adv_headers_encode(&h, data);
		pkt.data = data;
		data[0] = cases[i].opcode;
		meta.sgid = bed.net->node[0].gid[cases[i].other_address];
		meta.dgid = bed.net->node[1].gid[0];
		adv_engine_rx(bed.net->node[1].e, bed.net->now, &pkt);
		net_run(bed.net, 10 * US);
		if (bed.cnps != wanted)
			fail_msg("case %u: %u CNPs", i, bed.cnps);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
		net_abandon(bed.net);
	}
}

/* A QP that has left the receiving states sends no CNP. */
static void test_cnp_of_the_dead(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = DATA;
	post_write(&bed, 0, 8);
	assert_true(net_step(bed.net, bed.net->now + MS)); /* the packet is sent */
	assert_true(net_step(bed.net, bed.net->now + MS)); /* and received */
	assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_ERR), 0);
	net_run(bed.net, 10 * US);
	assert_int_equal(bed.cnps, 0);
	assert_int_equal(counters(&bed, 1)->np_cnp_sent, 0);
	net_abandon(bed.net);
}

/* ---- accepted CNPs ---- */

static void test_forged_cnps(void **state)
{
	struct adv_headers h = {.bth = {.opcode = ADV_OPCODE_CNP, .becn = true}};
	static _Atomic uint16_t port[ADV_PREFIXES];
	static _Atomic uint16_t home[ADV_PREFIXES];
	const struct adv_engine_counters *c;
	struct adv_engine_gid gids[4] = {{.mtu = 0}};
	uint8_t data[64] = {0};
	struct adv_rx_meta meta;
	struct adv_rx_packet pkt = {.meta = &meta, .data = data, .len = 28};
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	c = counters(&bed, 0);
	memset(&meta, 0, sizeof(meta));
	meta.sgid = bed.net->node[1].gid[0];
	meta.dgid = bed.net->node[0].gid[0];
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.dest_qpn = adv_qp_num(bed.end[0]->qp);
#define SEND() (adv_headers_encode(&h, data), adv_engine_rx(bed.net->node[0].e, bed.net->now, &pkt))
	h.bth.dest_qpn++;
	SEND();
	assert_int_equal(c->rx_no_qp, 1);
	h.bth.dest_qpn--;
	h.bth.pkey = 0x1234;
	SEND();
	assert_int_equal(c->rx_bad_pkey, 1);
	h.bth.pkey = ADV_PKEY_DEFAULT;
	meta.sgid.raw[15] ^= 1;
	SEND();
	meta.sgid.raw[15] ^= 1;
	meta.dgid = bed.net->node[0].gid[1];
	SEND();
	meta.dgid = bed.net->node[0].gid[0];
	assert_int_equal(c->rx_bad_address, 2);
	pkt.len = 32;
	SEND();
	pkt.len = 27;
	SEND();
	pkt.len = 28;
	assert_int_equal(c->rx_malformed, 2);
	/* The source address is the peer's and is on this machine, but the port is not the port of
	 * its process. */
	for (unsigned i = 0; i < 4; i++) {
		gids[i].gid = bed.net->node[i / 2].gid[i % 2];
		gids[i].mtu = 4096;
	}
	assert_int_equal(adv_engine_set_gids(bed.net->node[0].e, gids, 4), 0);
	port[0] = 4000;
	adv_engine_set_senders(bed.net->node[0].e, port, home);
	meta.sport = 4001;
	SEND();
	assert_int_equal(c->rx_bad_sender, 1);
	assert_int_equal(c->rp_cnp_handled, 0);
	assert_null(bed.end[0]->qp->flow);
	assert_int_equal(limit(&bed, 0), 0);
	meta.sport = 4000;
	SEND();
	assert_int_equal(c->rp_cnp_handled, 1);
	assert_int_equal(limit(&bed, 0), 20000);
	assert_int_equal(c->rp_cnp_ignored, 0);
#undef SEND
	net_abandon(bed.net);
}

/* Under a flood of CNPs the rate falls to the least rate, 1 packet of 1 KiB each 92 us. It recovers
 * soon afterwards. */
static void test_flood_of_cnps(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	post_write(&bed, 0, SIZE);
	for (unsigned i = 0; i < 1000; i++) {
		give_cnp(&bed, 0);
		pass(bed.net, US);
		assert_true(limit(&bed, 0) >= 100);
	}
	bed.packets = 0;
	for (unsigned i = 0; i < 1000; i++) {
		give_cnp(&bed, 0);
		pass(bed.net, US);
	}
	assert_in_range(bed.packets, 10, 12);
	net_until(bed.net, bed.end[0], 1, 0, 60 * MS);
	expect_send(bed.end[0], 0, 1, IBV_WC_SUCCESS);
	pass(bed.net, 70 * MS);
	assert_int_equal(limit(&bed, 0), 0);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	net_close(bed.net);
}

static void test_datagrams_and_none(void **state)
{
	struct options o = options_default(IBV_QPT_UD);
	struct adv_cc_config cc = {.algorithm = ADV_CC_NONE, .params = adv_cc_default().params};
	struct bed bed;

	open_with(&bed, &o, 0, NULL);
	give_cnp(&bed, 0);
	assert_int_equal(counters(&bed, 0)->rx_no_qp, 1);
	net_close(bed.net);

	o = options_default(IBV_QPT_RC);
	open_with(&bed, &o, 0, &cc);
	bed.mark = DATA | REPLIES;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * MS);
	give_cnp(&bed, 0);
	assert_int_equal(bed.ecn, ADV_ECN_NOT_ECT);
	assert_int_equal(bed.cnps, 0);
	assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1024);
	assert_int_equal(counters(&bed, 0)->rp_cnp_handled, 0);
	assert_int_equal(counters(&bed, 0)->rp_cnp_ignored, 1);
	assert_null(bed.end[0]->qp->flow);
	assert_null(bed.end[1]->qp->flow);
	net_close(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cnps),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_cnps_of_the_held),
		cmocka_unit_test(test_marks_without_cnp),
		cmocka_unit_test(test_cnp_of_the_dead),
		cmocka_unit_test(test_forged_cnps),
		cmocka_unit_test(test_flood_of_cnps),
		cmocka_unit_test(test_datagrams_and_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
