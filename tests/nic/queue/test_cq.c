/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/queue/cq.h"

static int setup(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 1, .qpn_count = 8};

	*state = adv_engine_create(&c);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	adv_engine_destroy(*state);
	return 0;
}

static bool push_status(struct adv_cq *cq, uint64_t id, enum ibv_wc_status status, bool solicited,
			uint64_t now)
{
	struct adv_cqe cqe = {.wc = {.wr_id = id, .status = status}, .timestamp = now};

	return adv_cq_push(cq, &cqe, solicited, now);
}

static bool push(struct adv_cq *cq, uint64_t id)
{
	return push_status(cq, id, IBV_WC_SUCCESS, false, 0);
}

static void expect_poll(struct adv_cq *cq, uint64_t id)
{
	struct ibv_wc wc;

	assert_int_equal(adv_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
}

/* Returns the number of pending events, by kind. */
/* As adv_engine_event(). The engine's summary shows a queued event before the call. */
static bool next_event(struct adv_engine *e, struct adv_event *ev)
{
	assert_true(adv_engine_todo(e) & ADV_TODO_EVENT || !adv_engine_has_event(e));
	return adv_engine_event(e, ev);
}

static unsigned events(struct adv_engine *e, struct adv_cq *cq, int kind)
{
	struct adv_event ev;
	unsigned n = 0;

	while (next_event(e, &ev)) {
		assert_ptr_equal(ev.cq, cq);
		assert_int_equal(ev.kind, kind);
		n++;
	}
	return n;
}

static void test_create(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq;
	int user;

	errno = 0;
	assert_null(adv_cq_create(e, 0, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(adv_cq_create(e, ADV_MAX_CQE + 1, NULL));
	cq = adv_cq_create(e, 5, &user);
	assert_true(adv_cq_capacity(cq) >= 5);
	assert_ptr_equal(adv_cq_user(cq), &user);
	assert_true(adv_cq_empty(cq));
	assert_null(adv_cq_peek(cq));
	assert_int_equal(adv_cq_destroy(cq), 0);
	cq = adv_cq_create(e, ADV_MAX_CQE, NULL);
	assert_int_equal(adv_cq_capacity(cq), ADV_MAX_CQE);
	adv_cq_destroy(cq);
}

static void test_order_and_wrap(void **state)
{
	struct adv_cq *cq = adv_cq_create(*state, 4, NULL);
	uint64_t in = 0, out = 0;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < round % 4 + 1; i++)
			assert_true(push(cq, in++));
		while (!adv_cq_empty(cq))
			expect_poll(cq, out++);
	}
	assert_int_equal(in, out);
}

static void test_poll_many(void **state)
{
	struct adv_cq *cq = adv_cq_create(*state, 8, NULL);
	struct ibv_wc wc[8];

	for (uint64_t i = 0; i < 5; i++)
		push(cq, i);
	assert_int_equal(adv_cq_poll(cq, 0, wc), 0);
	assert_int_equal(adv_cq_poll(cq, 3, wc), 3);
	assert_int_equal(wc[2].wr_id, 2);
	assert_int_equal(adv_cq_poll(cq, 8, wc), 2);
	assert_int_equal(wc[1].wr_id, 4);
	assert_int_equal(adv_cq_poll(cq, 8, wc), 0);
}

static void test_peek_and_pop(void **state)
{
	struct adv_cq *cq = adv_cq_create(*state, 2, NULL);

	push_status(cq, 1, IBV_WC_SUCCESS, false, 1234);
	push(cq, 2);
	assert_int_equal(adv_cq_peek(cq)->wc.wr_id, 1);
	assert_int_equal(adv_cq_peek(cq)->timestamp, 1234);
	adv_cq_pop(cq);
	assert_int_equal(adv_cq_peek(cq)->wc.wr_id, 2);
	adv_cq_pop(cq);
	assert_null(adv_cq_peek(cq));
}

static void test_overrun(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 2, NULL);
	struct adv_event ev;
	struct ibv_wc wc;

	assert_true(push(cq, 1));
	assert_true(push(cq, 2));
	assert_false(push(cq, 3));
	assert_false(push(cq, 4));
	assert_true(next_event(e, &ev));
	assert_int_equal(ev.kind, ADV_EVENT_ASYNC);
	assert_int_equal(ev.async, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(ev.cq, cq);
	assert_false(adv_engine_event(e, &ev));
	expect_poll(cq, 1);
	assert_false(push(cq, 5));
	expect_poll(cq, 2);
	assert_int_equal(adv_cq_poll(cq, 1, &wc), -1);
	assert_int_equal(adv_cq_poll(cq, 1, &wc), -1);
	assert_false(adv_engine_event(e, &ev));
}

/* The summary shows events until the last one is taken. */
static void test_two_overruns(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq[2] = {adv_cq_create(e, 1, NULL), adv_cq_create(e, 1, NULL)};
	struct adv_event ev;

	for (unsigned i = 0; i < 2; i++) {
		assert_true(push(cq[i], 1));
		assert_false(push(cq[i], 2));
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_true(next_event(e, &ev));
		assert_ptr_equal(ev.cq, cq[i]);
	}
	assert_false(next_event(e, &ev));
}

static void test_arm(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 16, NULL);

	push(cq, 1);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	adv_cq_arm(cq, false);
	/* Completions from before the call raise no event (IBTA 11.4.2.2). */
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	push(cq, 2);
	push(cq, 3);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	push(cq, 4);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
}

static void test_arm_solicited(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 16, NULL);

	adv_cq_arm(cq, true);
	push(cq, 1);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	push_status(cq, 2, IBV_WC_SUCCESS, true, 0);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	adv_cq_arm(cq, true);
	push_status(cq, 3, IBV_WC_WR_FLUSH_ERR, false, 0);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	/* If the CQ is armed for all completions and for solicited ones, any completion raises the
	 * event. The order of the two calls does not matter. */
	adv_cq_arm(cq, true);
	adv_cq_arm(cq, false);
	adv_cq_arm(cq, true);
	push(cq, 4);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
}

static void test_destroyed_with_event(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 1, NULL);
	struct adv_event ev;

	adv_cq_arm(cq, false);
	push(cq, 1);
	push(cq, 2);
	assert_int_equal(adv_cq_destroy(cq), 0);
	assert_false(adv_engine_event(e, &ev));
}

static void test_resize(void **state)
{
	struct adv_cq *cq = adv_cq_create(*state, 4, NULL);

	for (uint64_t i = 0; i < 7; i++) {
		push(cq, i);
		if (i < 4)
			expect_poll(cq, i);
	}
	assert_int_equal(adv_cq_resize(cq, 2), EINVAL);
	assert_int_equal(adv_cq_resize(cq, 0), EINVAL);
	assert_int_equal(adv_cq_resize(cq, ADV_MAX_CQE + 1), EINVAL);
	assert_int_equal(adv_cq_resize(cq, 100), 0);
	assert_true(adv_cq_capacity(cq) >= 100);
	for (uint64_t i = 7; i < 100; i++)
		assert_true(push(cq, i));
	for (uint64_t i = 4; i < 98; i++)
		expect_poll(cq, i);
	assert_int_equal(adv_cq_resize(cq, 2), 0);
	assert_false(adv_cq_capacity(cq) > 4);
	expect_poll(cq, 98);
	expect_poll(cq, 99);
	assert_true(adv_cq_empty(cq));
}

static void test_purge(void **state)
{
	struct adv_cq *cq = adv_cq_create(*state, 8, NULL);
	struct adv_qp one = {0}, two = {0};

	for (uint64_t i = 0; i < 8; i++) {
		struct adv_cqe cqe = {.wc.wr_id = i, .qp = i % 3 ? &one : &two, .release = 1};

		adv_cq_push(cq, &cqe, false, 0);
	}
	adv_cq_purge(cq, &one);
	expect_poll(cq, 0);
	expect_poll(cq, 3);
	expect_poll(cq, 6);
	assert_true(adv_cq_empty(cq));
	/* Polling frees the QP's slots. */
	assert_int_equal(two.sq.freed, 1);
	assert_int_equal(one.sq.freed, 0);
}

static void test_moderation_by_count(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 64, NULL);
	unsigned n = 0;

	assert_int_equal(adv_cq_moderate(cq, 4, 0), 0);
	for (int i = 0; i < 16; i++) {
		adv_cq_arm(cq, false);
		push(cq, (uint64_t)i);
		n += events(e, cq, ADV_EVENT_COMPLETION);
	}
	assert_int_equal(n, 4);
	/* If moderation is switched off while it delays an event, the event is raised. */
	adv_cq_arm(cq, false);
	push(cq, 16);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	adv_cq_moderate(cq, 0, 0);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	adv_cq_arm(cq, false);
	push(cq, 17);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
}

static void test_moderation_by_period(void **state)
{
	struct adv_engine *e = *state;
	struct adv_cq *cq = adv_cq_create(e, 64, NULL);

	adv_cq_moderate(cq, 10, 500);
	adv_cq_arm(cq, false);
	push_status(cq, 1, IBV_WC_SUCCESS, false, 1000);
	push_status(cq, 2, IBV_WC_SUCCESS, false, 1400);
	assert_int_equal(adv_engine_deadline(e), 1500);
	adv_engine_expire(e, 1499);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	adv_engine_expire(e, 1500);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	/* If the CQ is not armed, it raises no event, also later. */
	push_status(cq, 3, IBV_WC_SUCCESS, false, 2000);
	adv_engine_expire(e, 9000);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
	/* The count is reached before the period ends. */
	adv_cq_arm(cq, false);
	for (uint64_t i = 0; i < 9; i++)
		push_status(cq, i, IBV_WC_SUCCESS, false, 10000);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 1);
	adv_engine_expire(e, 20000);
	assert_int_equal(events(e, cq, ADV_EVENT_COMPLETION), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_create),
		T(test_order_and_wrap),
		T(test_poll_many),
		T(test_peek_and_pop),
		T(test_overrun),
		T(test_two_overruns),
		T(test_arm),
		T(test_arm_solicited),
		T(test_destroyed_with_event),
		T(test_resize),
		T(test_purge),
		T(test_moderation_by_count),
		T(test_moderation_by_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
