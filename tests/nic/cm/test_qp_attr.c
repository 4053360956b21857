/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of the QPs of a connection: both ends get matching values. */
#include "harness.h"

static struct ibv_qp_attr attr_of(const struct adv_cm_id *id, enum ibv_qp_state qp_state, int mask)
{
	struct ibv_qp_attr attr;
	int got;

	memset(&attr, 0xa5, sizeof(attr));
	assert_int_equal(adv_cm_qp_attr(id, qp_state, &attr, &got), 0);
	assert_int_equal(got, mask);
	assert_int_equal(attr.qp_state, qp_state);
	return attr;
}

#define INIT_MASK   (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_MASK    (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RC_RTR_MASK (RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS_MASK                                                                                \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                      \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT)

static void test_rc(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);
	struct ibv_qp_attr active, passive;

	active = attr_of(c.active, IBV_QPS_INIT, INIT_MASK | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(active.port_num, 1);
	assert_int_equal(active.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
							 IBV_ACCESS_REMOTE_ATOMIC);
	active = attr_of(c.active, IBV_QPS_RTR, RC_RTR_MASK);
	assert_int_equal(active.dest_qp_num, 0x2002);
	assert_int_equal(active.path_mtu, IBV_MTU_1024);
	assert_int_equal(active.ah_attr.is_global, 1);
	assert_memory_equal(active.ah_attr.grh.dgid.raw, p->b.gid.raw, 16);
	assert_int_equal(active.ah_attr.port_num, 1);
	passive = attr_of(c.passive, IBV_QPS_RTR, RC_RTR_MASK);
	assert_int_equal(passive.dest_qp_num, 0x1001);
	assert_memory_equal(passive.ah_attr.grh.dgid.raw, p->a.gid.raw, 16);
	assert_int_equal(passive.ah_attr.grh.flow_label, active.ah_attr.grh.flow_label);
	/* The acceptor's values: 3 responder resources, an initiator depth of 4. */
	assert_int_equal(passive.max_dest_rd_atomic, 3);
	assert_int_equal(active.max_dest_rd_atomic, 4);
	assert_int_equal(active.rq_psn, attr_of(c.passive, IBV_QPS_RTS, RC_RTS_MASK).sq_psn);
	assert_int_equal(passive.rq_psn, attr_of(c.active, IBV_QPS_RTS, RC_RTS_MASK).sq_psn);
	active = attr_of(c.active, IBV_QPS_RTS, RC_RTS_MASK);
	assert_int_equal(active.retry_cnt, 6);
	assert_int_equal(active.rnr_retry, 5);
	assert_int_equal(active.max_rd_atomic, 3);
	assert_int_equal(active.timeout, 19);
	passive = attr_of(c.passive, IBV_QPS_RTS, RC_RTS_MASK);
	assert_int_equal(passive.retry_cnt, 6);
	assert_int_equal(passive.rnr_retry, 5);
	assert_int_equal(passive.max_rd_atomic, 4);
	assert_int_equal(passive.timeout, 19);
	assert_int_equal(adv_cm_set_ack_timeout(c.passive, 14), 0);
	assert_int_equal(attr_of(c.passive, IBV_QPS_RTS, RC_RTS_MASK).timeout, 14);
}

static void test_before_connecting(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_conn_param param = conn_param(1000, "");
	struct ibv_qp_attr attr;
	int mask;

	attr = attr_of(id, IBV_QPS_INIT, INIT_MASK | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(attr.qp_access_flags, 0);
	assert_int_equal(adv_cm_qp_attr(id, IBV_QPS_RTR, &attr, &mask), EINVAL);
	param.responder_resources = 0;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	attr = attr_of(id, IBV_QPS_INIT, INIT_MASK | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(adv_cm_qp_attr(id, IBV_QPS_RTS, &attr, &mask), EINVAL);
	assert_int_equal(adv_cm_qp_attr(id, IBV_QPS_ERR, &attr, &mask), EINVAL);
}

/* The owner of the accepting end sets the GID index. The MTU is taken from the request. */
static void test_request(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);
	struct adv_cm_route route = {.path = {.sgid_index = 3, .hop_limit = 9},
				     .mtu = IBV_MTU_4096};
	struct ibv_qp_attr attr;

	assert_int_equal(adv_cm_set_route(c.passive, &route), 0);
	attr = attr_of(c.passive, IBV_QPS_RTR, RC_RTR_MASK);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 3);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 9);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.max_dest_rd_atomic, 4); /* as the peer's REQ requests */
	/* A smaller MTU is refused, because a REP has no field for it. */
	route.mtu = IBV_MTU_512;
	route.path.sgid_index = 4;
	assert_int_equal(adv_cm_set_route(c.passive, &route), EMSGSIZE);
	attr = attr_of(c.passive, IBV_QPS_RTR, RC_RTR_MASK);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 3);
}

static void test_other_types(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	c.active->qp_type = IBV_QPT_UC;
	attr_of(c.active, IBV_QPS_RTR, RTR_MASK);
	attr_of(c.active, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN);
	c.active->qp_type = IBV_QPT_XRC_SEND;
	attr_of(c.active, IBV_QPS_RTR, RTR_MASK);
	attr_of(c.active, IBV_QPS_RTS, RC_RTS_MASK);
	c.active->qp_type = IBV_QPT_XRC_RECV;
	attr_of(c.active, IBV_QPS_RTR, RC_RTR_MASK);
	attr_of(c.active, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT);
	c.active->qp_type = IBV_QPT_RC;
}

static void test_ud(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = new_id(&p->a, RDMA_PS_UDP);
	struct ibv_qp_attr attr = attr_of(id, IBV_QPS_INIT, INIT_MASK | IBV_QP_QKEY);

	assert_int_equal(attr.qkey, ADV_CM_UDP_QKEY);
	attr_of(id, IBV_QPS_RTR, IBV_QP_STATE);
	attr_of(id, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN);
	id->qkey = 7;
	assert_int_equal(attr_of(id, IBV_QPS_INIT, INIT_MASK | IBV_QP_QKEY).qkey, 7);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_rc),	    TEST(test_before_connecting),
		TEST(test_request), TEST(test_other_types),
		TEST(test_ud),
	};

	return cmocka_run_group_tests_name("cm qp_attr", tests, NULL, NULL);
}
