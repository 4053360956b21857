/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/requester/window.h"

#define WINDOW 32

static void start(struct adv_engine *e, struct adv_qp *qp)
{
	memset(e, 0, sizeof(*e));
	memset(qp, 0, sizeof(*qp));
	e->window = WINDOW;
	qp->engine = e;
	qp->req.next_psn = qp->req.una_psn = qp->req.max_psn = 0xfffff0;
	adv_window_start(qp);
}

static void sent_and_acked(struct adv_qp *qp, uint32_t packets)
{
	qp->req.max_psn = adv_psn_add(qp->req.max_psn, packets);
	qp->req.next_psn = qp->req.una_psn = qp->req.max_psn;
	adv_window_acked(qp, packets, true);
}

/* The window starts at its maximum, the assumed size of the peer's buffer. */
static void test_start(void **state)
{
	struct adv_engine e;
	struct adv_qp qp;

	start(&e, &qp);
	assert_int_equal(qp.req.cwnd, WINDOW);
	sent_and_acked(&qp, 1000);
	assert_int_equal(qp.req.cwnd, WINDOW);
}

/* A loss halves the window, once for all packets that were in flight. */
static void test_loss(void **state)
{
	struct adv_engine e;
	struct adv_qp qp;

	start(&e, &qp);
	qp.req.max_psn = adv_psn_add(qp.req.max_psn, WINDOW);
	adv_window_lost(&qp);
	assert_int_equal(qp.req.cwnd, WINDOW / 2);
	adv_window_lost(&qp);
	qp.req.una_psn = adv_psn_add(qp.req.una_psn, WINDOW - 1);
	adv_window_lost(&qp);
	assert_int_equal(qp.req.cwnd, WINDOW / 2);
	qp.req.una_psn = adv_psn_add(qp.req.una_psn, 1);
	adv_window_lost(&qp);
	assert_int_equal(qp.req.cwnd, WINDOW / 4);
	for (int i = 0; i < 20; i++) {
		sent_and_acked(&qp, 1);
		adv_window_lost(&qp);
	}
	assert_in_range(qp.req.cwnd, 1, WINDOW / 4);
}

/* The window grows by one packet for each window of acknowledgements, up to the maximum. */
static void test_growth(void **state)
{
	struct adv_engine e;
	struct adv_qp qp;

	start(&e, &qp);
	qp.req.max_psn = adv_psn_add(qp.req.max_psn, WINDOW);
	adv_window_lost(&qp);
	for (uint32_t cwnd = WINDOW / 2; cwnd < WINDOW; cwnd++) {
		assert_int_equal(qp.req.cwnd, cwnd);
		sent_and_acked(&qp, cwnd - 1);
		assert_int_equal(qp.req.cwnd, cwnd);
		sent_and_acked(&qp, 1);
	}
	sent_and_acked(&qp, 10 * WINDOW);
	assert_int_equal(qp.req.cwnd, WINDOW);
}

/* If the engine's window is smaller than the least window after a loss, a loss does not enlarge
 * it. */
static void test_small_bound(void **state)
{
	struct adv_engine e;
	struct adv_qp qp;

	start(&e, &qp);
	e.window = 2;
	adv_window_start(&qp);
	adv_window_lost(&qp);
	assert_int_equal(qp.req.cwnd, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_small_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
