/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the hold of small requests, with a real daemon. */
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "../../common/netns.h"
#include "runtime/device/internal.h"

#define MOST 48u /* most requests that are held */

struct pair {
	struct node a, b;
	uint64_t next;
};

static void begin(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	node_open(&p->a);
	node_open(&p->b);
	node_connect(&p->a, &p->b);
}

static void end(struct pair *p)
{
	node_close(&p->a);
	node_close(&p->b);
}

/* Posts a WRITE of one byte, as ibv_post_send() does. */
static void post(struct pair *p)
{
	struct node *n = &p->a;
	struct ibv_sge sge = {(uint64_t)(uintptr_t)(n->buffer + p->next), 1, adv_mr_lkey(n->mr)};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = p->next,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {(uint64_t)(uintptr_t)(p->b.buffer + p->next),
						     adv_mr_rkey(p->b.mr)},
				 };

	assert_true(p->next < NODE_BUFFER);
	n->buffer[p->next++] = 1;
	assert_int_equal(adv_device_post_send(n->d, n->qp, &wr, &bad), 0);
}

/* Polls once. False: no completion is available. */
static bool poll_once(struct pair *p)
{
	struct ibv_wc wc;
	int n;

	adv_device_lock(p->a.d);
	adv_device_progress(p->a.d, true);
	n = adv_cq_poll(p->a.cq, 1, &wc);
	adv_device_unlock(p->a.d);
	assert_true(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
	return n == 1;
}

static bool stands_by(struct adv_device *d)
{
	bool yes;

	adv_lock_take(&d->lock); /* adv_device_unlock() would send */
	yes = adv_progress_state(&d->progress) == ADV_PROGRESS_POLLER;
	adv_lock_release(&d->lock);
	return yes;
}

/* Polls until the background thread has stopped receiving and all requests are complete. */
static void poll_steadily(struct pair *p, unsigned completions)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;

	for (unsigned i = 0; adv_clock_ns() < give_up; i++) {
		completions -= poll_once(p);
		if (completions == 0 && stands_by(p->a.d))
			return;
		if (i % 1000 == 0 && completions == 0) { /* packets make the thread stop */
			post(p);
			completions++;
		}
	}
	fail_msg("the thread has not stepped back, or %u requests are not done", completions);
}

static uint64_t sent(struct pair *p)
{
	uint64_t n;

	adv_lock_take(&p->a.d->lock); /* adv_device_unlock() would send */
	n = adv_link_count(p->a.d->link).tx_packets;
	adv_lock_release(&p->a.d->lock);
	return n;
}

/*
 * Polls steadily, posts n requests, and returns the number of packets that the posts sent. On a
 * busy machine all of them may be sent: the thread then takes a program that does not run for a
 * program that has stopped polling.
 */
static uint64_t sent_by_posting(struct pair *p, unsigned n)
{
	uint64_t before;

	adv_lock_take(&p->a.d->lock);
	p->a.d->progress.hold.off = 0;
	adv_lock_release(&p->a.d->lock);
	poll_steadily(p, 0);
	before = sent(p);
	for (unsigned i = 0; i < n; i++)
		post(p);
	return sent(p) - before;
}

/* True if the buffer has n unused bytes for another attempt. */
static bool may_try(const struct pair *p, unsigned n)
{
	return p->next + n <= NODE_BUFFER;
}

/* True if n posts send exactly `packets` packets at once in one of many attempts. */
static bool sends(struct pair *p, unsigned n, unsigned packets)
{
	bool found = false;

	while (!found && may_try(p, n)) {
		found = sent_by_posting(p, n) == packets;
		poll_steadily(p, n);
	}
	node_compare(&p->a, 0, &p->b, 0, (uint32_t)p->next);
	return found;
}

/* Tests that the first request is sent at once, and that later requests are held until a poll or
 * until there are MOST. */
static void test_together(void **state)
{
	struct pair p;

	begin(&p);
	assert_true(sends(&p, 5, 1));
	assert_true(sends(&p, MOST, 1));
	assert_true(sends(&p, 1 + MOST, 1 + MOST));
	assert_true(sends(&p, 1 + MOST + 1, 1 + MOST));
	end(&p);
}

/* Tests that any other call sends held requests. */
static void test_other_call(void **state)
{
	bool found = false;
	struct pair p;

	begin(&p);
	while (!found && may_try(&p, 2)) {
		uint64_t at_once = sent_by_posting(&p, 2);

		adv_device_lock(p.a.d);
		found = at_once == 1 && p.a.d->held == 1;
		adv_device_unlock(p.a.d);
		assert_int_equal(p.a.d->held, 0);
		poll_steadily(&p, 2);
	}
	assert_true(found);
	end(&p);
}

/* Tests a program that stops polling: the background thread sends held requests, and the next
 * requests are not held. */
static void test_no_poll(void **state)
{
	struct pair p;
	const uint8_t *last;
	uint64_t before;

	begin(&p);
	while (!p.a.d->progress.hold.off && may_try(&p, 2)) {
		sent_by_posting(&p, 2);
		last = p.b.buffer + p.next - 1;
		WAIT_UNTIL(__atomic_load_n(last, __ATOMIC_ACQUIRE) == 1);
		poll_steadily(&p, 2);
	}
	assert_true(p.a.d->progress.hold.off);
	before = sent(&p);
	post(&p);
	post(&p);
	assert_int_equal(sent(&p), before + 2);
	poll_steadily(&p, 2);
	end(&p);
}

/* Tests that no request is held if the program has armed a CQ or has never polled. */
static void test_sleeper(void **state)
{
	struct pair p;
	uint64_t before;

	begin(&p);
	before = sent(&p);
	post(&p);
	post(&p);
	assert_int_equal(sent(&p), before + 2);
	poll_steadily(&p, 2);
	adv_device_lock(p.a.d);
	adv_device_app_sleeps(p.a.d);
	adv_device_unlock(p.a.d);
	before = sent(&p);
	post(&p);
	post(&p);
	assert_int_equal(sent(&p), before + 2);
	poll_steadily(&p, 2);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_other_call),
		cmocka_unit_test(test_no_poll),
		cmocka_unit_test(test_sleeper),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
