/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests empty polls that follow each other (runtime/progress/idle.h): they skip what the first of
 * them found out about the device, and look for packets from time to time only. Each test changes
 * one thing that such a poll must heed. The tests change it without the lock, as acquiring the lock
 * is one of these things.
 */
#include "node.h"

#include "../../common/netns.h"
#include "runtime/device/internal.h"
#include "nic/queue/cq.h"

#define US 1000ull
#define MS (1000 * US)

static int poll_cq(struct node *n)
{
	struct ibv_wc wc;

	return adv_device_poll_cq(n->d, n->cq, 1, &wc);
}

/* Polls until the next poll is one that skips: the last one changed nothing. */
static void become_idle(struct node *n)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;

	do {
		assert_true(adv_clock_ns() < give_up);
		adv_idle_store(&n->d->idle.gap, 0); /* the poll looks */
		assert_int_equal(poll_cq(n), 0);
	} while (adv_lock_uses(&n->d->lock) != adv_idle_load(&n->cq->empty_at));
	adv_idle_store(&n->d->idle.gap, 0);
}

/* As become_idle(), and the next looks for packets are far away. */
static void become_quiet(struct node *n)
{
	become_idle(n);
	adv_idle_store(&n->d->idle.looked, adv_ticks());
	adv_idle_store(&n->d->idle.gap, UINT32_MAX);
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
	uint32_t uses;

	node_open(&n);
	become_idle(&n);
	n.d->progress.crowded_till = ADV_NEVER;
	n.d->progress.nap.due = 0; /* as after a packet */
	uses = adv_lock_uses(&n.d->lock);
	assert_int_equal(poll_cq(&n), 0);
	assert_int_not_equal(adv_lock_uses(&n.d->lock), uses);
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

/* Acquires the lock without a trace: the next poll may still skip. */
static void lock_unseen(struct node *n)
{
	adv_lock_take(&n->d->lock);
	adv_lock_count(&n->d->lock, -1);
}

/* Between two looks, a poll does not acquire the lock. */
static void test_no_lock(void **state)
{
	struct node n;

	node_open(&n);
	become_quiet(&n);
	lock_unseen(&n);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(poll_cq(&n), 0); /* it would wait for ever */
	adv_lock_release(&n.d->lock);
	node_close(&n);
}

/* Waits until the CQ has a completion, without polling it. */
static void await_completion(struct node *n)
{
	for (bool empty = true; empty;) {
		adv_device_lock(n->d);
		(void)adv_device_progress(n->d, false);
		empty = adv_cq_empty(n->cq);
		adv_device_unlock(n->d);
	}
}

/* Between two looks, a completion that another thread has brought is found. */
static void test_completion_of_others(void **state)
{
	struct ibv_wc wc;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	become_quiet(&n);
	assert_int_equal(node_write(&n, &n, 1, 0, NODE_BUFFER / 2, 64), 0);
	await_completion(&n);
	assert_int_equal(adv_device_poll_cq(n.d, n.cq, 1, &wc), 1);
	node_close(&n);
}

/* That one CQ was empty says nothing of another one, whose completion nobody has polled. */
static void test_other_cq(void **state)
{
	struct ibv_wc wc;
	struct adv_cq *other;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	other = adv_cq_create(adv_device_lock(n.d), 4, NULL);
	adv_device_unlock(n.d);
	assert_non_null(other);
	assert_int_equal(node_write(&n, &n, 1, 0, NODE_BUFFER / 2, 64), 0);
	await_completion(&n);
	do {
		adv_idle_store(&n.d->idle.gap, 0); /* the poll looks */
		assert_int_equal(adv_device_poll_cq(n.d, other, 1, &wc), 0);
	} while (adv_lock_uses(&n.d->lock) != adv_idle_load(&other->empty_at));
	adv_idle_store(&n.d->idle.looked, adv_ticks());
	adv_idle_store(&n.d->idle.gap, UINT32_MAX);
	assert_int_equal(adv_device_poll_cq(n.d, n.cq, 1, &wc), 1);
	adv_device_lock(n.d);
	assert_int_equal(adv_cq_destroy(other), 0);
	adv_device_unlock(n.d);
	node_close(&n);
}

/* Between two looks, a packet that the thread leaves to the program makes the next poll look. */
static void test_left_packet(void **state)
{
	struct node n;

	node_open(&n);
	become_quiet(&n);
	atomic_store(&n.d->progress.state, ADV_PROGRESS_LEFT);
	assert_int_equal(poll_cq(&n), 0);
	assert_int_not_equal(adv_lock_uses(&n.d->lock), adv_idle_load(&n.cq->empty_at));
	node_close(&n);
}

static unsigned looks, packets_due;
static struct node *faked;
static const struct adv_link_ops *real_ops;

/* Lets looks be faked: the background thread does not look meanwhile, as no packet wakes it. */
static void fake_looks(struct node *n, struct adv_link_ops *ops,
		       unsigned (*receive)(struct adv_link *, unsigned, adv_link_rx_fn *, void *))
{
	lock_unseen(n);
	real_ops = n->d->link->ops;
	*ops = *real_ops;
	ops->receive = receive;
	n->d->link->ops = ops;
	faked = n;
	looks = 0;
	adv_lock_release(&n->d->lock);
}

static void end_fake(struct node *n)
{
	lock_unseen(n);
	n->d->link->ops = real_ops;
	adv_lock_release(&n->d->lock);
}

static unsigned count_look(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	looks += link->busy_polled; /* not those of the background thread */
	return 0;
}

static unsigned find_packets(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	unsigned packets = packets_due;

	packets_due = 0;
	return packets;
}

static unsigned find_room(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	if (looks++ == 0)
		adv_qp_schedule(faked->qp);
	return 0;
}

/* A program spins for 300 us, in a quiet time; 4 us after its last look it finds a packet that the
 * thread has left to it. True if it then takes the processor for crowded. */
static bool finds_crowded(struct node *n)
{
	struct adv_progress *p = &n->d->progress;
	uint64_t now;

	become_quiet(n);
	lock_unseen(n);
	n->d->idle.rate_ticks = 3000;
	n->d->idle.rate_ns = 1000;
	p->crowded_till = 0;
	p->vain = 100;
	packets_due = 1;
	atomic_store(&p->found, false);
	atomic_store(&p->state, ADV_PROGRESS_LEFT);
	now = adv_clock_ns();
	p->vain_since = now - 304 * US;
	adv_progress_polled(p, now - 4 * US);
	adv_idle_store(&n->d->idle.polled, adv_ticks());
	adv_lock_release(&n->d->lock);
	(void)poll_cq(n);
	return packets_due || p->crowded_till > now;
}

/* Polls between two looks are polls: no other process has run since. The test itself may be
 * preempted, but not each time. */
static void test_left_to_spinning(void **state)
{
	struct adv_link_ops fake;
	unsigned tries = 0;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	fake_looks(&n, &fake, find_packets);
	while (finds_crowded(&n))
		assert_in_range(++tries, 1, 1000);
	end_fake(&n);
	node_close(&n);
}

/* A look that finds no packet, but room in the socket of an iWARP stream, leaves work to be done.
 */
static void test_room(void **state)
{
	struct adv_link_ops fake;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	become_idle(&n);
	fake_looks(&n, &fake, find_room);
	while (looks == 0) /* later polls would find it when a timer is due */
		assert_int_equal(poll_cq(&n), 0);
	end_fake(&n);
	lock_unseen(&n);
	assert_int_equal(adv_engine_todo(n.d->engine) & ADV_TODO_TX, 0);
	adv_lock_release(&n.d->lock);
	node_close(&n);
}

/* Returns how many of 10,000 polls look for packets, when all that follows from earlier calls is
 * done. */
static unsigned count_looks(struct node *n)
{
	struct adv_link_ops counting;

	become_idle(n);
	fake_looks(n, &counting, count_look);
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(poll_cq(n), 0);
	end_fake(n);
	return looks;
}

/* No poll makes a system call while no queue pair is connected. What arrives all the same is
 * received by the background thread. */
static void test_not_connected(void **state)
{
	struct ibv_qp_attr attr;
	struct node n;

	node_open(&n);
	assert_int_equal(count_looks(&n), 0);
	assert_true(adv_progress_is_armed(&n.d->progress));
	node_connect(&n, &n);
	assert_in_range(count_looks(&n), 1, 10000);
	adv_device_lock(n.d);
	atomic_store(&n.d->progress.state, ADV_PROGRESS_POLLER); /* as after many packets */
	adv_device_perform(n.d, ADV_PROGRESS_DISARM);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(adv_qp_modify(n.qp, adv_device_now(n.d), &attr, IBV_QP_STATE), 0);
	adv_device_unlock(n.d);
	assert_int_equal(count_looks(&n), 0);
	assert_true(adv_progress_is_armed(&n.d->progress));
	node_close(&n);
}

/* After a long quiet time, the background thread waits for packets, and polls look rarely. */
static void test_long_quiet(void **state)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE, gap_ns;
	struct node n;

	node_open(&n);
	node_connect(&n, &n);
	adv_device_lock(n.d);
	atomic_store(&n.d->progress.state, ADV_PROGRESS_POLLER); /* as after many packets */
	adv_device_perform(n.d, ADV_PROGRESS_DISARM);
	adv_device_unlock(n.d);
	do {
		assert_true(adv_clock_ns() < give_up);
		assert_int_equal(poll_cq(&n), 0);
		adv_device_lock(n.d);
		gap_ns = (uint64_t)adv_idle_load(&n.d->idle.gap) * n.d->idle.rate_ns;
		gap_ns /= n.d->idle.rate_ticks ? n.d->idle.rate_ticks : 1;
		adv_lock_count(&n.d->lock, -1); /* the next poll may still skip */
		adv_device_unlock(n.d);
	} while (gap_ns < 100 * US);
	assert_true(adv_progress_is_armed(&n.d->progress));
	assert_true(adv_clock_ns() - n.d->idle.heard_ns >= 10 * MS);
	node_close(&n);
}

/* ---- the plan of looks, in virtual time ---- */

#define RATE 3 /* ticks a ns */

static struct adv_idle idle;
static uint64_t now;

/* Begins a quiet time. */
static void hear(unsigned activity)
{
	static const struct adv_lock lock;
	static struct adv_progress progress;

	adv_idle_begin(&idle, &lock, &progress, now, ADV_NEVER, activity);
	idle.heard = (uint32_t)(now * RATE); /* ticks of this world */
}

/* Looks after `later` ns. Returns the ns until the next look. */
static uint64_t look(uint64_t later, uint64_t longest_ns)
{
	now += later;
	adv_idle_store(&idle.gap, 0);
	adv_idle_plan(&idle, (uint32_t)(now * RATE), now, longest_ns);
	return adv_idle_load(&idle.gap) / RATE;
}

static int setup_plan(void **state)
{
	idle = (struct adv_idle){.until = 0};
	now = 1000 * MS;
	hear(1);
	return 0;
}

static void test_plan(void **state)
{
	assert_int_equal(look(7 * US, 6 * US), 0);   /* each poll looks soon after traffic */
	assert_int_equal(look(1 * US, 6 * US), 250); /* a fraction of the quiet time */
	assert_int_equal(look(24 * US, 6 * US), 1 * US);
	assert_int_equal(look(160 * US, 6 * US), 6 * US); /* the longest */
	assert_int_equal(look(80 * US, 1 * US), 1 * US);
	assert_int_equal(look(900 * MS, 6 * US), 6 * US);
	assert_int_equal(look(5000 * MS, 6 * US), 6 * US); /* ticks have wrapped around */
	hear(1);					   /* no traffic in between */
	assert_int_equal(look(0, 6 * US), 6 * US);
	hear(2);
	assert_int_equal(look(0, 6 * US), 0);
	assert_int_equal(look(32 * US, 6 * US), 1 * US);
}

/* A timer is not missed. */
static void test_plan_timer(void **state)
{
	idle.until = now + 160 * US;
	assert_int_equal(look(100 * US, 100 * US), 100 * US / 32);
	assert_int_equal(look(56 * US, 100 * US), 1 * US); /* also if the program polls seldom */
	assert_int_equal(look(4 * US, 100 * US), 0);
	assert_int_equal(look(1 * US, 100 * US), 0);
}

/* A program that makes its first poll long after the last traffic: how many ticks a ns has is not
 * known, so the next polls look. */
static void test_plan_away(void **state)
{
	assert_int_equal(look(1500 * MS, 6 * US), 0);
	idle.heard = (uint32_t)(now * RATE); /* ticks of this world */
	assert_int_equal(look(1 * US, 6 * US), 0);
	assert_int_equal(look(319 * US, 6 * US), 6 * US);
}

/* A thread that was preempted between the readings of time and ticks looks too early. */
static void test_plan_preempted(void **state)
{
	idle.heard += 50 * US * RATE;
	assert_int_equal(look(100 * US, 6 * US), 100 * US / 32 / 2);
}

/* A program that polls seldom looks after some polls, or after some times the time. */
static void test_sparse(void **state)
{
	const uint32_t gap = 1u << 28; /* ticks: some 100 ms */
	static const struct adv_lock lock;
	static struct adv_progress progress;
	uint32_t uses = adv_lock_uses(&lock);

	(void)look(900 * MS, 6 * US);
	adv_idle_store(&idle.gap, gap);
	adv_idle_store(&idle.looked, adv_ticks() - gap);
	for (unsigned i = 1; i < ADV_IDLE_POLLS; i++)
		assert_true(adv_idle_is_quiet(&idle, &lock, &progress, uses));
	assert_false(adv_idle_is_quiet(&idle, &lock, &progress, uses));
	adv_idle_store(&idle.polls, 0);
	assert_true(adv_idle_is_quiet(&idle, &lock, &progress, uses));
	adv_idle_store(&idle.looked, adv_ticks() - ADV_IDLE_SPARSE * gap);
	assert_false(adv_idle_is_quiet(&idle, &lock, &progress, uses));
	(void)look(1 * MS, 6 * US);
	assert_int_equal(adv_idle_load(&idle.polls), 0);
}

/* Polls between two looks count as polls. */
static void test_last_poll(void **state)
{
	uint64_t looked_at;
	uint32_t ticks;

	assert_int_equal(look(1600 * US, 50 * US), 50 * US);
	looked_at = now;
	ticks = (uint32_t)(now * RATE);
	adv_idle_store(&idle.polled, ticks + 30 * US * RATE);
	assert_int_equal(
		adv_idle_last_poll(&idle, ticks + 40 * US * RATE, now + 40 * US, looked_at),
		looked_at + 30 * US);
	assert_int_equal(
		adv_idle_last_poll(&idle, ticks + 40 * US * RATE, now + 200 * MS, looked_at),
		looked_at);
	adv_idle_store(&idle.gap, 0); /* no poll was without a look */
	assert_int_equal(
		adv_idle_last_poll(&idle, ticks + 40 * US * RATE, now + 40 * US, looked_at),
		looked_at);
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

#define P(name) cmocka_unit_test_setup(name, setup_plan)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_other_call),
		cmocka_unit_test(test_thread_leaves),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_packet),
		cmocka_unit_test(test_no_lock),
		cmocka_unit_test(test_completion_of_others),
		cmocka_unit_test(test_other_cq),
		cmocka_unit_test(test_left_packet),
		cmocka_unit_test(test_not_connected),
		cmocka_unit_test(test_long_quiet),
		cmocka_unit_test(test_left_to_spinning),
		cmocka_unit_test(test_room),
		P(test_plan),
		P(test_plan_timer),
		P(test_plan_away),
		P(test_plan_preempted),
		P(test_sparse),
		P(test_last_poll),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
