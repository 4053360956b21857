/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* P_Keys of connections and of the connection manager's own messages (IBTA 10.9.8, 12.7.21). */
#include "harness.h"

#define TABLE_A "0x0001,0x8003"
#define TABLE_B "0x8002,0x8001,0x0003"

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	node_open_with(&p->a, 1, 11, TABLE_A);
	node_open_with(&p->b, 2, 22, TABLE_B);
	p->now = 5 * SEC;
	*state = p;
	return 0;
}

/* Passes the next message of a node to the other one, as its QP 1 would: with the entry of the
 * other node's table that matches the message's P_Key. Returns that of the message. */
static uint16_t pass_mad(struct pair *p, struct node *from)
{
	struct node *to = from == &p->a ? &p->b : &p->a;
	struct adv_rx_meta meta = {.sgid = from->gid, .dgid = to->gid};
	struct adv_cm_mad mad;

	assert_true(adv_cm_tx(from->cm, p->now, &mad));
	meta.pkey = adv_cm_pkey_for(to->cm, mad.pkey);
	assert_int_not_equal(meta.pkey, 0);
	adv_cm_rx(to->cm, p->now, &meta, mad.data, sizeof(mad.data));
	return mad.pkey;
}

static unsigned index_of(const struct adv_cm_id *id)
{
	struct ibv_qp_attr attr;
	int mask;

	assert_int_equal(adv_cm_qp_attr(id, IBV_QPS_INIT, &attr, &mask), 0);
	assert_true(mask & IBV_QP_PKEY_INDEX);
	return attr.pkey_index;
}

/* The connecting side uses its first P_Key, the other one its entry that matches. All messages have
 * the P_Key of the side that sends them. */
static void test_connection(void **state)
{
	struct adv_cm_conn_param param = conn_param(0x1001, ""), answer = conn_param(0x2002, "");
	struct pair *p = *state;
	struct adv_cm_id *active, *passive;

	listener(&p->b, RDMA_PS_TCP, true, 0);
	active = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_id_route(active)->pkey, 0x0001);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	assert_int_equal(pass_mad(p, &p->a), 0x0001);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_id_route(passive)->pkey, 0x8001);
	assert_int_equal(adv_cm_accept(passive, p->now, &answer), 0);
	assert_int_equal(pass_mad(p, &p->b), 0x8001);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(index_of(active), 0);
	assert_int_equal(index_of(passive), 1);
	assert_int_equal(adv_cm_establish(active, p->now), 0);
	assert_int_equal(pass_mad(p, &p->a), 0x0001);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(adv_cm_disconnect(passive, p->now), 0);
	assert_int_equal(pass_mad(p, &p->b), 0x8001);
	assert_int_equal(pass_mad(p, &p->a), 0x0001);
}

/* A request is rejected if the port has no P_Key that matches the one of the request, which need
 * not be that of the message. The REJ has the P_Key of the message. */
static void test_rejected(void **state)
{
	static const uint16_t others[] = {0xffff, 0x0003, 0x8004, 0x0004, 0x8000, 0};
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct pair *p = *state;
	struct adv_cm_packet req;
	struct adv_cm_id *active;

	listener(&p->b, RDMA_PS_TCP, true, 0);
	active = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	req = sent(p, &p->a);
	assert_int_equal(req.req.pkey, 0x0001);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct adv_rx_meta meta = {.sgid = p->a.gid, .dgid = p->b.gid, .pkey = 0x8001};
		struct adv_cm_packet rej;
		uint8_t data[ADV_MAD_LEN];
		struct adv_cm_mad mad;

		req.req.pkey = others[i];
		assert_true(adv_cm_packet_encode(&req, data));
		adv_cm_rx(p->b.cm, p->now, &meta, data, sizeof(data));
		assert_true(adv_cm_tx(p->b.cm, p->now, &mad));
		assert_int_equal(mad.pkey, 0x8001);
		assert_true(adv_cm_packet_decode(mad.data, sizeof(mad.data), &rej));
		assert_int_equal(rej.attribute, ADV_CM_REJ);
		assert_int_equal(rej.rej.reason, ADV_CM_REJ_UNSUPPORTED);
		no_event(&p->b);
	}
}

/* SIDR is for datagrams; its requests are dropped in the same cases. */
static void test_datagrams(void **state)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct pair *p = *state;
	struct adv_cm_packet req;
	struct adv_cm_id *active, *passive;

	listener(&p->b, RDMA_PS_UDP, true, 0);
	active = routed(&p->a, &p->b, RDMA_PS_UDP);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	req = sent(p, &p->a);
	assert_int_equal(req.sidr_req.pkey, 0x0001);
	req.sidr_req.pkey = 0x0003;
	give(p, &p->b, &req);
	no_event(&p->b);
	nothing_sent(p, &p->b);
	req.sidr_req.pkey = 0x0001;
	give(p, &p->b, &req);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(index_of(passive), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection, setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_rejected, setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_datagrams, setup, pair_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
