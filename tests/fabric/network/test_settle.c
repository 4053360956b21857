/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of transmissions, which switches process late unless a watcher learns events. Other
 * tests compare the results: test_networks.c and test_failure.c. */
#include "base/fnv.h"
#include "fabric/network/internal.h"
#include "net.h"

/* What a watcher learns from a time on. */
struct learned {
	uint64_t from;
	uint64_t last; /* time of the newest event */
	uint64_t events;
	uint64_t hash;
};

static void learn(void *user, const struct adv_fabric_event *e)
{
	struct learned *l = user;

	assert_true(e->at >= l->last);
	l->last = e->at;
	if (e->at <= l->from)
		return;
	l->events++;
	l->hash = adv_fnv_add(l->hash, e->at);
	l->hash = adv_fnv_add(l->hash, (uint64_t)e->kind << 32 | e->what);
	l->hash = adv_fnv_add(l->hash, (uint64_t)e->node << 32 | e->port);
}

/* Makes a network with pauses and marks. */
static void open_busy(struct net *n, uint32_t parts)
{
	assert_int_equal(adv_topology_parking_lot(&n->t, 3, 3, cable_of(200), cable_of(300)), 0);
	net_open(n);
	n->config.class[3].xoff = 40000;
	n->config.class[3].ecn_min = 5000;
	n->config.class[3].ecn_max = 60000;
	n->config.class[3].ecn_ppm = 1000000;
	n->unwatched = true;
	net_start(n);
	for (uint32_t h = 0; h < 8; h++)
		net_write(n, h, 8, 26, UINT64_MAX);
	if (parts > 1)
		assert_int_equal(adv_fabric_divide(n->f, parts, 1), parts);
}

static struct learned learn_from(uint64_t from, bool at_once, uint32_t parts)
{
	struct learned l = {.from = from};
	struct net n;

	open_busy(&n, parts);
	if (at_once)
		adv_fabric_watch(n.f, learn, &l);
	adv_fabric_run(n.f, from);
	adv_fabric_watch(n.f, learn, &l);
	adv_fabric_run(n.f, from + 10 * US);
	net_close(&n);
	return l;
}

/* A watcher that begins at any time learns what happens from then on, in order: also of frames
 * whose sending switches have begun unwatched. */
static void test_watcher_begins_late(void **state)
{
	uint64_t events = 0;

	for (unsigned i = 0; i < 40; i++) {
		uint64_t from = 20 * US + i * 333 * NS;
		struct learned all = learn_from(from, true, 1);

		for (uint32_t parts = 1; parts <= 3; parts++) {
			struct learned later = learn_from(from, false, parts);

			assert_int_equal(later.events, all.events);
			assert_int_equal(later.hash, all.hash);
		}
		events += all.events;
	}
	assert_true(events > 1000);
}

/* Host 0 sends a burst to host 1, which is slower, so the switch pauses it. At that time the switch
 * sends a frame to host 0. Its cable is longer than that of host 3: when the switch pauses a peer,
 * departures have to be processed earlier than before. */
static void open_burst(struct net *n, uint64_t answer)
{
	static const struct adv_cable cables[] = {
		{20, 1 * US}, {80, 1 * US}, {20, 1 * US}, {80, 10 * NS}};
	uint32_t host;

	assert_int_equal(adv_topology_init(&n->t, 4, 1), 0);
	for (uint32_t h = 0; h < 4; h++)
		assert_int_equal(adv_topology_link(&n->t, h, 4, cables[h]), 0);
	assert_int_equal(adv_topology_route(&n->t, ADV_ROUTES_SHORTEST, &host), 0);
	net_open(n);
	n->config.class[3].xoff = 40000;
	n->unwatched = true;
	net_start(n);
	assert_true(n->f->node[0].late);
	net_write(n, 0, 1, 26, 70000);
	assert_int_equal(
		adv_fabric_transfer(n->f, net_connect(n, 2, 0, ADV_FABRIC_WRITE, 26), 4096, answer),
		1);
}

/* No event comes after a later one. */
static void test_time_goes_on(void **state)
{
	uint64_t pauses = 0;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t now = 0;
		struct net n;

		open_burst(&n, i * 10 * NS);
		while (adv_fabric_run_some(n.f, 50 * US, 1) == ADV_FABRIC_EVENTS) {
			assert_true(adv_fabric_now(n.f) >= now);
			now = adv_fabric_now(n.f);
		}
		net_all_done(&n, 2);
		pauses += adv_switch_counters(adv_fabric_switch(n.f, 0))->tx_pause;
		net_close(&n);
	}
	assert_int_equal(pauses, 400);
}

static uint64_t results(const struct net *n)
{
	uint64_t hash = adv_fabric_events(n->f);

	for (uint32_t s = 0; s < n->t.switches; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(n->f, s));

		for (unsigned i = 0; i < sizeof(*c) / sizeof(uint64_t); i++)
			hash = adv_fnv_add(hash, ((const uint64_t *)c)[i]);
	}
	return hash;
}

/* Runs with a watcher that comes and goes at this interval; 0: it is there all the time. */
static uint64_t run_toggled(uint64_t interval, uint32_t parts)
{
	struct learned l = {.from = UINT64_MAX};
	bool on = true;
	uint64_t hash;
	struct net n;

	open_busy(&n, parts);
	adv_fabric_watch(n.f, learn, &l);
	for (uint64_t at = interval; interval && at < 100 * US; at += interval) {
		adv_fabric_run(n.f, at);
		net_conserved(&n);
		on = !on;
		adv_fabric_watch(n.f, on ? learn : NULL, &l);
	}
	adv_fabric_run(n.f, 100 * US);
	hash = results(&n);
	net_close(&n);
	return hash;
}

/* A watcher changes nothing, whenever it comes and goes. */
static void test_watcher_comes_and_goes(void **state)
{
	uint64_t all = run_toggled(0, 1);

	for (unsigned i = 0; i < 20; i++)
		for (uint32_t parts = 1; parts <= 3; parts++)
			assert_int_equal(run_toggled((700 + i * 77) * NS, parts), all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watcher_begins_late),
		cmocka_unit_test(test_time_goes_on),
		cmocka_unit_test(test_watcher_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
