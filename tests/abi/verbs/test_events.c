/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests completion channels and asynchronous events. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "harness.h"

static void send_one(struct pair *p, uint64_t id, unsigned flags)
{
	assert_int_equal(post_recv(&p->b, id, 0, 64), 0);
	assert_int_equal(post_send(&p->a, id, 0, 64, IBV_SEND_SIGNALED | flags), 0);
	expect_wc(p->a.send_cq, id, IBV_WC_SUCCESS);
}

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void expect_event(struct side *s, struct ibv_cq *expected)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	assert_true(readable(s->channel->fd, PATIENCE_MS));
	assert_int_equal(ibv_get_cq_event(s->channel, &cq, &context), 0);
	assert_ptr_equal(cq, expected);
	assert_ptr_equal(context, s);
	ibv_ack_cq_events(cq, 1);
}

static void expect_no_event(struct side *s)
{
	struct ibv_cq *cq;
	void *context;

	assert_false(readable(s->channel->fd, 30));
	errno = 0;
	assert_int_equal(ibv_get_cq_event(s->channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
}

static void one_event_an_arming(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	set_nonblocking(p.b.channel->fd);

	/* The CQ is not armed: no event comes. */
	send_one(&p, 1, 0);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	expect_no_event(&p.b);

	/* The CQ is armed once: one event comes, for the first of two completions. */
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	send_one(&p, 2, 0);
	send_one(&p, 3, 0);
	expect_event(&p.b, p.b.recv_cq);
	expect_no_event(&p.b);

	/* A completion that was queued before arming causes no event. */
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	expect_no_event(&p.b);
	expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 3, IBV_WC_SUCCESS);
	send_one(&p, 4, 0);
	expect_event(&p.b, p.b.recv_cq);
	expect_wc(p.b.recv_cq, 4, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void solicited_only(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	set_nonblocking(p.b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 1), 0);
	send_one(&p, 1, 0);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	expect_no_event(&p.b);
	send_one(&p, 2, IBV_SEND_SOLICITED);
	expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS);
	expect_event(&p.b, p.b.recv_cq);

	/* Failed completions count as solicited. */
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 1), 0);
	assert_int_equal(post_recv(&p.b, 3, 0, 64), 0);
	assert_int_equal(to_state(&p.b, IBV_QPS_ERR), 0);
	expect_event(&p.b, p.b.recv_cq);
	expect_wc(p.b.recv_cq, 3, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

#define ROUNDS 2000

/* Sleeps for each message as in ibv_get_cq_event(3). A lost wake-up would make it hang. */
static void *sleeper(void *arg)
{
	struct side *s = arg;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	unsigned got = 0;
	int n;

	while (got < ROUNDS) {
		if (ibv_get_cq_event(s->channel, &cq, &context))
			return NULL;
		ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(cq, 0))
			return NULL;
		while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
			if (wc.status != IBV_WC_SUCCESS || wc.wr_id != got)
				return NULL;
			got++;
		}
		if (n < 0)
			return NULL;
	}
	return s;
}

static void no_wakeup_is_lost(void **state)
{
	pthread_t thread;
	struct pair p;
	void *ret;
	int err;

	pair_open(&p, &(struct options){0});
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, sleeper, &p.b), 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		/* The queue is full until the sleeper has polled its completions. */
		while ((err = post_recv(&p.b, i, 0, 64)) == ENOMEM)
			sched_yield();
		assert_int_equal(err, 0);
		assert_int_equal(post_send(&p.a, i, 0, 64, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, &p.b);
	pair_close(&p);
}

/* Waits for an event; the test cancels this thread. */
static void *waiter(void *arg)
{
	struct ibv_comp_channel *channel = arg;
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(channel, &cq, &context);
	return NULL;
}

static void waiting_can_be_cancelled(void **state)
{
	pthread_t thread;
	struct side s;
	void *ret;

	side_open(&s, &(struct options){0});
	assert_int_equal(pthread_create(&thread, NULL, waiter, s.channel), 0);
	usleep(20000);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	side_close(&s);
}

struct destroyer {
	struct ibv_cq *cq;
	volatile bool done;
};

static void *destroy_cq(void *arg)
{
	struct destroyer *d = arg;

	if (ibv_destroy_cq(d->cq) == 0)
		d->done = true;
	return NULL;
}

static void destroying_a_cq_waits_for_acks(void **state)
{
	struct destroyer d = {0};
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	send_one(&p, 1, 0);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), 0);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	d.cq = cq;
	assert_int_equal(pthread_create(&thread, NULL, destroy_cq, &d), 0);
	usleep(50000);
	assert_false(d.done);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(d.done);
	p.b.recv_cq = ibv_create_cq(p.b.ctx, 1, NULL, NULL, 0);
	pair_close(&p);
}

/* Tests that the destruction of a CQ removes the CQ's events from the channel, and that events of
 * another CQ remain. */
static void events_of_a_destroyed_cq_are_dropped(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	set_nonblocking(p.a.channel->fd);
	set_nonblocking(p.b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	send_one(&p, 1, 0);
	assert_true(readable(p.b.channel->fd, PATIENCE_MS));
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(p.b.recv_cq), 0);
	expect_no_event(&p.b);
	p.b.recv_cq = ibv_create_cq(p.b.ctx, 1, NULL, p.b.channel, 0);
	assert_non_null(p.b.recv_cq);
	pair_close(&p);
}

static void moderation(void **state)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = 3, .cq_period = 60000},
	};
	struct pair p;

	pair_open(&p, &(struct options){0});
	set_nonblocking(p.b.channel->fd);
	assert_int_equal(ibv_modify_cq(p.b.recv_cq, &attr), 0);
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	send_one(&p, 1, 0);
	send_one(&p, 2, 0);
	assert_false(readable(p.b.channel->fd, 0));
	send_one(&p, 3, 0);
	expect_event(&p.b, p.b.recv_cq);
	attr.attr_mask = 1 << 5;
	assert_int_equal(ibv_modify_cq(p.b.recv_cq, &attr), EINVAL);
	pair_close(&p);
}

static void async_of_a_qp(void **state)
{
	struct ibv_async_event event, other;
	struct pair p;

	pair_open(&p, &(struct options){.srq = true});
	set_nonblocking(p.b.ctx->async_fd);
	assert_int_equal(ibv_get_async_event(p.b.ctx, &event), -1);
	assert_int_equal(errno, EAGAIN);

	/* A QP with an SRQ reports the last WQE when it enters the error state. */
	assert_int_equal(to_state(&p.b, IBV_QPS_ERR), 0);
	event = wait_async(p.b.ctx);
	assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(event.element.qp, p.b.qp);
	assert_int_equal(ibv_get_async_event(p.b.ctx, &other), -1);
	ibv_ack_async_event(&event);
	pair_close(&p);
}

static void async_of_a_drained_queue(void **state)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_async_event event;
	struct pair p;

	pair_open(&p, &(struct options){0});
	for (int round = 0; round < 2; round++) {
		assert_int_equal(
			ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
		event = wait_async(p.a.ctx);
		assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
		assert_ptr_equal(event.element.qp, p.a.qp);
		ibv_ack_async_event(&event);
		assert_int_equal(to_state(&p.a, IBV_QPS_RTS), 0);
	}
	pair_close(&p);
}

static void async_of_an_srq_limit(void **state)
{
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_async_event event;
	struct pair p;

	pair_open(&p, &(struct options){.srq = true});
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_recv(&p.b, i, 0, 64), 0);
	assert_int_equal(ibv_modify_srq(p.b.srq, &attr, IBV_SRQ_LIMIT), 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_false(readable(p.b.ctx->async_fd, 0));
		assert_int_equal(post_send(&p.a, i, 0, 64, IBV_SEND_SIGNALED), 0);
		expect_wc(p.b.recv_cq, i, IBV_WC_SUCCESS);
	}
	event = wait_async(p.b.ctx);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, p.b.srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_query_srq(p.b.srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	pair_close(&p);
}

static void *destroy_qp(void *arg)
{
	return ibv_destroy_qp(arg) == 0 ? arg : NULL;
}

static void destroying_a_qp_waits_for_acks(void **state)
{
	struct ibv_async_event event;
	pthread_t thread;
	struct pair p;
	void *ret;

	pair_open(&p, &(struct options){.srq = true});
	assert_int_equal(to_state(&p.b, IBV_QPS_ERR), 0);
	event = wait_async(p.b.ctx);
	assert_int_equal(pthread_create(&thread, NULL, destroy_qp, p.b.qp), 0);
	usleep(50000);
	assert_int_equal(pthread_tryjoin_np(thread, &ret), EBUSY);
	ibv_ack_async_event(&event);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, p.b.qp);
	p.b.qp = NULL;
	pair_close(&p);
}

/* Tests that an object with unread events can be destroyed. */
static void unread_async_events_are_dropped(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){.srq = true});
	assert_int_equal(to_state(&p.b, IBV_QPS_ERR), 0);
	assert_true(readable(p.b.ctx->async_fd, PATIENCE_MS));
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	assert_false(readable(p.b.ctx->async_fd, 0));
	pair_close(&p);
}

static void cq_overrun_is_an_event(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_cq *small;
	struct ibv_wc wc;
	struct side s;
	int n;

	side_open(&s, &(struct options){0});
	small = ibv_create_cq(s.ctx, 4, NULL, NULL, 0);
	assert_non_null(small);
	init = s.init;
	init.send_cq = init.recv_cq = small;
	assert_int_equal(ibv_destroy_qp(s.qp), 0);
	s.qp = ibv_create_qp(s.pd, &init);
	assert_non_null(s.qp);
	assert_int_equal(to_init(&s, &(struct options){0}), 0);
	for (int i = 0; i < small->cqe + 1; i++)
		assert_int_equal(post_recv(&s, (uint64_t)i, 0, 8), 0);
	assert_int_equal(to_state(&s, IBV_QPS_ERR), 0);
	event = wait_async(s.ctx);
	while (event.event_type != IBV_EVENT_CQ_ERR) {
		ibv_ack_async_event(&event);
		event = wait_async(s.ctx);
	}
	assert_ptr_equal(event.element.cq, small);
	ibv_ack_async_event(&event);
	while ((n = ibv_poll_cq(small, 1, &wc)) > 0)
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_true(n < 0);
	assert_int_equal(ibv_destroy_qp(s.qp), 0);
	s.qp = NULL;
	assert_int_equal(ibv_destroy_cq(small), 0);
	side_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_event_an_arming),
		cmocka_unit_test(solicited_only),
		cmocka_unit_test(no_wakeup_is_lost),
		cmocka_unit_test(waiting_can_be_cancelled),
		cmocka_unit_test(destroying_a_cq_waits_for_acks),
		cmocka_unit_test(events_of_a_destroyed_cq_are_dropped),
		cmocka_unit_test(moderation),
		cmocka_unit_test(async_of_a_qp),
		cmocka_unit_test(async_of_a_drained_queue),
		cmocka_unit_test(async_of_an_srq_limit),
		cmocka_unit_test(destroying_a_qp_waits_for_acks),
		cmocka_unit_test(unread_async_events_are_dropped),
		cmocka_unit_test(cq_overrun_is_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
