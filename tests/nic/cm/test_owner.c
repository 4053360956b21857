/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the id to which each message of a connection belongs, at both ends. */
#include "harness.h"

static int user_a, user_b, user_listen;

/* Passes the next MAD of `from` to the other node. The MAD belongs to `sender` at the node `from`,
 * and to `receiver` at the node `to`. */
static void expect_next(struct pair *p, struct node *from, struct node *to, uint16_t attribute,
			const void *sender, const void *receiver)
{
	struct adv_rx_meta there = {.sgid = from->gid, .dgid = to->gid};
	struct adv_rx_meta here = {.sgid = to->gid, .dgid = from->gid};
	struct adv_cm_packet packet;
	struct adv_cm_mad mad;

	assert_true(adv_cm_tx(from->cm, p->now, &mad));
	assert_true(adv_cm_packet_decode(mad.data, sizeof(mad.data), &packet));
	assert_int_equal(packet.attribute, attribute);
	assert_ptr_equal(adv_cm_mad_user(from->cm, &here, mad.data, sizeof(mad.data), true),
			 sender);
	assert_ptr_equal(adv_cm_mad_user(to->cm, &there, mad.data, sizeof(mad.data), false),
			 receiver);
	adv_cm_rx(to->cm, p->now, &there, mad.data, sizeof(mad.data));
}

static void test_connection(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_TCP, true, 4);
	struct adv_cm_id *active = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");
	struct adv_cm_id *passive;

	adv_cm_id_set_user(listen, &user_listen);
	adv_cm_id_set_user(active, &user_a);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	expect_next(p, &p->a, &p->b, ADV_CM_REQ, &user_a, &user_listen);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	adv_cm_id_set_user(passive, &user_b);
	adv_cm_request_taken(passive);
	/* A duplicate REQ belongs to the id of the first REQ. */
	pass(p);
	expect_next(p, &p->a, &p->b, ADV_CM_REQ, &user_a, &user_b);
	expect_next(p, &p->b, &p->a, ADV_CM_MRA, &user_b, &user_a);
	param = conn_param(0x2002, "welcome");
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	expect_next(p, &p->b, &p->a, ADV_CM_REP, &user_b, &user_a);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(adv_cm_establish(active, p->now), 0);
	expect_next(p, &p->a, &p->b, ADV_CM_RTU, &user_a, &user_b);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(adv_cm_disconnect(passive, p->now), 0);
	expect_next(p, &p->b, &p->a, ADV_CM_DREQ, &user_b, &user_a);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	expect_next(p, &p->a, &p->b, ADV_CM_DREP, &user_a, &user_b);
}

/* The messages that the CM sends for a destroyed id belong to no id. */
static void test_destroyed(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	adv_cm_id_set_user(c.active, &user_a);
	adv_cm_id_set_user(c.passive, &user_b);
	adv_cm_id_destroy(c.active, p->now);
	expect_next(p, &p->a, &p->b, ADV_CM_DREQ, NULL, &user_b);
	expect_next(p, &p->b, &p->a, ADV_CM_DREP, &user_b, NULL);
}

/* A REJ ends the id that sends it, so the REJ belongs to no id at its sender. */
static void test_refused(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);

	adv_cm_id_set_user(c.active, &user_a);
	adv_cm_id_set_user(c.passive, &user_b);
	assert_int_equal(adv_cm_reject(c.passive, p->now, 28, NULL, 0), 0);
	expect_next(p, &p->b, &p->a, ADV_CM_REJ, NULL, &user_a);
}

static void test_datagrams(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_UDP, true, 4);
	struct adv_cm_id *active = routed(&p->a, &p->b, RDMA_PS_UDP);
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");
	struct adv_cm_id *passive;

	adv_cm_id_set_user(listen, &user_listen);
	adv_cm_id_set_user(active, &user_a);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	expect_next(p, &p->a, &p->b, ADV_CM_SIDR_REQ, &user_a, &user_listen);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	adv_cm_id_set_user(passive, &user_b);
	adv_cm_request_taken(passive);
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	expect_next(p, &p->b, &p->a, ADV_CM_SIDR_REP, &user_b, &user_a);
}

/* Messages that belong to no id: not a CM message, for an unknown id, from a wrong address. */
static void test_nobody(void **state)
{
	struct pair *p = *state;
	struct adv_rx_meta meta = {.sgid = p->a.gid, .dgid = p->b.gid};
	struct connection c = requested(p);
	uint8_t mad[ADV_CM_MAD_LEN] = {0};
	struct adv_cm_packet rtu = {.attribute = ADV_CM_RTU};

	adv_cm_id_set_user(c.passive, &user_b);
	assert_null(adv_cm_mad_user(p->b.cm, &meta, mad, sizeof(mad), false));
	assert_null(adv_cm_mad_user(p->b.cm, &meta, mad, 10, true));
	rtu.rtu.remote_comm_id = c.passive->local_comm_id;
	assert_true(adv_cm_packet_encode(&rtu, mad));
	assert_ptr_equal(adv_cm_mad_user(p->b.cm, &meta, mad, sizeof(mad), false), &user_b);
	meta.sgid.raw[15] ^= 0x40;
	assert_null(adv_cm_mad_user(p->b.cm, &meta, mad, sizeof(mad), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_destroyed, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_refused, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_datagrams, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_nobody, pair_setup, pair_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
