/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cables that fail and work again: lost frames, pauses, and routes that avoid the cable. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "fabric/network/internal.h"
#include "../scenario/run.h"

#define HOST "[host]\ncongestion-control = none\nretransmission = selective\n"

static uint64_t sent(const struct run *r, uint32_t sw, unsigned port)
{
	return adv_switch_egress(adv_fabric_switch(r->f, sw), port)->queue[3].sent;
}

/* Returns the time at which packet k of WRITEs of 256 packets each has arrived. */
static uint64_t arrival(uint64_t k)
{
	return 10000 * 5 * NS + 80 * ((k + 1) * RUN_MIDDLE(4096) + (k / 256 + 1) * 16);
}

/* The frames that have arrived completely when the cable fails are received, and no others. What
 * the sender has sent, a window beyond the newest acknowledgement that it has, is lost; of each of
 * these packets either itself or its acknowledgement. */
static void test_frames_on_the_cable_are_lost(void **state)
{
	uint64_t count = 0;
	struct run r;

	while (arrival(count) <= 1 * MS)
		count++;
	run_open(&r, "[network]\ntopology = pair\ncable = 10km\n" HOST
		     "[flow]\nfrom = 0\nto = 1\nendless = yes\n"
		     "[failure]\nlink = 0\nfrom = 1ms\nto = 1.3ms\n");
	adv_fabric_run(r.f, 1 * MS + 310 * US);
	assert_int_equal(adv_fabric_received(r.f, 0), count * 4096);
	assert_in_range(adv_fabric_lost(r.f), 600, 1024);
	run_close(&r);
}

/* 320 us after the last acknowledgement the timer sends the oldest packet again. The receiver has
 * it; its acknowledgement opens the window for new packets, which show that those before them are
 * lost. From then on the cable is full. */
static void test_the_flow_continues(void **state)
{
	const uint64_t delay = 10000 * 5 * NS, middle = 80 * RUN_MIDDLE(4096);
	const uint64_t again = 1 * MS + 320 * US + 3 * delay;
	uint64_t before, after;
	struct run r;

	run_open(&r, "[network]\ntopology = pair\ncable = 10km\n" HOST
		     "[flow]\nfrom = 0\nto = 1\nendless = yes\n"
		     "[failure]\nlink = 0\nfrom = 1ms\nto = 1.3ms\n");
	adv_fabric_run(r.f, 1 * MS + 310 * US);
	before = adv_fabric_received(r.f, 0);
	adv_fabric_run(r.f, again);
	assert_int_equal(adv_fabric_received(r.f, 0), before);
	adv_fabric_run(r.f, again + 10 * US);
	assert_true(adv_fabric_received(r.f, 0) > before);
	adv_fabric_run(r.f, 3 * MS);
	after = adv_fabric_received(r.f, 0) - before;
	assert_in_range(after, (3 * MS - again - delay - 2 * US) / middle * 4096,
			(3 * MS - again - delay) / middle * 4096);
	run_close(&r);
}

/* Flows of both leaves use both spines. A cable of spine 0 fails: after 100 us neither leaf sends
 * to spine 0 what is for the other, and after its return they do. */
static void test_routes_avoid_the_cable(void **state)
{
	uint64_t before[2], lost;
	struct run r;

	/* Cables 0 to 7 are those of hosts; 8: leaf 0 to spine 0. Ports of a leaf: 4 hosts, then
	 * spines. */
	run_open(&r, "[network]\ntopology = leaf-spine\nleaves = 2\nspines = 2\nhosts = 4\n"
		     "trunk-speed = 400Gb/s\nreroute-delay = 100us\n" HOST
		     "[flow]\nfrom = 0-3\nto = 4-7\nendless = yes\n"
		     "[flow]\nfrom = 4-7\nto = 0-3\nendless = yes\n"
		     "[failure]\nlink = 8\nfrom = 1ms\nto = 3ms\n");
	adv_fabric_run(r.f, 1 * MS);
	assert_int_equal(adv_fabric_lost(r.f), 0);
	for (unsigned leaf = 0; leaf < 2; leaf++)
		assert_true(sent(&r, leaf, 4) > 100 && sent(&r, leaf, 5) > 100);
	adv_fabric_run(r.f, 1 * MS + 100 * US);
	lost = adv_fabric_lost(r.f);
	assert_true(lost > 10);
	adv_fabric_run(r.f, 1 * MS + 200 * US);
	for (unsigned leaf = 0; leaf < 2; leaf++)
		before[leaf] = sent(&r, leaf, 4);
	lost = adv_fabric_lost(r.f);
	adv_fabric_run(r.f, 3 * MS + 100 * US);
	for (unsigned leaf = 0; leaf < 2; leaf++)
		assert_int_equal(sent(&r, leaf, 4), before[leaf]);
	assert_int_equal(adv_fabric_lost(r.f), lost);
	adv_fabric_run(r.f, 4 * MS);
	for (unsigned leaf = 0; leaf < 2; leaf++)
		assert_true(sent(&r, leaf, 4) > before[leaf] + 100);
	assert_int_equal(adv_fabric_lost(r.f), lost);
	run_close(&r);
}

/* What is on its way to a leaf when the routes change takes the new ones: the cable of a host has
 * 50 us of frames, and reroute-delay is none. */
static void test_frames_on_their_way_take_the_new_routes(void **state)
{
	uint64_t before, lost, others;
	struct run r;

	run_open(&r, "[network]\ntopology = leaf-spine\nleaves = 2\nspines = 2\nhosts = 4\n"
		     "cable = 10km\ntrunk-cable = 10m\ntrunk-speed = 400Gb/s\n"
		     "reroute-delay = 0us\n" HOST "[flow]\nfrom = 0-3\nto = 4-7\nendless = yes\n"
		     "[failure]\nlink = 8\nfrom = 1ms\n");
	adv_fabric_run(r.f, 1 * MS - 1);
	assert_true(sent(&r, 0, 4) > 100 && sent(&r, 0, 5) > 100);
	adv_fabric_run(r.f, 1 * MS);
	before = sent(&r, 0, 4);
	others = sent(&r, 0, 5);
	lost = adv_fabric_lost(r.f);
	adv_fabric_run(r.f, 1 * MS + 45 * US);
	/* What waited for the cable leaves it. */
	assert_in_range(sent(&r, 0, 4), before, before + 8);
	assert_in_range(adv_fabric_lost(r.f), lost, lost + 9);
	assert_true(sent(&r, 0, 5) > others + 400);
	run_close(&r);
}

/* A host without its cable: its transfer fails after its retries, and its peer's switch has no
 * route to it. Other hosts are not affected. */
static void test_a_host_is_cut_off(void **state)
{
	const struct adv_fabric_transfer_state *t;
	struct run r;

	run_open(&r, "[network]\ntopology = dumbbell\nhosts = 2\ntrunk-speed = 400Gb/s\n"
		     "reroute-delay = 10us\n" HOST
		     "[flow]\nfrom = 0\nto = 2\nbytes = 10MB\ntimeout = 7\n"
		     "[flow]\nfrom = 1\nto = 3\nbytes = 10MB\n"
		     "[failure]\nlink = 2\nfrom = 100us\n");
	run_to_end(&r);
	t = adv_fabric_get_transfer(r.f, 0);
	assert_int_equal(t->status, IBV_WC_RETRY_EXC_ERR);
	/* 4.096 us x 2^7 for each of eight tries, which end with the next timeout. */
	assert_in_range(t->end, 8 * 524 * US, 8 * (524 + 320) * US + 100 * US);
	t = adv_fabric_get_transfer(r.f, 1);
	assert_int_equal(t->status, IBV_WC_SUCCESS);
	assert_in_range(t->end, adv_fabric_ideal(r.f, 1, 10000000),
			adv_fabric_ideal(r.f, 1, 10000000) + 1 * US);
	assert_true(adv_switch_counters(adv_fabric_switch(r.f, 0))->drops[ADV_DROP_NO_ROUTE] > 0);
	run_close(&r);
}

/* The trunk fails and works again at any time of a transmission, twice. One network has a watcher,
 * so each end of a transmission has an event; in the other, switches process the ends late. Both
 * show the same at any time. The trunk also loses frames at random: what the failure loses draws
 * nothing.
 */
static void test_a_cut_during_a_transmission(void **state)
{
	for (unsigned i = 0; i < 40; i++) {
		struct run late, watched, *both[] = {&late, &watched};
		uint64_t from = 20 * US + i * 17 * NS, to = from + (1 + i * 3) * NS;

		for (unsigned k = 0; k < 2; k++)
			run_open(both[k],
				 "[network]\ntopology = dumbbell\nhosts = 2\ncable = 200m\n" HOST
				 "[flow]\nfrom = 0-1\nto = 2-3\nendless = yes\n"
				 "[loss]\nlink = 4\nprobability = 10%%\n"
				 "[failure]\nlink = 4\nfrom = %juns\nto = %juns\n"
				 "[failure]\nlink = 4\nfrom = %juns\nto = %juns\n",
				 (uintmax_t)(from / NS), (uintmax_t)(to / NS),
				 (uintmax_t)(to / NS + 20), (uintmax_t)(to / NS + 60));
		assert_true(late.f->node[0].late && late.f->node[1].late);
		adv_fabric_watch(watched.f, run_ignore, NULL);
		for (uint64_t at = 1; at < 500; at += 7) {
			struct run_shown x, y;

			adv_fabric_run(late.f, from + at * NS);
			adv_fabric_run(watched.f, from + at * NS);
			x = run_show(&late);
			y = run_show(&watched);
			assert_memory_equal(&x, &y, sizeof(x));
		}
		assert_true(adv_fabric_lost(late.f) > 0);
		run_close(&late);
		run_close(&watched);
	}
}

/* A pause ends when the cable fails, and the switch pauses its peer again when it works. */
static void test_pauses(void **state)
{
	const struct adv_egress *e;
	struct run r;

	run_open(&r, "[network]\ntopology = incast\nsenders = 2\n"
		     "[priority 3]\nxoff = 100kB\n" HOST "[flow]\nfrom = 0-1\nto = 2\nbytes = 5MB\n"
		     "[storm]\nhost = 2\nfrom = 100us\nto = 400us\n"
		     "[failure]\nlink = 0\nfrom = 200us\nto = 210us\n"
		     "[failure]\nlink = 0\nfrom = 205us\nto = 220us\n");
	adv_fabric_run(r.f, 200 * US - 1);
	e = adv_fabric_egress(r.f, 0);
	assert_int_equal(e->paused, 1 << 3);
	adv_fabric_run(r.f, 200 * US);
	assert_int_equal(e->paused, 0);
	adv_fabric_run(r.f, 220 * US - 1);
	assert_int_equal(e->paused, 0);
	/* A frame that is being sent, the pause frame, its propagation, the time to its effect. */
	adv_fabric_run(r.f, 220 * US + 80 * (RUN_ACK + 84) + 50 * NS + 500 * NS);
	assert_int_equal(e->paused, 1 << 3);
	run_to_end(&r);
	net_all_done(&(struct net){.f = r.f}, 2);
	run_close(&r);
}

/* The same for a switch whose peer has paused it. */
static void test_pauses_of_a_switch(void **state)
{
	const struct adv_egress *e;
	struct run r;

	run_open(&r, "[network]\ntopology = incast\nsenders = 1\n" HOST
		     "[flow]\nfrom = 0\nto = 1\nbytes = 5MB\n"
		     "[storm]\nhost = 1\nfrom = 100us\nto = 300us\n"
		     "[failure]\nlink = 1\nfrom = 200us\nto = 210us\n");
	e = adv_switch_egress(adv_fabric_switch(r.f, 0), 1);
	adv_fabric_run(r.f, 200 * US - 1);
	assert_int_equal(e->paused, 1 << 3);
	adv_fabric_run(r.f, 200 * US);
	assert_int_equal(e->paused, 0);
	adv_fabric_run(r.f, 210 * US + 80 * 84 + 50 * NS + 500 * NS - 1);
	assert_int_equal(e->paused, 0);
	/* Its storm lasts: the host pauses its peer again at once. */
	adv_fabric_run(r.f, 210 * US + 80 * (RUN_ACK + 84) + 50 * NS + 500 * NS);
	assert_int_equal(e->paused, 1 << 3);
	run_to_end(&r);
	net_all_done(&(struct net){.f = r.f}, 1);
	run_close(&r);
}

/* A pause frame that has arrived, but is not in effect yet when the cable fails, has no effect. */
static void test_a_pause_is_lost(void **state)
{
	for (unsigned fails = 0; fails < 2; fails++) {
		const struct adv_switch *s;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = incast\nsenders = 1\n" HOST
			 "[flow]\nfrom = 0\nto = 1\nendless = yes\n"
			 "[storm]\nhost = 1\nfrom = 100us\nto = 300us\n"
			 "[failure]\nlink = 1\nfrom = %s\n",
			 fails ? "100.3us" : "200us");
		s = adv_fabric_switch(r.f, 0);
		adv_fabric_run(r.f, 101 * US);
		assert_int_equal(adv_switch_egress(s, 1)->paused, fails ? 0 : 1 << 3);
		assert_int_equal(adv_switch_counters(s)->rx_pause, !fails);
		run_close(&r);
	}
}

/* A frame of 33.5 us at 1 Gb/s is lost if the cable fails while it is sent, and also if the cable
 * works again while it is sent. */
static void test_frames_that_are_being_sent(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = pair\nspeed = 1Gb/s\n" HOST
		     "[flow]\nfrom = 0\nto = 1\nbytes = 1MB\n"
		     "[failure]\nlink = 0\nfrom = 10us\nto = 40us\n");
	adv_fabric_run(r.f, 3 * 8000 * RUN_MIDDLE(4096) + 1 * US);
	assert_int_equal(adv_fabric_lost(r.f), 2);
	assert_int_equal(adv_fabric_received(r.f, 0), 4096);
	run_to_end(&r);
	net_all_done(&(struct net){.f = r.f}, 1);
	run_close(&r);
}

/* Nothing is lost from the account of frames, and everything arrives, whatever fails when. */
static void test_many_failures(void **state)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		struct adv_rng rng;
		struct net n;

		adv_rng_seed(&rng, seed);
		assert_int_equal(adv_topology_fat_tree(&n.t, 4, cable_of(100), cable_of(100)), 0);
		net_open(&n);
		n.config.engine.selective = true;
		n.config.engine.rto_low = 100000;
		n.config.engine.rto_high = 320000;
		n.config.reroute = adv_rng_below(&rng, 50 * US);
		net_start(&n);
		for (uint32_t h = 0; h < 16; h++)
			net_write(&n, h, (h + 1 + (uint32_t)adv_rng_below(&rng, 15)) % 16, 26,
				  2000000);
		for (unsigned i = 0; i < 12; i++) {
			uint64_t from = adv_rng_below(&rng, 300 * US);

			assert_int_equal(adv_fabric_fail(n.f, (uint32_t)adv_rng_below(&rng, 48),
							 from,
							 from + 1 + adv_rng_below(&rng, 200 * US)),
					 0);
		}
		for (unsigned i = 1; i <= 100; i++) {
			adv_fabric_run(n.f, i * 10 * US);
			net_conserved(&n);
		}
		adv_fabric_run(n.f, 100 * MS);
		net_all_done(&n, 16);
		assert_true(adv_fabric_lost(n.f) > 0);
		net_close(&n);
	}
}

static void test_arguments(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_pair(&n.t, cable_of(1)), 0);
	net_open(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_fail(n.f, 1, 0, 1), EINVAL);
	assert_int_equal(adv_fabric_fail(n.f, 0, 5, 5), EINVAL);
	assert_int_equal(adv_fabric_fail(n.f, 0, 5, 4), EINVAL);
	assert_int_equal(adv_fabric_fail(n.f, 0, 5, ADV_CALENDAR_NEVER), 0);
	net_close(&n);
}

/* Routes without avoided cables are those of adv_topology_route(). A switch that is cut off has
 * none. */
static void test_route_without(void **state)
{
	for (enum adv_routing routing = ADV_ROUTES_SHORTEST; routing <= ADV_ROUTES_UP_DOWN;
	     routing++) {
		uint16_t avoided[48] = {0};
		struct adv_route_table routes[20];
		struct adv_topology t;
		uint32_t host;

		assert_int_equal(adv_topology_fat_tree(&t, 4, cable_of(1), cable_of(1)), 0);
		assert_int_equal(adv_topology_route(&t, routing, &host), 0);
		for (unsigned pass = 0; pass < 2; pass++) {
			for (unsigned s = 0; s < 20; s++)
				assert_int_equal(adv_route_table_init(&routes[s], 16), 0);
			assert_int_equal(adv_topology_route_without(&t, routing, avoided, routes),
					 0);
			for (unsigned s = 0; s < 20; s++)
				for (uint32_t h = 0; h < 16; h++) {
					const struct adv_route_set *a =
						adv_route_find(&routes[s], h);
					const struct adv_route_set *b =
						adv_route_find(&t.routes[s], h);
					bool cut = pass && (s == 0) != (h < 2);

					assert_int_equal(a->count, cut ? 0 : a->count);
					if (!pass || (s == 0 && h < 2))
						assert_memory_equal(&routes[s].port[a->first],
								    &t.routes[s].port[b->first],
								    b->count * sizeof(uint16_t));
				}
			for (unsigned s = 0; s < 20; s++)
				adv_route_table_free(&routes[s]);
			/* The second pass cuts switch 0 off from all other switches. */
			for (unsigned i = 0; i < 48; i++)
				for (unsigned k = 0; k < 2; k++)
					avoided[i] |= t.link[i].end[k].node == 16 &&
						      t.link[i].end[1 - k].node > 16;
		}
		adv_topology_free(&t);
	}
}

/* ---- messages ---- */

#define INCAST "[network]\ntopology = incast\nsenders = 4\n"

static void test_errors_of_failures(void **state)
{
	expect_refused(INCAST "[failure]\nfrom = 1ms\n", "x.ini:4: [failure] needs `link`");
	expect_refused(INCAST "[failure]\nlink = 5\n",
		       "x.ini:4: [failure] link = 5: the network has 5 cables, from 0");
	expect_refused(INCAST "[failure]\nlink = 0\nfrom = 2ms\nto = 2ms\n",
		       "x.ini:4: [failure] to = 2 ms: expected a time after `from`, 2 ms");
	expect_refused(INCAST "reroute-delay = 1us\n",
		       "x.ini:4: [network] reroute-delay has an effect only with a [failure]");
	expect_refused(
		INCAST "[failure]\nlink = 0\n[route]\nat = s0\nto = h0\nby = h0\n",
		"x.ini:4: [failure]: routes are computed again, so [route] is not supported");
	expect_refused("[network]\ntopology = ring\nswitches = 3\nroutes = one-way\n"
		       "[failure]\nlink = 0\n",
		       "x.ini:5: [failure]: with routes = one-way there is no other route");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_on_the_cable_are_lost),
		cmocka_unit_test(test_the_flow_continues),
		cmocka_unit_test(test_routes_avoid_the_cable),
		cmocka_unit_test(test_frames_on_their_way_take_the_new_routes),
		cmocka_unit_test(test_a_host_is_cut_off),
		cmocka_unit_test(test_a_cut_during_a_transmission),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_pauses_of_a_switch),
		cmocka_unit_test(test_a_pause_is_lost),
		cmocka_unit_test(test_frames_that_are_being_sent),
		cmocka_unit_test(test_many_failures),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_route_without),
		cmocka_unit_test(test_errors_of_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
