/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks the invariants of random networks, switches and loads, and that a network which is divided
 * among threads gives the same results. */
#include "base/fnv.h"
#include "base/rng.h"
#include "net.h"

#define SEEDS 150

static uint32_t below(struct adv_rng *r, uint32_t n)
{
	return (uint32_t)adv_rng_below(r, n);
}

/* Draws a cable from 10 to 400 Gb/s of up to 2 km. */
static struct adv_cable any_cable(struct adv_rng *r)
{
	static const uint32_t speeds[] = {800, 320, 200, 80, 40, 20};

	return (struct adv_cable){speeds[below(r, 6)], adv_rng_below(r, 2000) * 5000};
}

/* Makes a tree of switches with additional cables, two hosts at each switch, and up-down routes. */
static void any_topology(struct adv_rng *r, struct adv_topology *t)
{
	uint32_t switches = 1 + below(r, 6), hosts = 2 * switches, host;

	assert_int_equal(adv_topology_init(t, hosts, switches), 0);
	for (uint32_t h = 0; h < hosts; h++)
		assert_int_equal(adv_topology_link(t, h, hosts + h / 2, any_cable(r)), 0);
	for (uint32_t s = 1; s < switches; s++)
		assert_int_equal(adv_topology_link(t, hosts + s, hosts + below(r, s), any_cable(r)),
				 0);
	for (uint32_t i = below(r, 4); i-- > 0 && switches > 1;) {
		uint32_t a = below(r, switches), b = below(r, switches);

		if (a != b)
			assert_int_equal(adv_topology_link(t, hosts + a, hosts + b, any_cable(r)),
					 0);
	}
	assert_int_equal(adv_topology_route(t, ADV_ROUTES_UP_DOWN, &host), 0);
}

static void any_switches(struct adv_rng *r, struct adv_fabric_config *c)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

	c->mtu = mtus[below(r, 5)];
	c->engine.window = 1 + below(r, 300);
	c->pause_quanta = (uint16_t)(135 + below(r, 4000));
	c->pause_response = adv_rng_below(r, 2000) * NS;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		struct adv_class *k = &c->class[p];

		k->lossless = p == 3 || below(r, 3) == 0;
		k->weight = (uint8_t)below(r, 40);
		k->reserved = below(r, 3) ? 0 : below(r, 8000);
		k->xoff = below(r, 2) ? 0 : 5000 + below(r, 100000);
		k->xon_offset = below(r, 10000);
		/* A lossy frame must fit at some time. A lossless frame can use the headroom. */
		k->alpha_1024 = (k->lossless ? 0 : 512) + below(r, 2048);
		k->ecn_min = below(r, 50000);
		k->ecn_max = below(r, 2) ? 0 : k->ecn_min + 1 + below(r, 50000);
		k->ecn_ppm = below(r, 1000001);
	}
}

/* A watchdog that finds short storms, and a way to balance. */
static void any_watchdog(struct adv_rng *r, struct adv_fabric_config *c)
{
	uint64_t poll = (5 + below(r, 50)) * US;

	c->balance = (enum adv_balance)below(r, 3);
	if (below(r, 2))
		c->watchdog = (struct adv_watchdog){.poll = poll,
						    .detect = poll * (1 + below(r, 3)),
						    .restore = poll * (1 + below(r, 3)),
						    .forward = below(r, 2)};
}

/* Some cables fail: not those of hosts, and for a short time. */
static void any_failure(struct adv_rng *r, struct net *n)
{
	for (uint32_t i = below(r, 4); i-- > 0 && n->t.links > n->t.hosts;) {
		uint32_t link = n->t.hosts + below(r, n->t.links - n->t.hosts);
		uint64_t from = adv_rng_below(r, 100 * US);

		assert_int_equal(adv_fabric_fail(n->f, link, from, from + 1 + below(r, 100 * US)),
				 0);
	}
	if (below(r, 4) == 0)
		adv_fabric_lose(n->f, below(r, n->t.links), 1 + below(r, 3000));
}

/* Transfers and computations that wait for others. */
static void any_waits(struct adv_rng *r, struct net *n, uint32_t *transfers)
{
	for (uint32_t i = below(r, 20); i-- > 0;) {
		uint32_t after = below(r, *transfers);
		const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(n->f, after);
		struct adv_fabric_connection c = {.operation = ADV_FABRIC_WRITE, .dscp = 26};
		int64_t peer, job;

		if (t->connection == ADV_FABRIC_COMPUTATION)
			continue;
		if (below(r, 3) == 0) {
			job = adv_fabric_compute_after(n->f, below(r, 50 * US), &after, 1);
			assert_int_equal(job, (*transfers)++);
			after = (uint32_t)job;
		}
		/* Most wait at the host where the data arrives. */
		c.initiator = below(r, 8) ? adv_fabric_get_connection(n->f, t->connection)->target
					  : below(r, n->t.hosts);
		c.target = (c.initiator + 1 + below(r, n->t.hosts - 1)) % n->t.hosts;
		peer = adv_fabric_connect(n->f, &c);
		assert_true(peer >= 0);
		job = adv_fabric_transfer_after(n->f, (uint32_t)peer, 1 + below(r, 100000), &after,
						1);
		assert_int_equal(job, (*transfers)++);
	}
}

/* Draws a buffer that is a little larger than reserved bytes and headroom. */
static uint64_t any_buffer(struct adv_rng *r, const struct net *n)
{
	uint64_t most = 0;

	for (uint32_t s = 0; s < n->t.switches; s++) {
		uint64_t need = 0;

		for (uint32_t i = 0; i < 2 * n->t.links; i++)
			if (n->t.link[i / 2].end[i % 2].node == n->t.hosts + s)
				need += adv_fabric_dedicated(&n->config, n->t.link[i / 2].cable);
		most = need > most ? need : most;
	}
	return most + 50000 + adv_rng_below(r, 400000);
}

static void any_load(struct adv_rng *r, struct net *n, uint32_t *transfers)
{
	uint32_t connections = 2 + below(r, 20);

	for (uint32_t i = 0; i < connections; i++) {
		struct adv_fabric_connection c = {.initiator = below(r, n->t.hosts),
						  .operation =
							  (enum adv_fabric_operation)below(r, 3),
						  .dscp = (uint8_t)below(r, 64),
						  .message = below(r, 2) ? 0 : 1 + below(r, 20000),
						  .depth = 1 + below(r, 16)};
		int64_t peer;

		c.target = (c.initiator + 1 + below(r, n->t.hosts - 1)) % n->t.hosts;
		if (below(r, 3) == 0 && c.initiator != 0)
			c.target = 0;
		peer = adv_fabric_connect(n->f, &c);
		assert_int_equal(peer, i);
		for (uint32_t k = 1 + below(r, 3); k-- > 0;)
			assert_int_equal(adv_fabric_transfer(n->f, i, 1 + adv_rng_below(r, 300000),
							     adv_rng_below(r, 100 * US)),
					 (*transfers)++);
	}
}

static void any_trouble(struct adv_rng *r, struct net *n)
{
	if (below(r, 3) == 0) {
		uint64_t from = adv_rng_below(r, 200 * US);

		assert_int_equal(adv_fabric_storm(n->f, below(r, n->t.hosts),
						  (uint8_t)below(r, 256), from,
						  from + 1 + adv_rng_below(r, MS)),
				 0);
	}
	if (below(r, 3) == 0) {
		/* room for frames that arrive during its pause */
		struct adv_fabric_slow slow = {.ps_per_byte = 20 + below(r, 2000),
					       .xoff = 20000,
					       .xon = below(r, 20000),
					       .room = 400u << 20};

		assert_int_equal(adv_fabric_slow_host(n->f, below(r, n->t.hosts), &slow), 0);
	}
}

/* Runs in pieces, and checks between them that no byte is missing. */
static void run_in_pieces(struct adv_rng *r, struct net *n)
{
	enum adv_fabric_stop stop;

	do {
		stop = adv_fabric_run_some(n->f, 100000 * MS, 1 + adv_rng_below(r, 20000));
		net_conserved(n);
		assert_int_not_equal(stop, ADV_FABRIC_DEADLOCK);
	} while (stop == ADV_FABRIC_EVENTS);
	assert_int_equal(stop, ADV_FABRIC_DONE);
}

/* How a network runs. */
struct way {
	bool trouble; /* with watchdogs, failures and waiting transfers */
	bool unwatched;
	uint32_t parts;
};

/* Makes network `seed` and divides it. Returns its number of parts. */
static uint32_t open_network(uint64_t seed, struct way way, struct adv_rng *r, struct net *n,
			     uint32_t *transfers)
{
	int64_t count = 1;

	*transfers = 0;
	adv_rng_seed(r, seed);
	any_topology(r, &n->t);
	net_open(n);
	n->config.seed = seed;
	n->unwatched = way.unwatched;
	n->config.check_deadlock = 20 * US;
	n->config.routing = ADV_ROUTES_UP_DOWN;
	n->config.reroute = 5 * US;
	any_switches(r, &n->config);
	if (way.trouble)
		any_watchdog(r, &n->config);
	n->config.buffer = any_buffer(r, n);
	net_start(n);
	adv_fabric_count_received(n->f);
	any_load(r, n, transfers);
	any_trouble(r, n);
	if (way.trouble) {
		any_failure(r, n);
		any_waits(r, n, transfers);
	}
	if (way.parts > 1)
		count = adv_fabric_divide(n->f, way.parts, 1);
	assert_true(count >= 1 && count <= way.parts);
	return (uint32_t)count;
}

/* Sums over all networks. They show that the loads cause pauses and other events to be tested. */
struct seen {
	uint64_t pauses;
	uint64_t marks;
	uint64_t drops;
	uint64_t slow;
};

/* Lossless frames are never dropped, there is no deadlock, and every transfer succeeds and
 * delivers each byte once. At the end all buffers are empty and nothing is paused. */
static void one_network(uint64_t seed, struct seen *seen)
{
	uint32_t transfers, connections = 0;
	struct adv_rng r;
	struct net n;

	open_network(seed, (struct way){.unwatched = seed % 8 == 0, .parts = 1 + seed % 2}, &r, &n,
		     &transfers);
	run_in_pieces(&r, &n);
	net_all_done(&n, transfers);
	assert_int_equal(net_all_drops(&n),
			 net_drops(&n, ADV_DROP_QUEUE) + net_drops(&n, ADV_DROP_BUFFER));
	for (; adv_fabric_get_connection(n.f, connections); connections++) {
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < transfers; i++)
			if (adv_fabric_get_transfer(n.f, i)->connection == connections)
				bytes += adv_fabric_get_transfer(n.f, i)->bytes;
		assert_int_equal(adv_fabric_received(n.f, connections), bytes);
	}
	adv_fabric_run(n.f, adv_fabric_now(n.f) + 500 * MS);
	for (uint32_t s = 0; s < n.t.switches; s++)
		assert_int_equal(adv_switch_used(adv_fabric_switch(n.f, s)), 0);
	assert_int_equal(n.events[ADV_SWITCH_XOFF], n.events[ADV_SWITCH_XON]);
	seen->pauses += n.events[ADV_SWITCH_XOFF];
	seen->marks += n.events[ADV_SWITCH_MARK];
	seen->drops += n.events[ADV_SWITCH_DROP];
	for (uint32_t h = 0; h < n.t.hosts; h++)
		seen->slow += adv_fabric_host_counters(n.f, h)->tx_pause;
	net_close(&n);
}

static void test_any_network(void **state)
{
	struct seen seen = {.pauses = 0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		print_message("seed %u\n", (unsigned)seed);
		one_network(seed, &seen);
	}
	assert_true(seen.pauses > 500 && seen.marks > 5000 && seen.drops > 5000 && seen.slow > 500);
}

/* Results of a network that may not differ. */
struct outcome {
	uint64_t word[8];
	uint64_t digest[2]; /* of the reported events */
};

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = adv_fnv_add(*hash, value);
}

/* Adds the counters of a switch and of its ports. */
static void mix_switch(uint64_t *hash, const struct adv_switch *s, uint64_t now)
{
	const struct adv_switch_counters *c = adv_switch_counters(s);

	mix(hash, c->rx_frames);
	mix(hash, c->tx_frames);
	mix(hash, c->tx_pause);
	mix(hash, c->ecn_marked);
	mix(hash, c->most_used);
	mix(hash, adv_switch_used(s));
	for (unsigned port = 0; port < adv_switch_ports(s); port++)
		for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
			const struct adv_egress *e = adv_switch_egress(s, port);

			mix(hash, e->queue[p].sent_bytes);
			mix(hash, e->queue[p].most);
			mix(hash, adv_egress_paused_for(e, p, now));
		}
}

/* Runs until all transfers have ended, and for a while beyond. *count: of parts. */
static struct outcome run_network(uint64_t seed, struct way way, uint32_t *count)
{
	struct outcome o = {.word = {0}};
	enum adv_fabric_stop stop;
	uint32_t transfers;
	struct adv_rng r;
	struct net n;

	way.trouble = true;
	*count = open_network(seed, way, &r, &n, &transfers);
	do
		stop = adv_fabric_run_some(n.f, 10000 * MS, 1 + adv_rng_below(&r, 20000));
	while (stop == ADV_FABRIC_EVENTS);
	net_conserved(&n);
	o.word[0] = stop;
	o.word[1] = adv_fabric_now(n.f);
	o.word[2] = adv_fabric_events(n.f);
	o.digest[0] = n.digest;
	for (uint32_t s = 0; s < n.t.switches; s++) {
		mix_switch(&o.word[3], adv_fabric_switch(n.f, s), o.word[1]);
		o.word[7] += adv_switch_counters(adv_fabric_switch(n.f, s))->storms;
	}
	assert_int_not_equal(adv_fabric_run(n.f, adv_fabric_now(n.f) + 20 * MS),
			     ADV_FABRIC_NO_MEMORY);
	o.word[4] = adv_fabric_events(n.f);
	o.digest[1] = n.digest;
	o.word[5] = adv_fabric_lost(n.f);
	for (uint32_t i = 0; i < transfers; i++) {
		const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(n.f, i);

		mix(&o.word[6], t->start);
		mix(&o.word[6], t->end);
		mix(&o.word[6], t->status);
	}
	net_close(&n);
	return o;
}

/* A network in any number of parts has the same events at the same times, the same reports in the
 * same order, and stops at the same event. */
static void test_any_division(void **state)
{
	uint32_t divided = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint32_t count;
		struct outcome one = run_network(seed, (struct way){.parts = 1}, &count);

		print_message("seed %u\n", (unsigned)seed);
		for (uint32_t parts = 2; parts <= 4; parts++) {
			struct outcome more =
				run_network(seed, (struct way){.parts = parts}, &count);

			assert_memory_equal(&more, &one, sizeof(one));
			divided += count > 1;
		}
	}
	assert_true(divided > SEEDS);
}

/* Without a watcher, ends of transmissions are processed late, with the same results. */
static void test_any_unwatched(void **state)
{
	uint64_t storms = 0, lost = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint32_t count;
		struct outcome watched = run_network(seed, (struct way){.parts = 1}, &count);

		print_message("seed %u\n", (unsigned)seed);
		for (uint32_t parts = 1; parts <= 3; parts++) {
			struct way way = {.unwatched = true, .parts = parts};
			struct outcome other = run_network(seed, way, &count);

			for (unsigned i = 0; i < 8; i++)
				assert_int_equal(other.word[i], watched.word[i]);
		}
		lost += watched.word[5];
		storms += watched.word[7];
	}
	print_message("%ju frames lost, %ju storms\n", (uintmax_t)lost, (uintmax_t)storms);
	assert_true(lost > 1000 && storms > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_network),
		cmocka_unit_test(test_any_division),
		cmocka_unit_test(test_any_unwatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
