/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that a program that waits in ibv_get_cq_event() receives in place of the background thread.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness.h"

struct waiter {
	pthread_t thread;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* CQ of the event */
	int error;
	_Atomic bool done;
};

static void *wait_main(void *arg)
{
	struct waiter *w = arg;
	void *context;

	w->error = ibv_get_cq_event(w->channel, &w->cq, &context) ? errno : 0;
	if (!w->error)
		ibv_ack_cq_events(w->cq, 1);
	w->done = true;
	return NULL;
}

/* Starts the thread and waits until it sleeps. */
static void start_waiter(struct waiter *w, struct ibv_comp_channel *channel)
{
	*w = (struct waiter){.channel = channel};
	assert_int_equal(pthread_create(&w->thread, NULL, wait_main, w), 0);
	usleep(20000);
	assert_false(w->done);
}

static bool waiter_ends(struct waiter *w)
{
	for (int i = 0; i < PATIENCE_MS && !w->done; i++)
		usleep(1000);
	return w->done;
}

static void expect_end(struct waiter *w, struct ibv_cq *cq)
{
	assert_true(waiter_ends(w));
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	assert_int_equal(w->error, 0);
	assert_ptr_equal(w->cq, cq);
}

static void arm_cq(struct ibv_cq *cq)
{
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
}

static void send_to_b(struct pair *p, uint64_t id)
{
	assert_int_equal(post_recv(&p->b, id, 0, 64), 0);
	assert_int_equal(post_send(&p->a, id, 0, 64, IBV_SEND_SIGNALED), 0);
}

/* Tests repeated waits, then a wait with poll(2), then traffic without an event. */
static void other_ways_work_after_it(void **state)
{
	struct ibv_cq *cq;
	struct waiter w;
	struct pair p;
	void *context;
	uint64_t id;

	pair_open(&p, &(struct options){0});
	for (id = 1; id <= 3; id++) {
		arm_cq(p.b.recv_cq);
		start_waiter(&w, p.b.channel);
		send_to_b(&p, id);
		expect_wc(p.a.send_cq, id, IBV_WC_SUCCESS);
		expect_end(&w, p.b.recv_cq);
		expect_wc(p.b.recv_cq, id, IBV_WC_SUCCESS);
	}
	arm_cq(p.b.recv_cq);
	send_to_b(&p, id);
	assert_true(readable(p.b.channel->fd, PATIENCE_MS));
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	expect_wc(p.a.send_cq, id, IBV_WC_SUCCESS);
	for (id++; id < 10; id++) {
		send_to_b(&p, id);
		expect_wc(p.a.send_cq, id, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

/* Tests that the second waiting thread of a device wakes too, whichever of the two events comes
 * first. */
static void two_can_wait(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct waiter first, second;
	struct side other;
	struct pair p;

	for (unsigned order = 0; order < 2; order++) {
		pair_open(&p, &(struct options){0});
		other = p.b; /* another queue pair and channel on the same device */
		other.channel = ibv_create_comp_channel(other.ctx);
		assert_non_null(other.channel);
		other.recv_cq = ibv_create_cq(other.ctx, 1, NULL, other.channel, 0);
		assert_non_null(other.recv_cq);
		init.send_cq = init.recv_cq = other.recv_cq;
		other.qp = ibv_create_qp(other.pd, &init);
		assert_non_null(other.qp);
		assert_int_equal(to_init(&other, &(struct options){0}), 0);
		assert_int_equal(post_recv(&other, 7, 0, 64), 0);
		arm_cq(p.b.recv_cq);
		arm_cq(other.recv_cq);
		start_waiter(&first, order ? other.channel : p.b.channel);
		start_waiter(&second, order ? p.b.channel : other.channel);
		send_to_b(&p, 1);
		expect_end(order ? &second : &first, p.b.recv_cq);
		assert_int_equal(to_state(&other, IBV_QPS_ERR), 0);
		expect_end(order ? &first : &second, other.recv_cq);
		assert_int_equal(ibv_destroy_qp(other.qp), 0);
		assert_int_equal(ibv_destroy_cq(other.recv_cq), 0);
		assert_int_equal(ibv_destroy_comp_channel(other.channel), 0);
		pair_close(&p);
	}
}

/* Tests that timers run during a wait: a SEND is retransmitted until the peer has a receive. */
static void timers_run(void **state)
{
	struct waiter w;
	struct pair p;

	pair_open(&p, &(struct options){.rnr_retry = 7, .min_rnr_timer = 14});
	arm_cq(p.a.send_cq);
	assert_int_equal(post_send(&p.a, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	start_waiter(&w, p.a.channel);
	usleep(30000);
	assert_false(w.done);
	assert_int_equal(post_recv(&p.b, 1, 0, 64), 0);
	expect_end(&w, p.a.send_cq);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Tests that requests that another thread posts during a wait get their timers, and that the wait
 * continues. */
static void others_may_post(void **state)
{
	struct ibv_wc wc;
	struct waiter w;
	struct pair p;

	pair_open(&p, &(struct options){.rnr_retry = 7, .min_rnr_timer = 14});
	arm_cq(p.a.recv_cq);
	start_waiter(&w, p.a.channel);
	assert_int_equal(post_send(&p.a, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	usleep(30000);
	assert_int_equal(post_recv(&p.b, 1, 0, 64), 0);
	/* No thread polls side a. */
	assert_true(wait_wc(p.b.recv_cq, &wc, PATIENCE));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_false(w.done);
	assert_int_equal(post_recv(&p.a, 2, 0, 64), 0);
	assert_int_equal(post_send(&p.b, 2, 0, 64, IBV_SEND_SIGNALED), 0);
	expect_end(&w, p.a.recv_cq);
	pair_close(&p);
}

/* Tests a timer that another thread sets. The peer sends no packet, so only the clock wakes the
 * waiting thread. */
static void a_timer_of_others_is_seen(void **state)
{
	struct waiter w;
	struct pair p;

	pair_open(&p, &(struct options){.timeout = 10});
	assert_int_equal(to_state(&p.b, IBV_QPS_RESET), 0);
	arm_cq(p.a.send_cq);
	start_waiter(&w, p.a.channel);
	assert_int_equal(post_send(&p.a, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	expect_end(&w, p.a.send_cq);
	expect_wc(p.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

static void handler(int number)
{
}

/* Tests that a signal ends the wait if its handler lacks SA_RESTART, and otherwise not. */
static void signals_end_it_as_they_say(void **state)
{
	struct sigaction action = {.sa_handler = handler}, before;
	struct waiter w;
	struct pair p;

	pair_open(&p, &(struct options){0});
	arm_cq(p.b.recv_cq);
	action.sa_flags = SA_RESTART;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	start_waiter(&w, p.b.channel);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(pthread_kill(w.thread, SIGUSR1), 0);
		usleep(1000);
	}
	assert_false(w.done);
	send_to_b(&p, 1);
	expect_end(&w, p.b.recv_cq);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);

	arm_cq(p.b.recv_cq);
	action.sa_flags = 0;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	start_waiter(&w, p.b.channel);
	for (int i = 0; i < PATIENCE_MS && !w.done; i++) {
		assert_int_equal(pthread_kill(w.thread, SIGUSR1), 0);
		usleep(1000);
	}
	assert_true(w.done);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	assert_int_equal(w.error, EINTR);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	send_to_b(&p, 2);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	assert_true(readable(p.b.channel->fd, PATIENCE_MS));
	pair_close(&p);
}

static sigjmp_buf out;

static void jump(int number)
{
	siglongjmp(out, 1);
}

/* Tests that the next wait still receives after a handler left a wait by longjmp(). */
static void a_wait_that_is_left_by_a_jump(void **state)
{
	struct sigaction action = {.sa_handler = jump}, before;
	struct itimerval soon = {.it_value.tv_usec = 20000};
	struct ibv_cq *cq;
	struct pair p;
	void *context;

	pair_open(&p, &(struct options){0});
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	arm_cq(p.b.recv_cq);
	if (sigsetjmp(out, 1) == 0) {
		assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
		(void)ibv_get_cq_event(p.b.channel, &cq, &context);
		fail();
	}
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	send_to_b(&p, 1);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p.b.recv_cq);
	ibv_ack_cq_events(cq, 1);
	pair_close(&p);
}

/* Tests that the device works after a thread was cancelled in its wait. */
static void a_cancelled_wait_leaves_the_device_well(void **state)
{
	struct waiter w;
	struct pair p;
	void *ret;

	pair_open(&p, &(struct options){0});
	for (uint64_t id = 1; id <= 3; id++) {
		start_waiter(&w, p.b.channel);
		assert_int_equal(pthread_cancel(w.thread), 0);
		assert_int_equal(pthread_join(w.thread, &ret), 0);
		assert_ptr_equal(ret, PTHREAD_CANCELED);
		send_to_b(&p, id);
		expect_wc(p.a.send_cq, id, IBV_WC_SUCCESS);
	}
	arm_cq(p.b.recv_cq);
	start_waiter(&w, p.b.channel);
	send_to_b(&p, 4);
	expect_end(&w, p.b.recv_cq);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_ways_work_after_it),
		cmocka_unit_test(two_can_wait),
		cmocka_unit_test(timers_run),
		cmocka_unit_test(others_may_post),
		cmocka_unit_test(a_timer_of_others_is_seen),
		cmocka_unit_test(signals_end_it_as_they_say),
		cmocka_unit_test(a_wait_that_is_left_by_a_jump),
		cmocka_unit_test(a_cancelled_wait_leaves_the_device_well),
	};

	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
