/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Networks that several ranks, or threads, simulate together give the results of one. The ranks are
 * threads here, each with a network of its own. test_networks.c compares random networks. */
#include <errno.h>

#include "base/fnv.h"
#include "base/rng.h"
#include "../network/net.h"
#include "team.h"

#define WORDS 12

/* What may not depend on the ranks. */
struct outcome {
	uint64_t word[WORDS];
};

/* A simulation by `ranks` ranks with `threads` threads each. */
struct trial {
	uint32_t ranks;
	uint32_t threads;
	uint64_t most;		     /* events at once */
	uint64_t followed[TEAM_MAX]; /* by rank: the events that it knows of at the end */
	void (*run)(struct trial *t, const struct adv_ranks *ranks);
	struct outcome outcome;
};

static void run_rank(const struct adv_ranks *ranks, void *user)
{
	struct trial *t = user;

	t->run(t, ranks);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(a->word[i], b->word[i]);
}

/* Runs with several numbers of ranks, and compares the outcome with that of one. Returns it. */
static struct outcome compare(void (*run)(struct trial *t, const struct adv_ranks *ranks))
{
	static const uint32_t numbers[][2] = {{2, 1}, {3, 1}, {2, 2}};
	struct trial one = {.ranks = 1, .threads = 1, .run = run};

	team_run(1, run_rank, &one);
	for (unsigned i = 0; i < 3; i++) {
		struct trial more = {.ranks = numbers[i][0], .threads = numbers[i][1], .run = run};

		print_message("%u ranks, %u threads each\n", more.ranks, more.threads);
		team_run(more.ranks, run_rank, &more);
		assert_same(&more.outcome, &one.outcome);
	}
	return one.outcome;
}

/* Divides, and follows if this is not rank 0. True: the caller is rank 0 and runs. */
static bool lead(struct trial *t, const struct adv_ranks *ranks, struct net *n)
{
	if (ranks->count > 1)
		assert_int_equal(adv_fabric_divide_ranks(n->f, t->threads, ranks),
				 t->threads * ranks->count);
	else if (t->threads > 1)
		assert_int_equal(adv_fabric_divide(n->f, t->threads, t->threads), t->threads);
	if (ranks->rank == 0)
		return true;
	adv_fabric_follow(n->f);
	t->followed[ranks->rank] = adv_fabric_events(n->f);
	adv_fabric_destroy(n->f);
	adv_topology_free(&n->t);
	return false;
}

static void close_net(struct net *n)
{
	adv_fabric_destroy(n->f);
	adv_topology_free(&n->t);
}

/* ---- results ---- */

static void add(uint64_t *hash, uint64_t value)
{
	*hash = adv_fnv_add(*hash, value);
}

static void add_egress(uint64_t *hash, const struct adv_egress *e, uint64_t now)
{
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_egress_queue *q = &e->queue[p];

		add(hash, q->bytes);
		add(hash, q->sent);
		add(hash, q->sent_bytes);
		add(hash, q->most);
		add(hash, e->pauses[p].count);
		add(hash, adv_egress_paused_for(e, p, now));
	}
}

static uint64_t hash_switches(const struct net *n)
{
	uint64_t hash = 1;

	for (uint32_t s = 0; s < n->t.switches; s++) {
		struct adv_switch *sw = adv_fabric_switch(n->f, s);
		const struct adv_switch_counters *c = adv_switch_counters(sw);

		for (unsigned i = 0; i < sizeof(*c) / sizeof(uint64_t); i++)
			add(&hash, ((const uint64_t *)c)[i]);
		add(&hash, adv_switch_used(sw));
		for (unsigned port = 0; port < adv_switch_ports(sw); port++) {
			add_egress(&hash, adv_switch_egress(sw, port), adv_fabric_now(n->f));
			for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
				const struct adv_ingress *in = adv_switch_ingress(sw, port, p);

				add(&hash, in->used);
				add(&hash, in->headroom_used);
				add(&hash, in->most_headroom);
				add(&hash, in->paused);
				add(&hash, adv_switch_limit(sw, p));
				add(&hash, adv_switch_take_peak(sw, port, p));
			}
		}
	}
	return hash;
}

static uint64_t hash_hosts(const struct net *n)
{
	uint64_t hash = 1;

	for (uint32_t h = 0; h < n->t.hosts; h++) {
		const struct adv_fabric_host_counters *c = adv_fabric_host_counters(n->f, h);
		const struct adv_engine_counters *e = adv_fabric_engine_counters(n->f, h);

		add_egress(&hash, adv_fabric_egress(n->f, h), adv_fabric_now(n->f));
		for (unsigned i = 0; i < sizeof(*c) / sizeof(uint64_t); i++)
			add(&hash, ((const uint64_t *)c)[i]);
		add(&hash, e->tx_packets);
		add(&hash, e->rx_packets);
		add(&hash, e->packet_seq_err);
		add(&hash, e->np_cnp_sent);
		add(&hash, e->rp_cnp_handled);
		add(&hash, e->local_ack_timeout_err);
	}
	return hash;
}

static uint64_t hash_transfers(const struct net *n, uint32_t transfers)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < transfers; i++) {
		const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(n->f, i);

		add(&hash, t->start);
		add(&hash, t->end);
		add(&hash, t->done);
		add(&hash, t->status);
		add(&hash, adv_fabric_acknowledged(n->f, i));
	}
	for (uint32_t c = 0; adv_fabric_get_connection(n->f, c); c++)
		add(&hash, adv_fabric_received(n->f, c));
	return hash;
}

static void take_outcome(struct trial *t, const struct net *n, enum adv_fabric_stop stop,
			 uint32_t transfers)
{
	adv_fabric_gather(n->f);
	t->outcome = (struct outcome){{stop, adv_fabric_now(n->f), adv_fabric_events(n->f),
				       n->digest, adv_fabric_lost(n->f), hash_switches(n),
				       hash_hosts(n), hash_transfers(n, transfers)}};
}

/* ---- the same results ---- */

static void open_tree(struct net *n)
{
	assert_int_equal(adv_topology_fat_tree(&n->t, 4, cable_of(2), cable_of(200)), 0);
	net_open(n);
	n->config.class[3].ecn_min = 20000;
	n->config.class[3].ecn_max = 80000;
	n->config.class[3].ecn_ppm = 200000;
}

/* Congested flows of all sizes, a lossy cable, one that fails, a slow host and a storm. The watcher
 * sees what it would see of one calendar. */
static void run_tree(struct trial *t, const struct adv_ranks *ranks)
{
	struct adv_fabric_slow slow = {160, 60000, 30000, 200000};
	uint32_t transfers = 0;
	struct net n;

	open_tree(&n);
	n.config.reroute = 10 * US;
	net_start(&n);
	adv_fabric_count_received(n.f);
	for (uint32_t h = 0; h < n.t.hosts; h++) {
		net_write(&n, h, (h + 5) % n.t.hosts, 26, 20000 + 30000 * h);
		transfers = 1 + net_write(&n, h, h < 8 ? 9 : 2, 26, 40000);
	}
	adv_fabric_lose(n.f, n.t.hosts + 3, 2000);
	assert_int_equal(adv_fabric_fail(n.f, n.t.hosts + 9, 20 * US, 60 * US), 0);
	assert_int_equal(adv_fabric_slow_host(n.f, 9, &slow), 0);
	assert_int_equal(adv_fabric_storm(n.f, 14, 1u << 3, 30 * US, 50 * US), 0);
	assert_int_equal(adv_fabric_sample(n.f, 7 * US), 0);
	if (!lead(t, ranks, &n))
		return;
	take_outcome(t, &n, adv_fabric_run(n.f, 100 * MS), transfers);
	assert_int_equal(t->outcome.word[0], ADV_FABRIC_DONE);
	close_net(&n);
}

static void test_tree(void **state)
{
	struct outcome o = compare(run_tree);

	assert_true(o.word[4] > 0);
}

static uint64_t sampled;

static void sample_switches(void *user, const struct adv_fabric_event *e)
{
	const struct net *n = user;

	if (e->kind == ADV_FABRIC_SAMPLE)
		for (uint32_t s = 0; s < n->t.switches; s++)
			add(&sampled, adv_switch_used(adv_fabric_switch(n->f, s)));
}

/* Endless flows, run in pieces, with results between them; the watcher reads queues. Rank 0 sets
 * samples and watcher when the others follow already. */
static void run_pieces(struct trial *t, const struct adv_ranks *ranks)
{
	uint64_t hash = 1;
	struct net n;

	open_tree(&n);
	net_start(&n);
	adv_fabric_watch(n.f, NULL, NULL);
	for (uint32_t h = 0; h < n.t.hosts; h++)
		net_write(&n, h, (h + 7) % n.t.hosts, 26, UINT64_MAX);
	if (!lead(t, ranks, &n))
		return;
	sampled = 1;
	adv_fabric_count_received(n.f);
	adv_fabric_watch(n.f, sample_switches, &n);
	assert_int_equal(adv_fabric_sample(n.f, 3 * US), 0);
	for (uint64_t at = 10 * US; at <= 60 * US; at += 10 * US) {
		while (adv_fabric_run_some(n.f, at, 500) == ADV_FABRIC_EVENTS)
			assert_true(adv_fabric_now(n.f) <= at);
		assert_int_equal(adv_fabric_now(n.f), at);
		adv_fabric_gather(n.f);
		add(&hash, hash_switches(&n));
	}
	take_outcome(t, &n, ADV_FABRIC_UNTIL, n.t.hosts);
	t->outcome.word[8] = hash;
	t->outcome.word[9] = sampled;
	close_net(&n);
}

static void test_pieces(void **state)
{
	compare(run_pieces);
}

/* A transfer fails, since its cable does. What waits for it belongs to another rank, and fails
 * too. */
static void run_failure(struct trial *t, const struct adv_ranks *ranks)
{
	struct adv_fabric_connection c = {
		.initiator = 0, .target = 15, .dscp = 26, .timeout = 1, .retry_count = 1};
	uint32_t first, back;
	struct net n;

	open_tree(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_connect(n.f, &c), 0);
	first = (uint32_t)adv_fabric_transfer(n.f, 0, 100000, 0);
	back = net_connect(&n, 15, 3, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer_after(n.f, back, 1000, &first, 1), 1);
	assert_int_equal(adv_fabric_compute_after(n.f, 5 * US, &first, 1), 2);
	assert_int_equal(adv_fabric_fail(n.f, 15, 2 * US, ADV_CALENDAR_NEVER), 0);
	if (!lead(t, ranks, &n))
		return;
	take_outcome(t, &n, adv_fabric_run(n.f, 100 * MS), 3);
	assert_int_equal(adv_fabric_get_transfer(n.f, first)->status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(adv_fabric_get_transfer(n.f, 1)->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(adv_fabric_get_transfer(n.f, 2)->status, IBV_WC_WR_FLUSH_ERR);
	close_net(&n);
}

static void test_failure(void **state)
{
	compare(run_failure);
}

/* Each cable between switches fails for a short time. Both ends report it, the one with the lower
 * number of its wire first, whichever ranks simulate them. */
static void run_cables(struct trial *t, const struct adv_ranks *ranks)
{
	struct net n;

	open_tree(&n);
	net_start(&n);
	for (uint32_t h = 0; h < n.t.hosts; h++)
		net_write(&n, h, (h + 5) % n.t.hosts, 26, 20000);
	for (uint32_t link = n.t.hosts; link < n.t.links; link++)
		assert_int_equal(adv_fabric_fail(n.f, link, 50 * link * NS, 50 * link * NS + NS),
				 0);
	if (!lead(t, ranks, &n))
		return;
	take_outcome(t, &n, adv_fabric_run(n.f, 100 * MS), n.t.hosts);
	assert_int_equal(n.events[ADV_SWITCH_DOWN], 2 * (n.t.links - n.t.hosts));
	close_net(&n);
}

static void test_cables(void **state)
{
	compare(run_cables);
}

/* A deadlock over switches of all ranks stops them at the same time; then they go on. */
static void run_ring(struct trial *t, const struct adv_ranks *ranks)
{
	struct adv_fabric_wait cycle[4];
	enum adv_fabric_stop stop;
	struct net n;

	net_open_deadlock(&n);
	if (!lead(t, ranks, &n))
		return;
	stop = adv_fabric_run(n.f, 20 * MS);
	assert_int_equal(stop, ADV_FABRIC_DEADLOCK);
	assert_int_equal(adv_fabric_deadlock(n.f, cycle, 4), 4);
	take_outcome(t, &n, stop, 8);
	for (unsigned i = 0; i < 4; i++)
		t->outcome.word[8] = t->outcome.word[8] * 31 + cycle[i].sw * 8 + cycle[i].port;
	assert_int_equal(adv_fabric_run(n.f, 21 * MS), ADV_FABRIC_UNTIL);
	t->outcome.word[9] = adv_fabric_events(n.f);
	close_net(&n);
}

static void test_deadlock(void **state)
{
	compare(run_ring);
}

/* ---- limits of events ---- */

/* A long run in pieces, of a random number of events each. What is done late without a watcher, and
 * at samples, has to count as one event at all ranks. */
static void run_limits(struct trial *t, const struct adv_ranks *ranks)
{
	enum adv_fabric_stop stop;
	struct adv_rng r;
	struct net n;

	adv_rng_seed(&r, t->most);
	open_tree(&n);
	n.unwatched = true;
	n.config.reroute = 10 * US;
	net_start(&n);
	for (uint32_t h = 0; h < n.t.hosts; h++)
		net_write(&n, h, (h + 5) % n.t.hosts, 26, UINT64_MAX);
	for (uint32_t link = n.t.hosts; link < n.t.links; link += 5)
		assert_int_equal(adv_fabric_fail(n.f, link, link * 20 * US, link * 22 * US), 0);
	assert_int_equal(adv_fabric_sample(n.f, 7 * US), 0);
	if (!lead(t, ranks, &n))
		return;
	do
		stop = adv_fabric_run_some(n.f, MS, 1 + adv_rng_below(&r, t->most));
	while (stop == ADV_FABRIC_EVENTS);
	take_outcome(t, &n, stop, n.t.hosts);
	close_net(&n);
}

static void test_limits(void **state)
{
	static const uint64_t most[] = {2000, 10000, 50000, 300000};
	static const uint32_t numbers[][2] = {{1, 2}, {2, 1}, {3, 1}, {2, 2}};
	struct trial one = {.ranks = 1, .threads = 1, .most = UINT32_MAX, .run = run_limits};

	team_run(1, run_rank, &one);
	print_message("%ju events, %ju frames lost\n", (uintmax_t)one.outcome.word[2],
		      (uintmax_t)one.outcome.word[4]);
	assert_int_equal(one.outcome.word[0], ADV_FABRIC_UNTIL);
	assert_true(one.outcome.word[2] > 100000 && one.outcome.word[4] > 0);
	for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++)
		for (unsigned k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			struct trial more = {.ranks = numbers[k][0],
					     .threads = numbers[k][1],
					     .most = most[i],
					     .run = run_limits};

			print_message("%u ranks, %u threads each, at most %ju events at once\n",
				      more.ranks, more.threads, (uintmax_t)most[i]);
			team_run(more.ranks, run_rank, &more);
			assert_same(&more.outcome, &one.outcome);
			for (uint32_t r = 1; r < more.ranks; r++)
				assert_int_equal(more.followed[r], one.outcome.word[2]);
		}
}

/* ---- what can be divided ---- */

static void run_alone(struct trial *t, const struct adv_ranks *ranks)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(2)), 0);
	net_open(&n);
	net_start(&n);
	net_write(&n, 0, 4, 26, 1000);
	assert_int_equal(adv_fabric_divide_ranks(n.f, 65, ranks), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(adv_fabric_divide_ranks(n.f, 1, ranks), 1);
	if (ranks->rank == 0) {
		assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
		adv_fabric_gather(n.f);
	} else {
		adv_fabric_follow(n.f);
	}
	close_net(&n);
}

/* A network of one switch: rank 0 runs alone. */
static void test_one_switch(void **state)
{
	struct trial t = {.ranks = 2, .threads = 1, .run = run_alone};

	team_run(2, run_rank, &t);
}

static void run_idle(struct trial *t, const struct adv_ranks *ranks)
{
	struct net n;

	assert_int_equal(adv_topology_dumbbell(&n.t, 2, cable_of(2), cable_of(20)), 0);
	net_open(&n);
	net_start(&n);
	net_write(&n, 0, 3, 26, 1000000);
	if (ranks->count > 1)
		assert_int_equal(adv_fabric_divide_ranks(n.f, 2, ranks), 2);
	if (ranks->rank == 0) {
		take_outcome(t, &n, adv_fabric_run(n.f, MS), 1);
		if (ranks->count > 1) {
			assert_int_equal(adv_fabric_transfer(n.f, 0, 1000, adv_fabric_now(n.f)),
					 -1);
			assert_int_equal(errno, EINVAL);
		}
	} else {
		adv_fabric_follow(n.f);
	}
	close_net(&n);
}

/* Two parts and three ranks: one has nothing to do. Nothing can be added. */
static void test_idle_rank(void **state)
{
	struct trial one = {.ranks = 1, .run = run_idle}, three = {.ranks = 3, .run = run_idle};

	team_run(1, run_rank, &one);
	team_run(3, run_rank, &three);
	assert_same(&three.outcome, &one.outcome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	  cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_failure),	  cmocka_unit_test(test_cables),
		cmocka_unit_test(test_deadlock),  cmocka_unit_test(test_one_switch),
		cmocka_unit_test(test_idle_rank), cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
