/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "net.h"

enum { SWITCHES = 4 };

/* Makes a ring of switches. The host of each switch sends to the host two switches further, so each
 * cable of the ring is overloaded by the frames of two hosts. */
static void open_ring(struct net *n, bool one_way)
{
	uint32_t host;

	assert_int_equal(adv_topology_ring(&n->t, SWITCHES, 1, cable_of(2), cable_of(20)), 0);
	if (one_way)
		assert_int_equal(adv_topology_ring_one_way(&n->t), 0);
	else
		assert_int_equal(adv_topology_route(&n->t, ADV_ROUTES_UP_DOWN, &host), 0);
	net_open(n);
	n->config.class[3].xoff = 100000;
}

static void load(struct net *n, uint64_t bytes)
{
	for (uint32_t h = 0; h < SWITCHES; h++)
		net_write(n, h, (h + 2) % SWITCHES, 26, bytes);
}

static void test_ring_locks(void **state)
{
	struct adv_fabric_wait cycle[8], next;
	uint64_t received[SWITCHES];
	struct net n;

	open_ring(&n, true);
	net_start(&n);
	load(&n, 10000000);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DEADLOCK);
	assert_int_equal(adv_fabric_deadlock(n.f, cycle, 8), SWITCHES);
	for (unsigned i = 0; i < SWITCHES; i++) {
		next = cycle[(i + 1) % SWITCHES];
		assert_int_equal(cycle[i].priority, 3);
		assert_int_equal(next.sw, (cycle[i].sw + 1) % SWITCHES);
		assert_int_equal(adv_topology_peer(&n.t, SWITCHES + cycle[i].sw, cycle[i].port),
				 SWITCHES + next.sw);
	}
	/* It is a deadlock: no payload arrives any more. */
	adv_fabric_run(n.f, adv_fabric_now(n.f) + MS);
	for (uint32_t h = 0; h < SWITCHES; h++)
		received[h] = adv_fabric_host_counters(n.f, h)->rx_frames;
	assert_int_equal(adv_fabric_run(n.f, adv_fabric_now(n.f) + 50 * MS), ADV_FABRIC_UNTIL);
	for (uint32_t h = 0; h < SWITCHES; h++) {
		assert_int_equal(received[h], adv_fabric_host_counters(n.f, h)->rx_frames);
		assert_int_equal(adv_fabric_get_transfer(n.f, h)->end, ADV_CALENDAR_NEVER);
	}
	assert_int_equal(adv_fabric_deadlock(n.f, NULL, 0), SWITCHES);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

static void test_up_down_does_not(void **state)
{
	struct net n;

	open_ring(&n, false);
	n.config.check_deadlock = 5 * US;
	net_start(&n);
	load(&n, 10000000);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, SWITCHES);
	assert_true(n.events[ADV_SWITCH_XOFF] > 0);
	assert_int_equal(adv_fabric_find_deadlock(n.f, NULL, 0), 0);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* As load(), but with different timeouts, so that dropped frames are retransmitted at different
 * times. With equal timeouts the ring would deadlock again each time. */
static void load_apart(struct net *n, uint64_t bytes)
{
	for (uint32_t h = 0; h < SWITCHES; h++) {
		struct adv_fabric_connection c = {.initiator = h,
						  .target = (h + 2) % SWITCHES,
						  .dscp = 26,
						  .timeout = (uint8_t)(10 + h)};
		int64_t peer = adv_fabric_connect(n->f, &c);

		assert_true(peer >= 0);
		assert_int_equal(adv_fabric_transfer(n->f, (uint32_t)peer, bytes, 0), h);
	}
}

/* The watchdog drops the stuck frames, traffic continues, and all transfers end. */
static void test_watchdog_rescues(void **state)
{
	enum adv_fabric_stop stop;
	struct net n;

	open_ring(&n, true);
	n.config.watchdog =
		(struct adv_watchdog){.poll = 100 * US, .detect = 200 * US, .restore = 200 * US};
	net_start(&n);
	load_apart(&n, 3000000);
	assert_int_equal(adv_fabric_run(n.f, 1000 * MS), ADV_FABRIC_DEADLOCK);
	for (unsigned i = 0; i < 1000; i++) {
		stop = adv_fabric_run(n.f, 60000 * MS);
		if (stop != ADV_FABRIC_DEADLOCK)
			break;
	}
	assert_int_equal(stop, ADV_FABRIC_DONE);
	net_all_done(&n, SWITCHES);
	assert_true(n.events[ADV_SWITCH_STORM] > 0);
	assert_true(net_drops(&n, ADV_DROP_WATCHDOG) > 0);
	assert_int_equal(net_all_drops(&n), net_drops(&n, ADV_DROP_WATCHDOG));
	assert_int_equal(adv_fabric_find_deadlock(n.f, NULL, 0), 0);
	net_close(&n);
}

/* The watchdog polls from the beginning, also if no frame is sent for a long time. */
static void test_watchdog_without_traffic(void **state)
{
	struct net n;
	uint32_t c;

	open_ring(&n, false);
	n.config.watchdog =
		(struct adv_watchdog){.poll = 100 * US, .detect = 200 * US, .restore = 200 * US};
	net_start(&n);
	c = net_connect(&n, 0, 1, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer(n.f, c, 1000, 950 * US), 0);
	assert_int_equal(adv_fabric_storm(n.f, 1, 1 << 3, 920 * US, 5 * MS), 0);
	assert_int_equal(adv_fabric_run(n.f, 1199 * US), ADV_FABRIC_UNTIL);
	assert_int_equal(n.events[ADV_SWITCH_STORM], 0);
	assert_int_equal(adv_fabric_run(n.f, 1201 * US), ADV_FABRIC_UNTIL);
	assert_int_equal(n.events[ADV_SWITCH_STORM], 1);
	net_close(&n);
}

/* If a host pauses for ever, other hosts stop. This is not a deadlock, since it would end with the
 * storm. */
static void test_storm_is_none(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_parking_lot(&n.t, 4, 1, cable_of(2), cable_of(20)), 0);
	net_open(&n);
	n.config.class[3].xoff = 100000;
	n.config.check_deadlock = 10 * US;
	net_start(&n);
	assert_int_equal(adv_fabric_storm(n.f, 3, 1 << 3, 10 * US, 5 * MS), 0);
	for (uint32_t h = 0; h < 3; h++)
		net_write(&n, h, 3, 26, 1000000);
	net_write(&n, 3, 0, 26, 1000000);
	assert_int_equal(adv_fabric_run(n.f, 4 * MS), ADV_FABRIC_UNTIL);
	assert_int_equal(adv_fabric_get_transfer(n.f, 0)->end, ADV_CALENDAR_NEVER);
	assert_true(n.events[ADV_SWITCH_XOFF] >= 3);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 4);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* A cycle of pauses that ends by itself is not a deadlock. All queues of the ring are repeatedly
 * paused at once, and each waits for a switch that also waits. Each pause ends, because most frames
 * go to hosts. Only four packets that continue round the ring are in flight, fewer than the level
 * at which a pause ends. */
static void test_passing_cycle_is_none(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_ring(&n.t, SWITCHES, 3, cable_of(2), cable_of(20)), 0);
	assert_int_equal(adv_topology_ring_one_way(&n.t), 0);
	net_open(&n);
	n.config.class[3].xoff = 40000;
	n.config.check_deadlock = 1 * US;
	net_start(&n);
	for (uint32_t s = 0; s < SWITCHES; s++) {
		uint32_t victim = 3 * ((s + 1) % SWITCHES);
		struct adv_fabric_connection c = {.initiator = 3 * s,
						  .target = 3 * ((s + 2) % SWITCHES),
						  .dscp = 26,
						  .message = 4096,
						  .depth = 1};
		int64_t peer = adv_fabric_connect(n.f, &c);

		assert_true(peer >= 0);
		assert_true(adv_fabric_transfer(n.f, (uint32_t)peer, 300000, 0) >= 0);
		for (uint32_t i = 0; i < 2; i++) {
			net_write(&n, 3 * s + 1 + i, victim, 26, 3000000);
			net_write(&n, victim + 1 + i, victim, 26, 3000000);
		}
	}
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 5 * SWITCHES);
	assert_true(n.events[ADV_SWITCH_XOFF] > 100);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* Cyclic routes do not deadlock if the load does not fill the ring. */
static void test_light_load(void **state)
{
	struct net n;

	open_ring(&n, true);
	n.config.check_deadlock = 5 * US;
	net_start(&n);
	net_write(&n, 0, 2, 26, 10000000);
	net_write(&n, 2, 0, 26, 10000000);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 2);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_locks),
		cmocka_unit_test(test_up_down_does_not),
		cmocka_unit_test(test_watchdog_rescues),
		cmocka_unit_test(test_watchdog_without_traffic),
		cmocka_unit_test(test_storm_is_none),
		cmocka_unit_test(test_passing_cycle_is_none),
		cmocka_unit_test(test_light_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
