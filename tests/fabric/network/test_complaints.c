/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests for problems that users of other RoCE simulators have reported. docs/testing.md names the
 * simulators. */
#include "net.h"

/* Runs flows from host 0 to all others and back, with pauses and without loss. */
static void run_paused(struct net *n)
{
	net_open(n);
	n->config.class[3].xoff = 40000;
	net_start(n);
	for (uint32_t h = 1; h < n->t.hosts; h++)
		net_write(n, h, 0, 26, 500000);
	for (uint32_t h = 1; h < n->t.hosts; h++)
		net_write(n, 0, h, 26, 100000);
	assert_int_equal(adv_fabric_run(n->f, 10000 * MS), ADV_FABRIC_DONE);
	net_all_done(n, 2 * (n->t.hosts - 1));
	assert_true(n->events[ADV_SWITCH_XOFF] > 0);
	assert_int_equal(n->events[ADV_SWITCH_XOFF], n->events[ADV_SWITCH_XON]);
	assert_int_equal(net_all_drops(n), 0);
	net_close(n);
}

/* The default headroom is sufficient for every speed and cable, and for pauses from any node. */
static void test_no_loss_after_pfc(void **state)
{
	static const struct adv_cable cables[] = {{800, 5000},	 {320, 50000}, {200, 500000},
						  {80, 5000000}, {40, 50000},  {20, 50000000}};

	for (unsigned i = 0; i < 6; i++) {
		struct adv_cable cable = cables[i], trunk = cables[5 - i];
		struct net n;

		assert_int_equal(adv_topology_incast(&n.t, 5, cable), 0);
		run_paused(&n);
		assert_int_equal(adv_topology_dumbbell(&n.t, 4, cable, trunk), 0);
		run_paused(&n);
		assert_int_equal(adv_topology_parking_lot(&n.t, 4, 2, cable, trunk), 0);
		run_paused(&n);
		assert_int_equal(adv_topology_leaf_spine(&n.t, 3, 2, 3, cable, trunk), 0);
		run_paused(&n);
	}
}

/* A pause stops a host only if it includes the priority of the host's queue pairs. Pauses of other
 * priorities do not stop it. */
static void test_pause_of_any_priority(void **state)
{
	for (unsigned priority = 0; priority < ADV_PRIORITIES; priority++) {
		const struct adv_fabric_transfer_state *x;
		struct net n;

		assert_int_equal(adv_topology_pair(&n.t, cable_of(10)), 0);
		net_open(&n);
		net_start(&n);
		assert_int_equal(adv_fabric_storm(n.f, 1, (uint8_t)(1u << priority), 0, 800 * US),
				 0);
		assert_int_equal(adv_fabric_storm(n.f, 1, 0xff, 5 * MS, 6 * MS), 0);
		net_write(&n, 0, 1, 26, 1000000);
		adv_fabric_run(n.f, 4 * MS);
		x = adv_fabric_get_transfer(n.f, 0);
		assert_int_equal(x->status, IBV_WC_SUCCESS);
		if (priority == 3)
			assert_in_range(x->end, 800 * US, 1200 * US);
		else
			assert_in_range(x->end, 80 * US, 90 * US);
		assert_int_equal(adv_fabric_transfer(n.f, 0, 1000000, 5010 * US), 1);
		assert_int_equal(adv_fabric_run(n.f, 20 * MS), ADV_FABRIC_DONE);
		assert_in_range(adv_fabric_get_transfer(n.f, 1)->end, 6000 * US, 6500 * US);
		net_close(&n);
	}
}

/* Transfers of one byte, and of one byte less and more than a packet and than a window, end long
 * before a timeout (67 ms). The result does not depend on which packets request acknowledgements.
 */
static void test_flows_of_every_size_end(void **state)
{
	static const uint32_t windows[] = {1, 2, 7, 64, 1024};
	static const uint32_t mtus[] = {256, 1024, 4096};

	for (unsigned w = 0; w < 5; w++)
		for (unsigned m = 0; m < 3; m++) {
			uint64_t packet = mtus[m], window = packet * windows[w];
			uint64_t sizes[] = {1,		packet - 1, packet,
					    packet + 1, window - 1, window,
					    window + 1, 2 * window, 2 * window + 1};
			uint32_t count = 0;
			struct net n;

			assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(10)), 0);
			net_open(&n);
			n.config.mtu = mtus[m];
			n.config.engine.window = windows[w];
			net_start(&n);
			for (uint32_t i = 0; i < 27; i++) {
				uint32_t c = net_connect(&n, i % 3, 3,
							 (enum adv_fabric_operation)(i / 9), 26);

				assert_int_equal(adv_fabric_transfer(n.f, c, sizes[i % 9], 0),
						 count++);
				assert_int_equal(adv_fabric_transfer(n.f, c, sizes[(i + 4) % 9], 0),
						 count++);
			}
			assert_int_equal(adv_fabric_run(n.f, 60 * MS), ADV_FABRIC_DONE);
			net_all_done(&n, count);
			for (uint32_t h = 0; h < 4; h++)
				assert_int_equal(adv_engine_counters(adv_fabric_engine(n.f, h))
							 ->local_ack_timeout_err,
						 0);
			assert_int_equal(net_all_drops(&n), 0);
			net_close(&n);
		}
}

/* Transfers end although only the beginning of a retransmitted burst fits into the buffer, and none
 * of those packets requests an acknowledgement. The burst becomes shorter with each timeout. */
static void test_flows_end_that_are_cut_short(void **state)
{
	for (uint32_t room = 10000; room <= 60000; room += 10000) {
		struct net n;

		assert_int_equal(adv_topology_init(&n.t, 2, 1), 0);
		assert_int_equal(adv_topology_link(&n.t, 0, 2, (struct adv_cable){20, 5000}), 0);
		assert_int_equal(adv_topology_link(&n.t, 1, 2, (struct adv_cable){800, 5000}), 0);
		assert_int_equal(adv_topology_route_by(&n.t, 2, 0, 0), 0);
		assert_int_equal(adv_topology_route_by(&n.t, 2, 1, 1), 0);
		net_open(&n);
		n.config.class[0].alpha_1024 = 1u << 20;
		n.config.buffer = adv_fabric_dedicated(&n.config, (struct adv_cable){20, 5000}) +
				  adv_fabric_dedicated(&n.config, (struct adv_cable){800, 5000}) +
				  room;
		net_start(&n);
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t c = net_connect(&n, 0, 1, (enum adv_fabric_operation)i, 0);

			assert_int_equal(adv_fabric_transfer(n.f, c, 4096 * 100, i * 10000 * MS),
					 i);
		}
		assert_int_equal(adv_fabric_run(n.f, 100000 * MS), ADV_FABRIC_DONE);
		net_all_done(&n, 3);
		assert_true(net_all_drops(&n) > 0);
		net_close(&n);
	}
}

/* All transfers end with as many connections as those at which other simulators failed, between two
 * hosts and between many hosts. */
static void test_hundreds_of_flows(void **state)
{
	static const uint32_t counts[] = {100, 127, 128, 129, 255, 256, 257, 600};

	for (unsigned i = 0; i < 8; i++)
		for (uint32_t senders = 1; senders <= 200; senders += 199) {
			struct net n;

			assert_int_equal(adv_topology_incast(&n.t, senders, cable_of(2)), 0);
			net_open(&n);
			n.config.class[3].xoff = 100000;
			net_start(&n);
			for (uint32_t c = 0; c < counts[i]; c++)
				net_write(&n, c % senders, senders, 26, 9000);
			assert_int_equal(adv_fabric_run(n.f, 1000 * MS), ADV_FABRIC_DONE);
			net_all_done(&n, counts[i]);
			assert_int_equal(net_all_drops(&n), 0);
			net_close(&n);
		}
}

/* With DCQCN and the paper's byte counter of 10 MB, two senders reach the same rate, the queue
 * stays short, and the cable is full. */
static void test_dcqcn_with_10_mb(void **state)
{
	struct adv_cc_config cc = adv_cc_default();
	uint64_t before[2], got[2], most;
	struct net n;

	cc.params.rpg_byte_reset = 10000000;
	assert_true(adv_cc_valid(&cc));
	assert_int_equal(adv_topology_incast(&n.t, 2, (struct adv_cable){200, 50000}), 0);
	net_open(&n);
	n.config.class[3].ecn_min = 5000;
	n.config.class[3].ecn_max = 200000;
	n.config.class[3].ecn_ppm = 10000;
	n.config.engine.cc = &cc;
	net_start(&n);
	adv_fabric_count_received(n.f);
	for (uint32_t h = 0; h < 2; h++)
		net_write(&n, h, 2, 26, UINT64_MAX);
	assert_int_equal(adv_fabric_run(n.f, 200 * MS), ADV_FABRIC_UNTIL);
	for (uint32_t h = 0; h < 2; h++)
		before[h] = adv_fabric_received(n.f, h);
	adv_switch_take_peak(adv_fabric_switch(n.f, 0), 2, 3);
	assert_int_equal(adv_fabric_run(n.f, 300 * MS), ADV_FABRIC_UNTIL);
	for (uint32_t h = 0; h < 2; h++)
		got[h] = adv_fabric_received(n.f, h) - before[h];
	most = adv_switch_take_peak(adv_fabric_switch(n.f, 0), 2, 3);
	assert_in_range(got[0] * 100 / (got[0] + got[1]), 40, 60);
	/* percent of 100 ms, at 200 ps per byte */
	assert_in_range((got[0] + got[1]) * 200 / MS, 95, 100);
	assert_true(most < 300000);
	assert_int_equal(n.events[ADV_SWITCH_XOFF], 0);
	net_close(&n);
}

/* Switches mark READ responses, and the responders slow down. The run has many pauses without
 * DCQCN, and none with DCQCN. */
static void test_reads_are_controlled(void **state)
{
	for (unsigned dcqcn = 0; dcqcn < 2; dcqcn++) {
		struct adv_cc_config cc = adv_cc_default();
		uint64_t handled = 0, bytes = 0, sent;
		struct net n;

		cc.algorithm = dcqcn ? ADV_CC_DCQCN : ADV_CC_NONE;
		assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(10)), 0);
		net_open(&n);
		n.config.class[3].ecn_min = 5000;
		n.config.class[3].ecn_max = 200000;
		n.config.class[3].ecn_ppm = 10000;
		n.config.class[3].xoff = 400000;
		n.config.engine.cc = &cc;
		net_start(&n);
		adv_fabric_count_received(n.f);
		for (uint32_t h = 0; h < 4; h++) {
			uint32_t c = net_connect(&n, 4, h, ADV_FABRIC_READ, 26);

			assert_int_equal(adv_fabric_transfer(n.f, c, UINT64_MAX, 0), h);
		}
		assert_int_equal(adv_fabric_run(n.f, 20 * MS), ADV_FABRIC_UNTIL);
		for (uint32_t h = 0; h < 4; h++) {
			handled += adv_engine_counters(adv_fabric_engine(n.f, h))->rp_cnp_handled;
			bytes += adv_fabric_received(n.f, h);
		}
		assert_int_equal(handled > 0, dcqcn);
		/* CNPs have a strict priority of their own and overtake data. */
		sent = adv_engine_counters(adv_fabric_engine(n.f, 4))->np_cnp_sent;
		assert_in_range(adv_fabric_egress(n.f, 4)->queue[6].sent, sent ? sent - 1 : 0,
				sent);
		if (dcqcn)
			assert_true(n.events[ADV_SWITCH_XOFF] < 10);
		else
			assert_true(n.events[ADV_SWITCH_XOFF] > 100);
		assert_true(bytes * GBPS_100 > 20 * MS * 70 / 100);
		assert_int_equal(net_all_drops(&n), 0);
		net_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_loss_after_pfc),
		cmocka_unit_test(test_pause_of_any_priority),
		cmocka_unit_test(test_flows_of_every_size_end),
		cmocka_unit_test(test_flows_end_that_are_cut_short),
		cmocka_unit_test(test_hundreds_of_flows),
		cmocka_unit_test(test_dcqcn_with_10_mb),
		cmocka_unit_test(test_reads_are_controlled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
