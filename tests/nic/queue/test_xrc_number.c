/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of XRC SRQs. */
#include "../engine/harness.h"
#include "nic/memory/domain.h"

/* Creates SRQs until no number is left. Returns the last one. */
static struct adv_srq *use_up_numbers(struct node *n, struct adv_cq *cq)
{
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	struct adv_srq *srq = NULL;

	for (uint32_t left = adv_engine_srqns_left(n->e); left > 0; left--) {
		assert_int_equal(adv_engine_srqns_left(n->e), left);
		srq = adv_srq_create_xrc(n->pd, n->xrcd, cq, &attr, NULL);
		assert_non_null(srq);
		/* The number is from the engine's own range: no SRQ of another engine has it. */
		assert_true(adv_engine_has_qpn(n->e, adv_srq_number(srq)));
	}
	errno = 0;
	assert_null(adv_srq_create_xrc(n->pd, n->xrcd, cq, &attr, NULL));
	assert_int_equal(errno, ENOMEM);
	return srq;
}

/* If all numbers are in use, the next SRQ is refused. A destroyed SRQ or added numbers make
 * room. */
static void test_numbers_run_out(void **state)
{
	struct net *net = net_open(1, 1);
	struct node *n = &net->node[0];
	struct adv_cq *cq = adv_cq_create(n->e, 1, NULL);
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	struct adv_srq *srq = use_up_numbers(n, cq);

	assert_int_equal(n->xrcd->users, 0x100);
	assert_int_equal(adv_srq_destroy(srq), 0);
	assert_non_null(adv_srq_create_xrc(n->pd, n->xrcd, cq, &attr, NULL));
	assert_int_equal(adv_engine_add_qpns(n->e, 0x800000, 0x10000), 0);
	srq = use_up_numbers(n, cq);
	assert_int_equal(n->xrcd->users, ADV_MAX_XRC_SRQ - 1);
	assert_int_equal(adv_srq_destroy(srq), 0);
	assert_non_null(adv_srq_create_xrc(n->pd, n->xrcd, cq, &attr, NULL));
	net_close(net);
}

/* No SRQ has number 0. */
static void test_number_0(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 0, .qpn_count = 2};
	struct node n = {.e = adv_engine_create(&c)};

	n.pd = adv_pd_create(n.e);
	n.xrcd = adv_xrcd_create(n.e);
	assert_int_equal(adv_engine_srqns_left(n.e), 1);
	assert_int_equal(adv_srq_number(use_up_numbers(&n, adv_cq_create(n.e, 1, NULL))), 1);
	adv_engine_destroy(n.e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_run_out),
		cmocka_unit_test(test_number_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
