/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests empty polls that follow each other: they skip what the first of them found out about the
 * device (host/idle.h). Each test changes one thing that such a poll must heed.
 * The tests change it without the lock, as acquiring the lock is one of these things.
 */
#include "node.h"

#include "../link/netns.h"
#include "host/device_internal.h"
#include "transport/cq.h"

static int poll_cq(struct node *n)
{
	struct ibv_wc wc;

	return adv_device_poll_cq(n->d, n->cq, 1, &wc);
}

/* Polls until the next poll is one that skips: nothing but a poll has used the device since the
 * poll before. */
static void become_idle(struct node *n)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;
	uint32_t next;

	do {
		assert_true(adv_clock_ns() < give_up);
		next = n->d->idle.next;
		assert_int_equal(poll_cq(n), 0);
	} while (n->d->idle.next != next + 1);
}

static void test_timer(void **state)
{
	struct node n;

	node_open(&n);
	become_idle(&n);
	n.d->idle.until = 0; /* as if a timer were due */
	assert_int_equal(poll_cq(&n), 0);
	assert_int_equal(poll_cq(&n), 0);
	assert_int_not_equal(n.d->idle.until, 0); /* found out again */
	node_close(&n);
}

static void test_crowded(void **state)
{
	struct node n;
	uint32_t next;

	node_open(&n);
	become_idle(&n);
	n.d->progress.crowded_till = ADV_NEVER;
	next = n.d->idle.next;
	assert_int_equal(poll_cq(&n), 0);
	assert_int_equal(n.d->idle.next, next);
	n.d->progress.crowded_till = 0;
	node_close(&n);
}

/* Another call has changed something. */
static void test_other_call(void **state)
{
	struct node n;

	node_open(&n);
	become_idle(&n);
	adv_device_lock(n.d);
	n.d->link->busy_polled = false;
	adv_device_unlock(n.d);
	assert_int_equal(poll_cq(&n), 0);
	assert_true(n.d->link->busy_polled);
	node_close(&n);
}

/* The background thread leaves without the lock; then the next call disarms the sockets. */
static void test_thread_leaves(void **state)
{
	struct node n;

	node_open(&n);
	become_idle(&n);
	atomic_store(&n.d->progress.state, ADV_PROGRESS_LEAVING);
	assert_int_equal(poll_cq(&n), 0);
	assert_int_not_equal(adv_progress_state(&n.d->progress), ADV_PROGRESS_LEAVING);
	node_close(&n);
}

static void test_overrun(void **state)
{
	struct node n;

	node_open(&n);
	become_idle(&n);
	n.cq->overrun = true;
	assert_int_equal(poll_cq(&n), -1);
	node_close(&n);
}

/* A packet that arrives is received by the next poll, and the CQ is empty again afterwards. */
static void test_packet(void **state)
{
	struct ibv_wc wc;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	for (uint64_t id = 1; id <= 3; id++) {
		become_idle(&n);
		assert_int_equal(node_write(&n, &n, id, 0, NODE_BUFFER / 2, 64), 0);
		node_poll(&n, &wc);
		assert_int_equal(wc.wr_id, id);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	become_idle(&n);
	node_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer),	   cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_other_call), cmocka_unit_test(test_thread_leaves),
		cmocka_unit_test(test_overrun),	   cmocka_unit_test(test_packet),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
