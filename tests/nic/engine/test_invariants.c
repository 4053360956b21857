/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each invariant of nic/engine/invariants.h is found broken if it is. The other tests of this
 * folder ask after each packet whether all are kept. */
#include <string.h>

#include "harness.h"
#include "nic/engine/invariants.h"
#include "nic/queue/cq.h"
#include "nic/queue/qp_complete.h"
#include "nic/queue/srq.h"

struct scene {
	struct net *net;
	struct adv_engine *e;
	struct adv_qp *qp;
};

static struct scene open_scene(void)
{
	struct options o = options_default(IBV_QPT_RC);
	struct scene s = {.net = net_open(2, 1)};
	struct end *a, *b;

	pair_open(s.net, &o, &a, &b);
	s.e = s.net->node[0].e;
	s.qp = a->qp;
	assert_null(adv_engine_check(s.e));
	return s;
}

static void expect_broken(const struct scene *s, const char *word)
{
	const char *broken = adv_engine_check(s->e);

	assert_non_null(broken);
	if (!strstr(broken, word))
		fail_msg("'%s' has no '%s'", broken, word);
}

/* Sets a number to another value, expects the invariant to be broken, and sets it back. */
static void break_number(const struct scene *s, uint32_t *number, uint32_t value, const char *word)
{
	uint32_t before = *number;

	*number = value;
	expect_broken(s, word);
	*number = before;
	assert_null(adv_engine_check(s->e));
}

static void test_queues(void **state)
{
	struct scene s = open_scene();
	struct adv_send_queue *sq = &s.qp->sq;
	struct adv_recv_queue *rq = &s.qp->rq;

	break_number(&s, &sq->head, sq->freed + sq->size + 1, "more requests than slots");
	break_number(&s, &sq->tail, sq->head + 1, "oldest request");
	break_number(&s, &sq->next, sq->head + 1, "cursor is not in");
	break_number(&s, &rq->head, rq->freed + rq->size + 1, "receive queue has more");
	break_number(&s, &rq->next, rq->head + 1, "next receive request");
	net_close(s.net);
}

static void test_requester(void **state)
{
	struct scene s = open_scene();
	struct adv_requester *r = &s.qp->req;

	break_number(&s, &r->max_psn, (r->next_psn - 1) & ADV_PSN_MASK, "behind the newest");
	break_number(&s, &r->una_psn, adv_psn_add(r->next_psn, 1), "before the oldest");
	break_number(&s, &r->rd_head, r->rd_tail + r->rd_room + 1, "than there is room for");
	break_number(&s, &s.e->in_flight, 1, "packets in flight");
	r->rnr_wait = true;
	expect_broken(&s, "without a timer");
	r->rnr_wait = false;
	net_close(s.net);
}

static void test_responder(void **state)
{
	struct scene s = open_scene();
	struct adv_responder *r = &s.qp->resp;

	break_number(&s, &r->res_head, r->res_next + r->res_room + 1, "to be answered");
	break_number(&s, &r->res_pending, 1, "unanswered");
	net_close(s.net);
}

static void test_ended(void **state)
{
	struct scene s = open_scene();
	struct adv_requester *r = &s.qp->req;
	uint32_t una = r->una_psn;

	adv_qp_enter_error(s.qp, s.net->now);
	assert_null(adv_engine_check(s.e));
	r->una_psn = (r->next_psn - 1) & ADV_PSN_MASK;
	expect_broken(&s, "in RESET or ERR");
	r->una_psn = una;
	r->timer.when = 5;
	expect_broken(&s, "timer of a queue pair");
	r->timer.when = ADV_NEVER;
	net_abandon(s.net);
}

static void test_summary(void **state)
{
	struct scene s = open_scene();

	break_number(&s, &s.e->front.connected, 7, "connected queue pairs");
	adv_qp_schedule(s.qp);
	s.e->front.todo &= ~(uint32_t)ADV_TODO_TX;
	expect_broken(&s, "ready to send");
	s.e->front.todo |= ADV_TODO_TX;
	s.e->front.todo ^= ADV_TODO_ACK;
	expect_broken(&s, "delayed ACKs");
	s.e->front.todo ^= ADV_TODO_ACK;
	assert_null(adv_engine_check(s.e));
	net_abandon(s.net);
}

static void test_completion_queue(void **state)
{
	struct scene s = open_scene();
	struct adv_cq *cq = s.qp->send_cq;

	break_number(&s, &cq->head, cq->tail + cq->room + 1, "more completions");
	net_close(s.net);
}

static void test_shared_receive_queue(void **state)
{
	struct adv_srq srq = {.max_wr = 4, .free_count = 3, .fifo_head = 1};

	assert_null(adv_srq_check(&srq));
	srq.fifo_head = 2;
	assert_non_null(adv_srq_check(&srq));
	srq.fifo_head = 0;
	srq.free_count = 5;
	assert_non_null(adv_srq_check(&srq));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_requester),
		cmocka_unit_test(test_responder),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_completion_queue),
		cmocka_unit_test(test_shared_receive_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
