/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests devices with a real adverbd, in a network namespace of the test's own. */
#include "node.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "../../common/netns.h"
#include "runtime/control/control.h"
#include "runtime/device/internal.h"

#ifdef __SANITIZE_THREAD__
#define FEWER 10
#else
#define FEWER 1
#endif

static void fill(struct node *n, uint32_t offset, uint32_t length, unsigned seed)
{
	for (uint32_t i = 0; i < length; i++)
		n->buffer[offset + i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

static void check_wc(const struct ibv_wc *wc, uint64_t wr_id)
{
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->wr_id, wr_id);
}

static void test_open_and_close(void **state)
{
	struct node n;
	unsigned fds, tasks;

	node_open(&n);
	node_close(&n);
	fds = open_descriptors();
	tasks = threads();
	for (unsigned i = 0; i < 1000 / FEWER; i++) {
		node_open(&n);
		node_close(&n);
	}
	assert_int_equal(open_descriptors(), fds);
	assert_int_equal(threads(), tasks);
}

static void test_probe(void **state)
{
	static struct adv_gid_table t;
	unsigned fds = open_descriptors();
	const struct adv_rail_list *rails;

	assert_int_equal(adv_device_probe(&t, &rails), 0);
	assert_int_equal(t.entry[0].path_mtu, 4096);
	assert_int_equal(open_descriptors(), fds);
}

/* Tests WRITEs to a side that makes no call, while the writer polls. */
static void test_writes_to_a_passive_side(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	for (unsigned i = 0; i < 300 / FEWER; i++) {
		uint32_t length = i * 211 % 60000 + 1;

		fill(&a, 0, length, i);
		assert_int_equal(node_write(&a, &b, i, 0, 0, length), 0);
		node_poll(&a, &wc);
		check_wc(&wc, i);
		node_compare(&a, 0, &b, 0, length);
	}
	node_close(&a);
	node_close(&b);
}

/* Tests an exchange in which only the two background threads receive. */
static void test_nobody_polls(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	for (unsigned i = 0; i < 200 / FEWER; i++) {
		node_recv(&b, i, NODE_BUFFER / 2, 50000);
		fill(&a, 0, 50000, i);
		assert_int_equal(node_send(&a, i, 0, 50000), 0);
		node_wait(&a, &wc);
		check_wc(&wc, i);
		node_wait(&b, &wc);
		check_wc(&wc, i);
		assert_int_equal(wc.byte_len, 50000);
		node_compare(&a, 0, &b, NODE_BUFFER / 2, 50000);
	}
	node_close(&a);
	node_close(&b);
}

static uint64_t now_ms(void)
{
	return adv_clock_ms();
}

/* Tests that a delayed packet is sent in time without a poll: a round trip takes twice the delay.
 */
static void test_delays(void **state)
{
	struct node a, b;
	struct ibv_wc wc;
	uint64_t began;

	setenv("ADVERB_FAULT", "delay=15ms tx", 1);
	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	for (unsigned i = 0; i < 20 / FEWER; i++) {
		fill(&a, 0, 5000, i);
		began = now_ms();
		assert_int_equal(node_write(&a, &b, i, 0, 0, 5000), 0);
		node_wait(&a, &wc);
		check_wc(&wc, i);
		assert_true(now_ms() - began >= 29);
		node_compare(&a, 0, &b, 0, 5000);
	}
	node_close(&a);
	node_close(&b);
	unsetenv("ADVERB_FAULT");
}

static void test_losses(void **state)
{
	struct node a, b;
	struct ibv_wc wc;

	setenv("ADVERB_FAULT", "seed=3; drop=1%; duplicate=2%; reorder=2% by=3; corrupt=1% bits=2",
	       1);
	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	for (unsigned i = 0; i < 20 / FEWER; i++) {
		fill(&a, 0, 60000, i);
		assert_int_equal(node_write(&a, &b, i, 0, 0, 60000), 0);
		node_wait(&a, &wc);
		check_wc(&wc, i);
		node_compare(&a, 0, &b, 0, 60000);
	}
	node_close(&a);
	node_close(&b);
	unsetenv("ADVERB_FAULT");
}

/* Tests that the device does not open with an invalid fault plan. */
static void test_bad_plan(void **state)
{
	static const struct adv_device_callbacks none;
	unsigned fds = open_descriptors();

	setenv("ADVERB_FAULT", "drop=1", 1);
	errno = 0;
	assert_null(adv_device_open(&none, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(open_descriptors(), fds);
	unsetenv("ADVERB_FAULT");
}

static void sleep_for_event(struct node *n)
{
	struct timespec until;
	bool empty;

	adv_device_lock(n->d);
	adv_cq_arm(n->cq, false);
	empty = adv_cq_empty(n->cq);
	if (empty)
		adv_device_app_sleeps(n->d);
	adv_device_unlock(n->d);
	if (!empty) /* the completion came before the CQ was armed: maybe no event */
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	while (sem_timedwait(&n->completion, &until) < 0)
		assert_int_equal(errno, EINTR);
}

/*
 * Tests a program that polls until the background thread no longer receives, and then sleeps on
 * events: the background thread must receive at once. The peer is another thread that polls.
 */
struct echo {
	struct node *n;
	unsigned rounds;
};

static void *echo(void *arg)
{
	struct echo *e = arg;
	struct ibv_wc wc;

	for (unsigned i = 0; i < e->rounds; i++) {
		do
			node_poll(e->n, &wc);
		while (wc.opcode != IBV_WC_RECV);
		node_recv(e->n, i, 0, 64);
		usleep(200);
		node_send(e->n, i, 64, 64);
	}
	return NULL;
}

static void test_events_after_polling(void **state)
{
	struct node a, b;
	struct echo e = {&b, 200 / FEWER};
	pthread_t thread;
	struct ibv_wc wc;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	node_recv(&b, 0, 0, 64);
	pthread_create(&thread, NULL, echo, &e);
	for (unsigned i = 0; i < e.rounds; i++) {
		uint64_t until = adv_clock_ns() + 300000;

		while (adv_clock_ns() < until) {
			adv_device_lock(a.d);
			adv_device_progress(a.d, true);
			adv_device_unlock(a.d);
		}
		node_recv(&a, i, 0, 64);
		node_send(&a, i, 64, 64);
		for (unsigned got = 0; got < 2;) {
			while (node_look(&a, &wc)) {
				check_wc(&wc, i);
				got++;
			}
			if (got < 2)
				sleep_for_event(&a);
		}
	}
	pthread_join(thread, NULL);
	node_close(&a);
	node_close(&b);
}

/* Spins on a byte that the peer writes, without a call. TSan need not report this intended race. */
__attribute__((no_sanitize("thread"))) static bool spin_for(const uint8_t *byte, uint8_t value)
{
	uint64_t give_up = adv_clock_ns() + PATIENCE;

	while (*(const volatile uint8_t *)byte != value)
		if (adv_clock_ns() > give_up)
			return false;
	return true;
}

struct spinner {
	struct node *n;
	struct node *peer;
	unsigned rounds;
	bool first;
	bool failed;
};

/* Behaves like ib_write_lat: polls for its own completions, and spins on memory for its peer's
 * WRITEs. */
static void *spin_and_write(void *arg)
{
	struct spinner *s = arg;
	struct ibv_wc wc;

	for (unsigned i = 1; i <= s->rounds; i++) {
		if (!s->first && !spin_for(s->n->buffer, (uint8_t)i)) {
			s->failed = true;
			break;
		}
		s->n->buffer[64] = (uint8_t)i;
		if (node_write(s->n, s->peer, i, 64, 0, 1) != 0) {
			s->failed = true;
			break;
		}
		node_poll(s->n, &wc);
		if (s->first && !spin_for(s->n->buffer, (uint8_t)i)) {
			s->failed = true;
			break;
		}
	}
	return NULL;
}

static void test_spinning_on_memory(void **state)
{
	struct node a, b;
	struct spinner s[2] = {{&a, &b, 1000 / FEWER, true, false},
			       {&b, &a, 1000 / FEWER, false, false}};
	pthread_t thread;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	pthread_create(&thread, NULL, spin_and_write, &s[1]);
	spin_and_write(&s[0]);
	pthread_join(thread, NULL);
	assert_false(s[0].failed || s[1].failed);
	node_close(&a);
	node_close(&b);
}

static bool has_sent(struct node *n)
{
	bool yes;

	adv_lock_take(&n->d->lock); /* adv_device_unlock() would send */
	yes = adv_link_count(n->d->link).tx_packets > 0;
	adv_lock_release(&n->d->lock);
	return yes;
}

/* Tests that queued packets are received before a QP changes its state, even if the background
 * thread cannot receive. */
static void test_catch_up(void **state)
{
	struct node a, b;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = {.wr_id = 9,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_RDMA_WRITE,
				       .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	sge = (struct ibv_sge){(uintptr_t)a.buffer, 8, adv_mr_lkey(a.mr)};
	wr.wr.rdma.remote_addr = (uintptr_t)b.buffer;
	wr.wr.rdma.rkey = adv_mr_rkey(b.mr);
	adv_device_lock(a.d); /* now a's background thread cannot receive */
	assert_int_equal(adv_qp_post_send(a.qp, adv_clock_ns(), &wr, &bad), 0);
	adv_device_progress(a.d, false);
	WAIT_UNTIL(has_sent(&b));
	assert_int_equal(adv_cq_poll(a.cq, 1, &wc), 0);
	adv_device_catch_up(a.d);
	assert_int_equal(adv_cq_poll(a.cq, 1, &wc), 1);
	check_wc(&wc, 9);
	adv_device_unlock(a.d);
	node_close(&a);
	node_close(&b);
}

/* Tests two threads that post to one device while a third thread polls it. The peer's background
 * thread receives. */
struct poster {
	struct node *n;
	struct node *peer;
	unsigned first;
	unsigned count;
	atomic_uint *in_flight;
};

static void *post_writes(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = p->first; i < p->first + p->count; i++) {
		while (atomic_load(p->in_flight) >= 100)
			sched_yield();
		atomic_fetch_add(p->in_flight, 1);
		if (node_write(p->n, p->peer, i, i * 512, i * 512, 512) != 0)
			abort();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct node a, b;
	atomic_uint in_flight = 0;
	struct poster p[2] = {{&a, &b, 0, 1000, &in_flight}, {&a, &b, 1000, 1000, &in_flight}};
	pthread_t thread[2];
	struct ibv_wc wc;

	node_open(&a);
	node_open(&b);
	node_connect(&a, &b);
	fill(&a, 0, NODE_BUFFER, 9);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, post_writes, &p[i]);
	for (unsigned i = 0; i < 2000; i++) {
		if (i % 100 < 50)
			node_poll(&a, &wc);
		else
			node_wait(&a, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		atomic_fetch_sub(&in_flight, 1);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	node_compare(&a, 0, &b, 0, 2000 * 512);
	node_close(&a);
	node_close(&b);
}

static void test_to_itself(void **state)
{
	struct node a;
	struct ibv_wc wc;

	node_open(&a);
	node_connect(&a, &a);
	fill(&a, 0, 30000, 3);
	node_recv(&a, 1, 500000, 30000);
	assert_int_equal(node_send(&a, 1, 0, 30000), 0);
	node_poll(&a, &wc);
	check_wc(&wc, 1);
	node_poll(&a, &wc);
	check_wc(&wc, 1);
	node_compare(&a, 0, &a, 500000, 30000);
	node_close(&a);
}

/* Tests that device and descriptors belong to the parent in a child of fork(), and that they stay
 * usable after the child's end. */
static void test_fork(void **state)
{
	unsigned before = open_descriptors();
	struct node a;
	struct ibv_wc wc;
	int status;
	pid_t child;

#ifdef __SANITIZE_THREAD__
	skip(); /* TSan supports no threads in a child */
#endif
	node_open(&a);
	node_connect(&a, &a);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct node own;
		bool right = adv_device_is_foreign(a.d) && open_descriptors() == before;

		adv_device_close(a.d, &a);
		node_open(&own);
		right = right && !adv_device_is_foreign(own.d);
		node_close(&own);
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_false(adv_device_is_foreign(a.d));
	node_recv(&a, 1, 500000, 5000);
	fill(&a, 0, 5000, 1);
	assert_int_equal(node_send(&a, 1, 0, 5000), 0);
	node_wait(&a, &wc);
	check_wc(&wc, 1);
	node_wait(&a, &wc);
	check_wc(&wc, 1);
	node_compare(&a, 0, &a, 500000, 5000);
	node_close(&a);
}

/* Replaces the node's QP by a new one. */
static void renew_qp(struct node *n)
{
	struct adv_qp_config config = {
		.type = IBV_QPT_RC,
		.pd = n->pd,
		.send_cq = n->cq,
		.recv_cq = n->cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct adv_engine *e = adv_device_lock(n->d);

	assert_int_equal(adv_qp_destroy(n->qp), 0);
	n->qp = adv_qp_create(e, &config);
	assert_non_null(n->qp);
	adv_device_unlock(n->d);
}

static uint64_t for_nobody(struct node *n)
{
	uint64_t count = adv_engine_counters(adv_device_lock(n->d))->rx_no_qp;

	adv_device_unlock(n->d);
	return count;
}

/* Tests duplicates that arrive after their QPs were destroyed, when other QPs exist with the same
 * PSNs and keys. */
static void test_late_packets(void **state)
{
	struct node a, b;
	struct ibv_wc wc;
	uint64_t before;

	setenv("ADVERB_FAULT", "duplicate after=200ms", 1);
	node_open(&a);
	unsetenv("ADVERB_FAULT");
	node_open(&b);
	node_connect(&a, &b);
	fill(&a, 0, 10000, 1);
	assert_int_equal(node_write(&a, &b, 1, 0, 0, 10000), 0);
	node_wait(&a, &wc);
	check_wc(&wc, 1);
	before = for_nobody(&b);
	renew_qp(&a);
	renew_qp(&b);
	node_connect(&a, &b);
	fill(&b, 0, 10000, 2);
	WAIT_UNTIL(for_nobody(&b) >= before + 3); /* a WRITE of three packets */
	fill(&a, 0, 10000, 2);
	node_compare(&a, 0, &b, 0, 10000);
	fill(&a, 0, 10000, 3);
	assert_int_equal(node_write(&a, &b, 2, 0, 0, 10000), 0);
	node_wait(&a, &wc);
	check_wc(&wc, 2);
	node_compare(&a, 0, &b, 0, 10000);
	node_close(&a);
	node_close(&b);
}

/* Returns the number of blocks of this process's slot; UINT32_MAX: the slot's process is not
 * connected. */
static unsigned own_blocks(struct adv_control *c)
{
	struct adv_control_entry entry = {0};

	for (uint32_t from = 0; adv_control_list(c, from, &entry) == 0; from = entry.slot + 1)
		if (entry.pid == (uint32_t)getpid() && entry.connected)
			return entry.blocks;
	return UINT32_MAX;
}

static void exchange_once(struct node *a, struct node *b, unsigned seed)
{
	struct ibv_wc wc;

	fill(a, 0, 30000, seed);
	assert_int_equal(node_write(a, b, seed, 0, NODE_BUFFER / 2, 30000), 0);
	if (seed & 1)
		node_poll(a, &wc);
	else
		node_wait(a, &wc);
	check_wc(&wc, seed);
	node_compare(a, 0, b, NODE_BUFFER / 2, 30000);
}

/* Tests that the device gets a block when the slot's QP numbers run out, that QPs of the block
 * receive, that the block survives the worker of adverbd, and that it is returned with the device.
 */
static void test_block(void **state)
{
	char why[256];
	struct adv_control *c = adv_control_connect(false, why, sizeof(why));
	struct adv_control_status status;
	struct node a, b;

	assert_non_null(c);
	node_open(&a);
	assert_int_equal(own_blocks(c), 0);
	b = a;
	b.qp = node_outgrow(&a);
	assert_int_equal(own_blocks(c), 1);
	node_connect(&a, &b);
	for (unsigned i = 0; i < 40; i++)
		exchange_once(i & 2 ? &b : &a, i & 2 ? &a : &b, i);
	assert_int_equal(adv_control_status(c, &status), 0);
	kill((pid_t)status.worker_pid, SIGKILL);
	WAIT_UNTIL(own_blocks(c) == 1);
	for (unsigned i = 0; i < 4; i++)
		exchange_once(i & 2 ? &b : &a, i & 2 ? &a : &b, i);
	node_close(&a);
	WAIT_UNTIL(adv_control_status(c, &status) == 0 &&
		   status.slots_used + status.blocks_used == 0);
	adv_control_close(c);
}

static void test_addresses_change(void **state)
{
	static struct adv_gid_table before, after;
	struct node a;

	node_open(&a);
	adv_device_gids(a.d, &before);
	assert_true(netns_add_ipv6("fd00::77"));
	WAIT_UNTIL(atomic_load(&a.gid_changes) > 0);
	adv_device_gids(a.d, &after);
	assert_int_equal(after.count, before.count + 1);
	node_close(&a);
}

/* ---- more users than devices ---- */

#define USERS (2 * ADV_DEVICES_APART + 3)

static int no_completion(void *user, struct adv_cq *cq)
{
	return -1;
}

static int no_async(void *user, const struct adv_event *event)
{
	return -1;
}

static int count_port(void *user, enum ibv_event_type type)
{
	if (type == IBV_EVENT_GID_CHANGE)
		atomic_fetch_add((atomic_uint *)user, 1);
	return -1;
}

static unsigned different(struct adv_device *const *d, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned k = 0;

		while (d[k] != d[i])
			k++;
		n += k == i;
	}
	return n;
}

/* Tests that each of ADV_DEVICES_APART users has its own device, and that further users share the
 * device with the fewest users. All get events of the port while they have the device open. */
static void test_shared(void **state)
{
	static const struct adv_device_callbacks callbacks = {no_completion, no_async, count_port};
	static atomic_uint heard[USERS];
	struct adv_device *d[USERS], *again;

	for (unsigned i = 0; i < USERS; i++) {
		d[i] = adv_device_open(&callbacks, &heard[i], NULL);
		assert_non_null(d[i]);
		assert_int_equal(different(d, i + 1),
				 i < ADV_DEVICES_APART ? i + 1 : ADV_DEVICES_APART);
	}
	for (unsigned i = 0; i < ADV_DEVICES_APART; i++) {
		unsigned users = 0;

		for (unsigned k = 0; k < USERS; k++)
			users += d[k] == d[i];
		assert_in_range(users, 2, 3);
	}
	/* The user that opened the device closes it; the other users remain. */
	adv_device_close(d[0], &heard[0]);
	assert_true(netns_add_ipv6("fd00::78"));
	for (unsigned i = 1; i < USERS; i++)
		WAIT_UNTIL(atomic_load(&heard[i]) > 0);
	assert_int_equal(atomic_load(&heard[0]), 0);
	again = adv_device_open(&callbacks, &heard[0], NULL);
	d[0] = again;
	assert_int_equal(different(d, USERS), ADV_DEVICES_APART);
	for (unsigned i = 0; i < USERS; i++)
		adv_device_close(d[i], &heard[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_and_close),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_writes_to_a_passive_side),
		cmocka_unit_test(test_nobody_polls),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_bad_plan),
		cmocka_unit_test(test_events_after_polling),
		cmocka_unit_test(test_spinning_on_memory),
		cmocka_unit_test(test_catch_up),
		cmocka_unit_test(test_to_itself),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_late_packets),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_addresses_change),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, node_start_daemon, node_stop_daemon);
}
