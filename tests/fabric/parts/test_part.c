/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Networks that are divided among threads. test_networks.c compares random ones. */
#include <errno.h>

#include "../network/net.h"

#define WORDS 6

/* What may not depend on the division. */
struct outcome {
	uint64_t word[WORDS];
};

static struct outcome outcome_of(struct net *n, enum adv_fabric_stop stop)
{
	struct outcome o = {{stop, adv_fabric_now(n->f), adv_fabric_events(n->f), n->digest,
			     adv_fabric_lost(n->f), net_all_drops(n)}};

	return o;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(a->word[i], b->word[i]);
}

/* Divides, if `threads` is more than 1. */
static void divide(struct net *n, uint32_t threads)
{
	if (threads > 1)
		assert_int_equal(adv_fabric_divide(n->f, threads, threads), threads);
}

static void open_tree(struct net *n)
{
	assert_int_equal(adv_topology_fat_tree(&n->t, 4, cable_of(2), cable_of(200)), 0);
	net_open(n);
	n->config.class[3].ecn_min = 20000;
	n->config.class[3].ecn_max = 80000;
	n->config.class[3].ecn_ppm = 200000;
	net_start(n);
}

/* ---- the same results ---- */

/* Congested flows of all sizes, a lossy cable and one that fails. */
static struct outcome run_tree(uint32_t threads)
{
	enum adv_fabric_stop stop;
	struct outcome o;
	struct net n;

	open_tree(&n);
	for (uint32_t h = 0; h < n.t.hosts; h++) {
		net_write(&n, h, (h + 5) % n.t.hosts, 26, 20000 + 30000 * h);
		net_write(&n, h, h < 8 ? 9 : 2, 26, 40000);
	}
	adv_fabric_lose(n.f, n.t.hosts + 3, 2000);
	n.config.reroute = 10 * US;
	assert_int_equal(adv_fabric_fail(n.f, n.t.hosts + 9, 20 * US, 60 * US), 0);
	assert_int_equal(adv_fabric_sample(n.f, 7 * US), 0);
	divide(&n, threads);
	stop = adv_fabric_run(n.f, 100 * MS);
	assert_int_equal(stop, ADV_FABRIC_DONE);
	o = outcome_of(&n, stop);
	net_close(&n);
	return o;
}

static void test_threads(void **state)
{
	struct outcome one = run_tree(1);

	for (uint32_t threads = 2; threads <= 3; threads++) {
		struct outcome more = run_tree(threads);

		assert_same(&more, &one);
	}
}

/* Endless flows, run in pieces: the caller's thread and the others take turns. */
static struct outcome run_pieces(uint32_t threads)
{
	struct outcome o;
	struct net n;

	open_tree(&n);
	adv_fabric_count_received(n.f);
	for (uint32_t h = 0; h < n.t.hosts; h++)
		net_write(&n, h, (h + 7) % n.t.hosts, 26, UINT64_MAX);
	divide(&n, threads);
	for (uint64_t at = 10 * US; at <= 60 * US; at += 10 * US) {
		while (adv_fabric_run_some(n.f, at, 500) == ADV_FABRIC_EVENTS)
			net_conserved(&n);
		assert_int_equal(adv_fabric_now(n.f), at);
	}
	o = outcome_of(&n, ADV_FABRIC_UNTIL);
	for (uint32_t c = 0; c < n.t.hosts; c++)
		o.word[5] = o.word[5] * 31 + adv_fabric_received(n.f, c);
	net_close(&n);
	return o;
}

static void test_pieces(void **state)
{
	struct outcome one = run_pieces(1), two = run_pieces(2);

	assert_same(&two, &one);
}

/* The last transfer ends in one part while frames of READs, and timers, are left in the other: it
 * may not go beyond the end. */
static struct outcome run_to_end(uint32_t threads)
{
	enum adv_fabric_stop stop;
	struct outcome o;
	struct net n;
	uint32_t job, c;

	open_tree(&n);
	job = net_write(&n, 0, 15, 26, 100000);
	for (uint32_t h = 9; h < 15; h++) {
		c = net_connect(&n, h, 15 - h, ADV_FABRIC_READ, 26);
		assert_true(adv_fabric_transfer(n.f, c, 30000, 0) > 0);
	}
	divide(&n, threads);
	stop = adv_fabric_run(n.f, 100 * MS);
	o = outcome_of(&n, stop);
	assert_int_equal(adv_fabric_get_transfer(n.f, job)->status, IBV_WC_SUCCESS);
	/* What is left is processed by a later run. */
	assert_int_equal(adv_fabric_run(n.f, 200 * MS), ADV_FABRIC_UNTIL);
	o.word[5] = adv_fabric_events(n.f);
	net_close(&n);
	return o;
}

static void test_end(void **state)
{
	struct outcome one = run_to_end(1);

	assert_int_equal(one.word[0], ADV_FABRIC_DONE);
	for (uint32_t threads = 2; threads <= 3; threads++) {
		struct outcome more = run_to_end(threads);

		assert_same(&more, &one);
	}
}

/* A transfer fails, since its cable does. What waits for it is in the part of the receiver, and
 * fails too. */
static struct outcome run_to_failure(uint32_t threads)
{
	struct adv_fabric_connection c = {
		.initiator = 0, .target = 15, .dscp = 26, .timeout = 1, .retry_count = 1};
	enum adv_fabric_stop stop;
	struct outcome o;
	struct net n;
	uint32_t first, back;
	int64_t next;

	open_tree(&n);
	assert_int_equal(adv_fabric_connect(n.f, &c), 0);
	first = (uint32_t)adv_fabric_transfer(n.f, 0, 100000, 0);
	back = net_connect(&n, 15, 3, ADV_FABRIC_WRITE, 26);
	next = adv_fabric_transfer_after(n.f, back, 1000, &first, 1);
	assert_int_equal(next, 1);
	next = adv_fabric_compute_after(n.f, 5 * US, &first, 1);
	assert_int_equal(next, 2);
	assert_int_equal(adv_fabric_fail(n.f, 15, 2 * US, ADV_CALENDAR_NEVER), 0);
	divide(&n, threads);
	stop = adv_fabric_run(n.f, 100 * MS);
	assert_int_equal(stop, ADV_FABRIC_DONE);
	assert_int_equal(adv_fabric_get_transfer(n.f, first)->status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(adv_fabric_get_transfer(n.f, 1)->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(adv_fabric_get_transfer(n.f, 2)->status, IBV_WC_WR_FLUSH_ERR);
	o = outcome_of(&n, stop);
	net_close(&n);
	return o;
}

static void test_failure(void **state)
{
	struct outcome one = run_to_failure(1), two = run_to_failure(2);

	assert_same(&two, &one);
}

/* A deadlock stops the run, in any number of parts at the same time. */
static struct outcome run_ring(uint32_t threads)
{
	enum adv_fabric_stop stop;
	struct adv_fabric_wait cycle[4];
	struct outcome o;
	struct net n;

	net_open_deadlock(&n);
	divide(&n, threads);
	stop = adv_fabric_run(n.f, 20 * MS);
	o = outcome_of(&n, stop);
	o.word[5] = adv_fabric_deadlock(n.f, cycle, 4);
	net_close(&n);
	return o;
}

static void test_deadlock(void **state)
{
	struct outcome one = run_ring(1), two = run_ring(2);

	assert_int_equal(one.word[0], ADV_FABRIC_DEADLOCK);
	assert_same(&two, &one);
}

/* The last transfer of one part and a computation of the other end at the same time, and a storm
 * begins between them. The run ends with the computation, whose event is the last one. Returns the
 * duration that the computation must have, ps. */
static uint64_t run_to_one_time(uint32_t threads, uint64_t computes, uint64_t storm,
				struct outcome *o)
{
	const struct adv_fabric_transfer_state *c;
	uint32_t job, before;
	uint64_t takes;
	struct net n;

	open_tree(&n);
	job = net_write(&n, 0, 1, 26, 20000);
	before = net_write(&n, 15, 14, 26, 1000);
	assert_int_equal(adv_fabric_compute_after(n.f, computes, &before, 1), 2);
	assert_int_equal(adv_fabric_storm(n.f, 2, 1 << 3, storm, storm + US), 0);
	divide(&n, threads);
	*o = outcome_of(&n, adv_fabric_run(n.f, MS));
	c = adv_fabric_get_transfer(n.f, 2);
	takes = adv_fabric_get_transfer(n.f, job)->end - c->start;
	o->word[5] = c->end;
	net_close(&n);
	return takes;
}

static void test_end_at_one_time(void **state)
{
	struct outcome one, two;
	uint64_t computes = run_to_one_time(1, 1, MS, &one), end = one.word[1];

	run_to_one_time(1, computes, end, &one);
	run_to_one_time(2, computes, end, &two);
	assert_int_equal(one.word[0], ADV_FABRIC_DONE);
	assert_int_equal(one.word[1], end);
	assert_int_equal(one.word[5], end);
	assert_same(&two, &one);
}

/* ---- transfers that are added later ---- */

static struct net *added_to;

/* Adds a transfer that begins at once. */
static void add_at_sample(void *user, const struct adv_fabric_event *e)
{
	if (e->kind == ADV_FABRIC_SAMPLE)
		net_write(added_to, 3, 12, 26, 1000);
}

/* Transfers are added at a sample, and between two runs. Both runs end at the time at which they
 * are added, and start them. */
static struct outcome run_added(uint32_t threads)
{
	struct outcome o;
	struct net n;

	open_tree(&n);
	net_write(&n, 0, 15, 26, UINT64_MAX);
	assert_int_equal(adv_fabric_sample(n.f, 20 * US), 0);
	divide(&n, threads);
	added_to = &n;
	adv_fabric_watch(n.f, add_at_sample, NULL);
	assert_int_equal(adv_fabric_run(n.f, 20 * US), ADV_FABRIC_UNTIL);
	o = outcome_of(&n, ADV_FABRIC_UNTIL);
	net_write(&n, 4, 11, 26, 1000);
	assert_int_equal(adv_fabric_run(n.f, 20 * US), ADV_FABRIC_UNTIL);
	o.word[5] = adv_fabric_events(n.f);
	net_close(&n);
	return o;
}

static void test_added(void **state)
{
	struct outcome one = run_added(1), two = run_added(2);

	assert_same(&two, &one);
}

/* ---- what can be divided ---- */

static void test_one_switch(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(2)), 0);
	net_open(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_divide(n.f, 2, 2), 1);
	net_write(&n, 0, 4, 26, 1000);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	assert_int_equal(adv_fabric_divide(n.f, 2, 2), -1);
	assert_int_equal(errno, EINVAL);
	net_close(&n);
}

/* If hosts wait for what arrives at others, they are in one part. */
static void test_waits_join(void **state)
{
	uint32_t c, job;
	struct net n;

	assert_int_equal(adv_topology_ring(&n.t, 4, 1, cable_of(2), cable_of(20)), 0);
	net_open(&n);
	net_start(&n);
	/* The data arrives at host 1. Hosts 2 and 3 wait for it, and host 0 for an answer. */
	job = net_write(&n, 0, 1, 26, 1000);
	c = net_connect(&n, 2, 0, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer_after(n.f, c, 1000, &job, 1), 1);
	c = net_connect(&n, 3, 2, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer_after(n.f, c, 1000, &job, 1), 2);
	c = net_connect(&n, 0, 1, ADV_FABRIC_READ, 26);
	job = 2;
	assert_int_equal(adv_fabric_transfer_after(n.f, c, 1000, &job, 1), 3);
	assert_int_equal(adv_fabric_divide(n.f, 4, 1), 1);
	net_close(&n);
}

static struct net *told;
static int64_t added;

/* Adds a transfer while a report is told. */
static void add_transfer(void *user, const struct adv_fabric_event *e)
{
	if (e->kind == ADV_FABRIC_TRANSFER && !added) {
		added = adv_fabric_transfer(told->f, 0, 1000, adv_fabric_now(told->f));
		assert_int_equal(errno, EINVAL);
	}
}

static void test_refused(void **state)
{
	uint32_t job, far, c;
	struct net n;

	open_tree(&n);
	job = net_write(&n, 0, 1, 26, 1000);
	assert_int_equal(adv_fabric_divide(n.f, 65, 2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(adv_fabric_divide(n.f, 0, 1), -1);
	assert_int_equal(adv_fabric_divide(n.f, 2, 0), -1);
	assert_int_equal(adv_fabric_divide(n.f, 2, 1), 2);
	assert_int_equal(adv_fabric_divide(n.f, 2, 1), -1);
	/* Data that arrives at host 1 tells host 15 nothing at once. */
	far = net_connect(&n, 15, 3, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer_after(n.f, far, 1000, &job, 1), -1);
	assert_int_equal(errno, EINVAL);
	c = net_connect(&n, 1, 3, ADV_FABRIC_WRITE, 26);
	assert_true(adv_fabric_transfer_after(n.f, c, 1000, &job, 1) > 0);
	assert_true(adv_fabric_compute_after(n.f, US, &job, 1) > 0);
	told = &n;
	added = 0;
	adv_fabric_watch(n.f, add_transfer, NULL);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	assert_int_equal(added, -1);
	/* Between runs it may be added. */
	assert_true(adv_fabric_transfer(n.f, far, 1000, adv_fabric_now(n.f)) > 0);
	assert_int_equal(adv_fabric_run(n.f, 2 * MS), ADV_FABRIC_DONE);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_one_switch),
		cmocka_unit_test(test_waits_join),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_end_at_one_time),
		cmocka_unit_test(test_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
