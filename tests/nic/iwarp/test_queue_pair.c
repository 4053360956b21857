/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Types, opcodes, states and attributes of iWARP queue pairs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/array.h"
#include "nic/iwarp/queue_pair.h"
#include "nic/engine/engine.h"
#include "nic/queue/qp.h"

static bool scheduled;

static void turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch)
{
	scheduled = true;
}

static void forget(struct adv_qp *qp)
{
}

static const struct adv_protocol protocol = {adv_iwarp_supports, adv_iwarp_modify, turn, forget};

struct scene {
	struct adv_engine *e;
	struct adv_qp *qp;
};

static struct adv_qp *create_qp(struct adv_engine *e, enum ibv_qp_type type)
{
	struct adv_qp_config config = {
		.type = type,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	config.pd = adv_pd_create(e);
	config.send_cq = config.recv_cq = adv_cq_create(e, 16, NULL);
	return adv_qp_create(e, &config);
}

static int setup(void **state)
{
	static struct scene s;
	const struct adv_engine_config config = {.seed = {1},
						 .qpn_first = 0x800,
						 .qpn_count = 64,
						 .protocol = &protocol,
						 .no_fast_path = true};

	s.e = adv_engine_create(&config);
	assert_non_null(s.e);
	s.qp = create_qp(s.e, IBV_QPT_RC);
	assert_non_null(s.qp);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	adv_engine_destroy(s->e);
	return 0;
}

static void test_types(void **state)
{
	static const enum ibv_qp_type none[] = {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
						IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET};
	struct scene *s = *state;
	uint32_t opcodes;

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(none); i++) {
		assert_false(adv_iwarp_supports(none[i], &opcodes));
		errno = 0;
		assert_null(create_qp(s->e, none[i]));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	assert_true(adv_iwarp_supports(IBV_QPT_RC, &opcodes));
	assert_true(opcodes & 1u << IBV_WR_SEND_WITH_INV);
	assert_true(opcodes & 1u << IBV_WR_RDMA_READ);
	assert_false(opcodes & 1u << IBV_WR_TSO);
}

static int to(struct scene *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};

	return adv_qp_modify(s->qp, 1, &a, IBV_QP_STATE);
}

/* Each pair of states. RESET, INIT, RTR, RTS in order, with no attribute; RESET and ERR from any.
 */
static void test_states(void **state)
{
	static const enum ibv_qp_state order[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						  IBV_QPS_RTS};
	struct scene *s = *state;

	for (unsigned from = 0; from < ADV_ARRAY_SIZE(order); from++) {
		for (enum ibv_qp_state next = IBV_QPS_RESET; next <= IBV_QPS_ERR; next++) {
			bool allowed = next == IBV_QPS_RESET || next == IBV_QPS_ERR ||
				       next == order[from] + 1 || (next == order[from] && from > 0);

			if (next == IBV_QPS_SQD || next == IBV_QPS_SQE)
				allowed = false;
			assert_int_equal(to(s, IBV_QPS_RESET), 0);
			for (unsigned i = 1; i <= from; i++)
				assert_int_equal(to(s, order[i]), 0);
			assert_int_equal(to(s, next), allowed ? 0 : EINVAL);
			assert_int_equal(s->qp->state, allowed ? next : order[from]);
		}
	}
	assert_int_equal(to(s, IBV_QPS_ERR), 0);
	assert_int_equal(to(s, IBV_QPS_INIT), EINVAL);
	assert_int_equal(to(s, IBV_QPS_RTS), EINVAL);
	assert_int_equal(to(s, IBV_QPS_RESET), 0);
}

static void test_current_state(void **state)
{
	struct scene *s = *state;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .cur_qp_state = IBV_QPS_INIT};

	assert_int_equal(adv_qp_modify(s->qp, 1, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	assert_int_equal(s->qp->state, IBV_QPS_RESET);
	a.cur_qp_state = IBV_QPS_RESET;
	assert_int_equal(adv_qp_modify(s->qp, 1, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	assert_int_equal(s->qp->state, IBV_QPS_INIT);
}

/* What iWARP has is kept; what only RoCE has is ignored; what is wrong changes nothing. */
static void test_attributes(void **state)
{
	const int all = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT | IBV_QP_AV |
			IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
	struct scene *s = *state;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_READ,
				.path_mtu = IBV_MTU_512,
				.dest_qp_num = 77,
				.rq_psn = 55,
				.max_rd_atomic = 3,
				.max_dest_rd_atomic = 5};
	struct ibv_qp_attr wrong = a;

	wrong.port_num = 2;
	assert_int_equal(adv_qp_modify(s->qp, 1, &wrong, all), EINVAL);
	wrong = a;
	wrong.max_rd_atomic = ADV_MAX_RD_ATOMIC + 1;
	assert_int_equal(adv_qp_modify(s->qp, 1, &wrong, all), EINVAL);
	wrong = a;
	wrong.max_dest_rd_atomic = ADV_MAX_RD_ATOMIC + 1;
	assert_int_equal(adv_qp_modify(s->qp, 1, &wrong, all), EINVAL);
	assert_int_equal(s->qp->state, IBV_QPS_RESET);
	assert_int_equal(s->qp->attr.max_rd_atomic, 0);

	assert_int_equal(adv_qp_modify(s->qp, 1, &a, all), 0);
	assert_int_equal(s->qp->attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(s->qp->attr.max_rd_atomic, 3);
	assert_int_equal(s->qp->attr.max_dest_rd_atomic, 5);
	assert_int_equal(s->qp->attr.dest_qp_num, 0);
	/* without a state: only the attribute */
	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(adv_qp_modify(s->qp, 1, &a, IBV_QP_ACCESS_FLAGS), 0);
	assert_int_equal(s->qp->state, IBV_QPS_INIT);
	assert_int_equal(s->qp->attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
}

/* After ERR the owner of the connection gets a turn, to end it. */
static void test_error_is_scheduled(void **state)
{
	static struct adv_tx_batch batch;
	struct scene *s = *state;

	assert_int_equal(to(s, IBV_QPS_INIT), 0);
	s->qp->connection = s;
	assert_int_equal(to(s, IBV_QPS_ERR), 0);
	scheduled = false;
	adv_engine_tx(s->e, 2, &batch);
	assert_true(scheduled);
	s->qp->connection = NULL;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_types), T(test_states), T(test_current_state),
					   T(test_attributes), T(test_error_is_scheduled)};

	return cmocka_run_group_tests_name("iwarp queue pair", tests, NULL, NULL);
}
