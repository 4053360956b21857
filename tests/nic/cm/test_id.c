/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ids without a peer, and the CM as a whole: limits, malformed messages, freeing. */
#include "harness.h"
#include "base/bytes.h"

static void test_create(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id;
	int user;

	errno = 0;
	assert_null(adv_cm_id_create(p->a.cm, (enum rdma_port_space)0x0107, IBV_QPT_RC, NULL));
	assert_int_equal(errno, EPROTONOSUPPORT);
	id = adv_cm_id_create(p->a.cm, RDMA_PS_IB, IBV_QPT_UC, &user);
	assert_ptr_equal(adv_cm_id_user(id), &user);
	adv_cm_id_set_user(id, NULL);
	assert_null(adv_cm_id_user(id));
	assert_int_equal(adv_cm_id_port_space(id), RDMA_PS_IB);
	assert_int_equal(adv_cm_id_qp_type(id), IBV_QPT_UC);
	assert_int_equal(adv_cm_id_local(id)->family, 0);
	assert_int_equal(adv_cm_id_remote(id)->family, 0);
	assert_null(adv_cm_id_route(id));
	assert_false(adv_cm_id_busy(id));
	assert_int_equal(adv_cm_id_count(p->a.cm), 1);
	adv_cm_id_destroy(id, p->now);
	assert_int_equal(adv_cm_id_count(p->a.cm), 0);
}

static void test_bound_on_ids(void **state)
{
	struct adv_cm_config config = {.seed = 3, .max_ids = 3};
	struct adv_cm *cm = adv_cm_create(&config);
	unsigned i;

	assert_non_null(cm);
	for (i = 0; i < 3; i++)
		assert_non_null(adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL));
	errno = 0;
	assert_null(adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL));
	assert_int_equal(errno, ENOMEM);
	adv_cm_destroy(cm);
}

static void test_routes(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = new_id(&p->a, RDMA_PS_TCP);
	struct adv_cm_route route = route_to(&p->a, &p->b);
	struct adv_cm_addr local = addr_of(&p->a.gid, 0), remote = addr_of(&p->b.gid, PORT);

	assert_int_equal(adv_cm_set_route(id, &route), EINVAL);
	assert_int_equal(adv_cm_set_peer(id, &local, &remote), 0);
	assert_int_equal(adv_cm_set_route(id, &route), 0);
	assert_int_not_equal(adv_cm_id_route(id)->path.flow_label, 0);
	route.path.flow_label = 0x12345;
	assert_int_equal(adv_cm_set_route(id, &route), 0);
	assert_int_equal(adv_cm_id_route(id)->path.flow_label, 0x12345);
	/* Ports whose flow label would be 0 get another label. */
	id->local.port = 0x8000;
	id->remote.port = 0x8000;
	route.path.flow_label = 0;
	assert_int_equal(adv_cm_set_route(id, &route), 0);
	assert_int_equal((0x8000u * 31 + 0x8000u) & 0xfffff, 0);
	assert_in_range(adv_cm_id_route(id)->path.flow_label, 1, 0xfffff);
}

static void test_malformed(void **state)
{
	struct pair *p = *state;
	struct adv_rx_meta meta = {.sgid = p->a.gid, .dgid = p->b.gid};
	struct adv_cm_packet req = {.attribute = ADV_CM_REQ};
	uint8_t mad[ADV_MAD_LEN] = {0};

	adv_cm_rx(p->b.cm, p->now, &meta, mad, sizeof(mad));
	adv_cm_rx(p->b.cm, p->now, &meta, mad, 0);
	req.req.local_qpn = 5;
	assert_true(adv_cm_packet_encode(&req, mad));
	adv_cm_rx(p->b.cm, p->now, &meta, mad, sizeof(mad) - 1);
	meta.sgid.raw[12] = 224; /* a packet from or to a multicast group */
	adv_cm_rx(p->b.cm, p->now, &meta, mad, sizeof(mad));
	meta.sgid = p->a.gid;
	meta.dgid.raw[12] = 224;
	adv_cm_rx(p->b.cm, p->now, &meta, mad, sizeof(mad));
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_malformed, 5);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_mads, 5);
	nothing_sent(p, &p->b);
}

/* The queue of answers without an id is limited, and leaves room for MADs of ids. */
static void test_flood(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet dreq = {.attribute = ADV_CM_DREQ};
	struct connection c = connected(p);
	struct adv_cm_mad mad;
	unsigned i, n = 0;

	for (i = 0; i < 3000; i++)
		give(p, &p->b, &dreq);
	assert_int_equal(p->b.cm->outgoing_count, 1024);
	dreq.dreq.local_comm_id = c.active->local_comm_id;
	dreq.dreq.remote_comm_id = c.passive->local_comm_id;
	dreq.dreq.remote_qpn = 0x2002;
	for (i = 0; i < 5000; i++)
		give(p, &p->b, &dreq);
	while (adv_cm_tx(p->b.cm, p->now, &mad))
		n++;
	assert_int_equal(n, 4096);
}

/* Frees a CM with waiting requests, events and MADs. */
static void test_destroy_with_all(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct connection c = requested(p);
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_mad mad;

	param.qp_num++;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	assert_true(adv_cm_tx(p->a.cm, p->now, &mad));
	adv_cm_rx(p->b.cm, p->now, &(struct adv_rx_meta){.sgid = p->a.gid, .dgid = p->b.gid},
		  mad.data, sizeof(mad.data));
	param.qp_num++;
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	assert_int_equal(adv_cm_id_count(p->b.cm), 3);
}

/* Communication ids are unguessable: every byte differs between ids, and between seeds. */
static void test_comm_ids(void **state)
{
	struct pair *p = *state;
	uint32_t all = UINT32_MAX, any = 0;
	unsigned i;

	for (i = 0; i < 64; i++) {
		struct adv_cm_conn_param param = conn_param(0x1001 + i, "");
		struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);

		assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
		all &= id->local_comm_id;
		any |= id->local_comm_id;
	}
	assert_int_equal(all, 0);
	assert_int_equal(any, UINT32_MAX);
}

/* A connection to its own node, even with one port at both ends. */
static void test_with_itself(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *listen = listener(&p->a, RDMA_PS_TCP, false, 0);
	struct adv_cm_id *active = routed(&p->a, &p->a, RDMA_PS_TCP), *passive;
	struct adv_cm_conn_param param = conn_param(0x1001, "");

	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	pump(p);
	passive = event_of(&p->a, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	param.qp_num = 0x1002;
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	pump(p);
	assert_ptr_equal(event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE).id, active);
	assert_int_equal(adv_cm_establish(active, p->now), 0);
	pump(p);
	assert_ptr_equal(event_of(&p->a, RDMA_CM_EVENT_ESTABLISHED).id, passive);
	assert_int_equal(adv_cm_disconnect(active, p->now), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	adv_cm_id_destroy(listen, p->now);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_create),    TEST(test_bound_on_ids), TEST(test_routes),
		TEST(test_malformed), TEST(test_flood),	       TEST(test_destroy_with_all),
		TEST(test_comm_ids),  TEST(test_with_itself),
	};

	return cmocka_run_group_tests_name("cm id", tests, NULL, NULL);
}
