/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connecting side, message by message. */
#include "nic/cm/connect.h"
#include "harness.h"
#include "base/bytes.h"
#include "nic/wire/frame.h"

static struct adv_cm_packet req_of(struct pair *p, struct adv_cm_id **id)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");

	*id = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(*id, p->now, &param), 0);
	return sent(p, &p->a);
}

/* Returns the REP that b would send. */
static struct adv_cm_packet rep_to(const struct adv_cm_packet *req)
{
	struct adv_cm_packet rep = {.attribute = ADV_CM_REP, .tid = req->tid};

	rep.rep.local_comm_id = 0xb0b;
	rep.rep.remote_comm_id = req->req.local_comm_id;
	rep.rep.local_qpn = 0x2002;
	rep.rep.starting_psn = 0x222222;
	rep.rep.responder_resources = 7;
	rep.rep.initiator_depth = 9;
	rep.rep.target_ack_delay = 15;
	rep.rep.rnr_retry_count = 3;
	rep.rep.local_ca_guid = 0xbbbb;
	memcpy(rep.rep.private_data, "welcome", 7);
	return rep;
}

static void test_req_fields(void **state)
{
	struct pair *p = *state;
	struct adv_cm_ip_header ip;
	struct adv_cm_packet req;
	struct adv_cm_id *id;

	req = req_of(p, &id);
	assert_int_equal(req.attribute, ADV_CM_REQ);
	assert_int_not_equal(req.req.local_comm_id, 0);
	assert_true(req.req.service_id == (0x01060000u | PORT));
	assert_true(req.req.local_ca_guid == p->a.guid);
	assert_int_equal(req.req.local_qpn, 0x1001);
	assert_int_equal(req.req.responder_resources, 3);
	assert_int_equal(req.req.initiator_depth, 4);
	assert_int_equal(req.req.retry_count, 6);
	assert_int_equal(req.req.rnr_retry_count, 5);
	assert_int_equal(req.req.remote_response_timeout, 20);
	assert_int_equal(req.req.local_response_timeout, 20);
	assert_int_equal(req.req.max_cm_retries, 15);
	assert_int_equal(req.req.pkey, 0xffff);
	assert_int_equal(req.req.path_mtu, IBV_MTU_1024);
	assert_int_equal(req.req.primary.local_lid, 0xffff);
	assert_int_equal(req.req.primary.local_ack_timeout, 0x13);
	assert_int_equal(req.req.primary.hop_limit, 64);
	assert_int_equal(req.req.primary.flow_label,
			 (adv_cm_id_local(id)->port * 31u + PORT) & 0xfffff);
	assert_memory_equal(req.req.primary.local_gid.raw, p->a.gid.raw, 16);
	assert_memory_equal(req.req.primary.remote_gid.raw, p->b.gid.raw, 16);
	assert_true(adv_cm_ip_header_decode(req.req.private_data, ADV_CM_REQ_PRIVATE_LEN, &ip));
	assert_int_equal(ip.ip_version, 4);
	assert_int_equal(ip.source_port, adv_cm_id_local(id)->port);
	assert_memory_equal(ip.source.raw, p->a.gid.raw, 16);
	assert_memory_equal(ip.destination.raw, p->b.gid.raw, 16);
	assert_memory_equal(req.req.private_data + 36, "hello\0", 6);
	assert_int_equal(adv_cm_id_route(id)->path.sport,
			 adv_frame_sport(req.req.primary.flow_label, 0, 0));
	assert_true(adv_cm_id_busy(id));
}

static void test_options_in_req(void **state)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct pair *p = *state;
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_packet req;

	param.retry_count = 200;
	param.rnr_retry_count = 200;
	param.ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = 0x77};
	assert_int_equal(adv_cm_set_tos(id, 0x6b), 0);
	assert_int_equal(adv_cm_set_ack_timeout(id, 32), EINVAL);
	assert_int_equal(adv_cm_set_ack_timeout(id, 22), 0);
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	req = sent(p, &p->a);
	assert_int_equal(req.req.primary.traffic_class, 0x68);
	assert_int_equal(req.req.primary.local_ack_timeout, 22);
	assert_int_equal(req.req.retry_count, 7);
	assert_int_equal(req.req.rnr_retry_count, 7);
	assert_int_equal(req.req.ece_vendor, 0x15b3);
	assert_int_equal(req.modifier, 0x77);
	/* An id connects only once. */
	assert_int_equal(adv_cm_connect(id, p->now, &param), EINVAL);
}

static void test_bad_parameters(void **state)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct pair *p = *state;
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP),
			 *bare = new_id(&p->a, RDMA_PS_TCP);

	assert_int_equal(adv_cm_connect(bare, p->now, &param), EINVAL);
	param.private_data_len = ADV_CM_REQ_PRIVATE + 1;
	assert_int_equal(adv_cm_connect(id, p->now, &param), EINVAL);
	param.private_data_len = ADV_CM_REQ_PRIVATE;
	param.qp_num = 0x1000000;
	assert_int_equal(adv_cm_connect(id, p->now, &param), EINVAL);
	param.qp_num = 0xffffff;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	assert_int_equal(adv_cm_accept(id, p->now, &param), EINVAL);
	assert_int_equal(adv_cm_establish(id, p->now), EINVAL);
	assert_int_equal(adv_cm_disconnect(id, p->now), EINVAL);
	assert_int_equal(adv_cm_reject(id, p->now, 28, NULL, 0), EINVAL);
	assert_int_equal(adv_cm_listen(id, 1), EINVAL);
}

static void test_rep(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req, rep, rtu;
	struct adv_cm_event event;
	struct adv_cm_id *id;

	req = req_of(p, &id);
	rep = rep_to(&req);
	rep.rep.ece_vendor = 0x15b3;
	rep.modifier = 0x55;
	give(p, &p->a, &rep);
	event = event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_ptr_equal(event.id, id);
	assert_int_equal(event.status, 0);
	assert_int_equal(event.param.qp_num, 0x2002);
	assert_int_equal(event.param.responder_resources, 9);
	assert_int_equal(event.param.initiator_depth, 7);
	assert_int_equal(event.param.rnr_retry_count, 3);
	assert_int_equal(event.param.ece.vendor_id, 0x15b3);
	assert_int_equal(event.param.ece.options, 0x55);
	assert_int_equal(event.param.private_data_len, ADV_CM_REP_PRIVATE);
	assert_string_equal((char *)event.param.private_data, "welcome");
	nothing_sent(p, &p->a);

	/* A duplicate REP at once gets no answer. Later it gets an MRA, or an RTU if the RTU was
	 * sent. */
	give(p, &p->a, &rep);
	nothing_sent(p, &p->a);
	p->now += SEC / 10;
	give(p, &p->a, &rep);
	rtu = sent(p, &p->a);
	assert_int_equal(rtu.attribute, ADV_CM_MRA);
	assert_int_equal(rtu.mra.about, ADV_CM_ABOUT_REP);
	assert_int_equal(rtu.mra.service_timeout, 24);
	assert_int_equal(adv_cm_establish(id, p->now), 0);
	rtu = sent(p, &p->a);
	assert_int_equal(rtu.attribute, ADV_CM_RTU);
	assert_true(rtu.tid == req.tid);
	assert_int_equal(rtu.rtu.local_comm_id, req.req.local_comm_id);
	assert_int_equal(rtu.rtu.remote_comm_id, 0xb0b);
	assert_int_equal(adv_cm_establish(id, p->now), EINVAL);
	give(p, &p->a, &rep);
	assert_int_equal(sent(p, &p->a).attribute, ADV_CM_RTU);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_duplicates, 3);
}

/* A REP with one wrong field has no effect. */
static void test_forged_rep(void **state)
{
	struct pair *p = *state;
	struct adv_gid stranger = ipv4(9);
	struct adv_cm_packet req, rep, bad;
	struct adv_cm_id *id;
	unsigned i;

	req = req_of(p, &id);
	rep = rep_to(&req);
	give_from(p, &p->a, &stranger, &rep);
	/* A stranger gets the same REJ as for an id that does not exist. */
	assert_int_equal(sent(p, &p->a).attribute, ADV_CM_REJ);
	for (i = 0; i < 4; i++) {
		bad = rep;
		bad.tid ^= i == 0;
		bad.rep.local_qpn = i == 1 ? 0 : i == 2 ? 1 : i == 3 ? 0xffffff : 0x2002;
		give(p, &p->a, &bad);
		nothing_sent(p, &p->a);
		no_event(&p->a);
	}
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 5);
	give(p, &p->a, &rep);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	bad = rep;
	bad.rep.local_comm_id++;
	give(p, &p->a, &bad);
	nothing_sent(p, &p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 6);
}

/* A REP that no id waits for is rejected, so that its sender does not wait for an RTU. */
static void test_rep_for_nobody(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet rep = {.attribute = ADV_CM_REP, .tid = 77}, rej;

	rep.rep.local_comm_id = 5;
	rep.rep.remote_comm_id = 6;
	rep.rep.local_qpn = 7;
	give(p, &p->a, &rep);
	rej = sent(p, &p->a);
	assert_int_equal(rej.attribute, ADV_CM_REJ);
	assert_true(rej.tid == 77);
	assert_int_equal(rej.rej.about, ADV_CM_ABOUT_REP);
	assert_int_equal(rej.rej.reason, ADV_CM_REJ_INVALID_COMM_ID);
	assert_int_equal(rej.rej.local_comm_id, 6);
	assert_int_equal(rej.rej.remote_comm_id, 5);
}

/* A REP is rejected if its QP is part of another connection that this end still knows. */
static void test_stale_rep(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1002, "");
	struct connection c = connected(p);
	struct adv_cm_packet req, rep, out;
	struct adv_cm_id *id;

	id = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	req = sent(p, &p->a);
	rep = rep_to(&req);
	rep.rep.local_ca_guid = p->b.guid;
	give(p, &p->a, &rep);
	out = sent(p, &p->a);
	assert_int_equal(out.attribute, ADV_CM_REJ);
	assert_int_equal(out.rej.reason, ADV_CM_REJ_STALE_CONN);
	assert_int_equal(out.rej.about, ADV_CM_ABOUT_REP);
	out = sent(p, &p->a);
	assert_int_equal(out.attribute, ADV_CM_DREQ);
	assert_int_equal(out.dreq.local_comm_id, c.active->local_comm_id);
	no_event(&p->a);
	/* The connecting id keeps waiting. Another id with the same communication id keeps waiting
	 * too. */
	rep.rep.local_qpn = 0x3003;
	rep.rep.local_comm_id = c.passive->local_comm_id;
	give(p, &p->a, &rep);
	assert_int_equal(sent(p, &p->a).rej.reason, ADV_CM_REJ_STALE_CONN);
	rep.rep.local_comm_id = 0xb0b;
	give(p, &p->a, &rep);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
}

/* True if the next transmission is due after this time, plus or minus an eighth. */
static bool waits(const struct pair *p, uint64_t ns)
{
	uint64_t left = adv_cm_deadline(p->a.cm) - p->now;

	return left >= ns - ns / 8 && left <= ns + ns / 8;
}

static void test_retries(void **state)
{
	static const unsigned waits_ms[] = {250, 500, 1000, 2000, 4000, 4000, 4000, 4000};
	struct pair *p = *state;
	struct adv_cm_packet req, again;
	struct adv_cm_event event;
	struct adv_cm_id *id;
	unsigned i;

	req = req_of(p, &id);
	for (i = 0; i < 8; i++) {
		assert_true(waits(p, waits_ms[i] * MS));
		no_event(&p->a);
		pass(p);
		again = sent(p, &p->a);
		if (i < 7)
			assert_memory_equal(&again, &req, sizeof(req));
	}
	assert_int_equal(again.attribute, ADV_CM_REJ);
	assert_int_equal(again.rej.reason, ADV_CM_REJ_TIMEOUT);
	assert_int_equal(again.rej.info_len, 8);
	assert_true(adv_get_be64(again.rej.info) == p->a.guid);
	event = event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event.status, -ETIMEDOUT);
	assert_true(adv_cm_deadline(p->a.cm) == UINT64_MAX);
	assert_false(adv_cm_id_busy(id));
	assert_int_equal(adv_cm_counters(p->a.cm)->tx_retries, 7);
	assert_int_equal(adv_cm_counters(p->a.cm)->tx_mads, 9);
}

/* Requests that start together must not be retransmitted together: a full backlog would drop them
 * again. */
static void test_retries_scatter(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id;
	uint64_t due[3];
	unsigned i;

	for (i = 0; i < 3; i++) {
		req_of(p, &id);
		due[i] = id->timer.when;
	}
	assert_true(due[0] != due[1] && due[1] != due[2] && due[0] != due[2]);
}

static void test_mra(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req, mra = {.attribute = ADV_CM_MRA};
	struct adv_cm_id *id;

	req = req_of(p, &id);
	mra.mra.local_comm_id = 0xb0b;
	mra.mra.remote_comm_id = req.req.local_comm_id;
	mra.mra.about = ADV_CM_ABOUT_REQ;
	mra.mra.service_timeout = 24;
	give(p, &p->a, &mra); /* an MRA of another transaction */
	assert_true(waits(p, 250 * MS));
	mra.tid = req.tid;
	give(p, &p->a, &mra);
	assert_true(adv_cm_deadline(p->a.cm) ==
		    p->now + adv_cm_iba_ns(24) + adv_cm_iba_ns(id->timeout));
	pass(p);
	assert_int_equal(sent(p, &p->a).attribute, ADV_CM_REQ);
	assert_true(adv_cm_deadline(p->a.cm) > p->now + 60 * SEC);
	/* The wait that an MRA requests is limited. */
	mra.mra.service_timeout = 31;
	give(p, &p->a, &mra);
	assert_true(adv_cm_deadline(p->a.cm) < p->now + 300 * SEC);
	/* An MRA about a message that was not sent is ignored. */
	mra.mra.about = ADV_CM_ABOUT_REP;
	give(p, &p->a, &mra);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 2);
	no_event(&p->a);
}

static void test_uc_and_xrc(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_packet req, rep;
	struct adv_cm_event event;
	struct adv_cm_id *id;

	id = routed(&p->a, &p->b, RDMA_PS_TCP);
	id->qp_type = IBV_QPT_UC;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	assert_int_equal(sent(p, &p->a).req.transport, ADV_CM_TRANSPORT_UC);
	id = routed(&p->a, &p->b, RDMA_PS_TCP);
	id->qp_type = IBV_QPT_XRC_SEND;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	req = sent(p, &p->a);
	assert_int_equal(req.req.transport, ADV_CM_TRANSPORT_EXTENDED);
	assert_int_equal(req.req.extended_transport, ADV_CM_EXTENDED_XRC);
	assert_int_equal(req.req.responder_resources, 0);
	rep = rep_to(&req);
	rep.rep.local_qpn = 0x99;
	rep.rep.local_eecn = 0x3003;
	give(p, &p->a, &rep);
	event = event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event.param.qp_num, 0x3003);
	assert_int_equal(event.param.srq_num, 0x99);
}

static void test_ack_timeout(void **state)
{
	/* The value in the captures of rdma_rxe. */
	assert_int_equal(adv_cm_ack_timeout(15, 18), 19);
	assert_int_equal(adv_cm_ack_timeout(15, 16), 17);
	assert_int_equal(adv_cm_ack_timeout(15, 15), 17);
	assert_int_equal(adv_cm_ack_timeout(15, 14), 16);
	assert_int_equal(adv_cm_ack_timeout(15, 13), 16);
	assert_int_equal(adv_cm_ack_timeout(15, 12), 15);
	assert_int_equal(adv_cm_ack_timeout(0, 0), 2);
	assert_int_equal(adv_cm_ack_timeout(31, 31), 31);
}

/* Many timers that are due at the same time are handled in parts. */
static void test_many_timeouts(void **state)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct pair *p = *state;
	uint64_t retries;

	for (unsigned i = 0; i < 1500; i++)
		assert_int_equal(adv_cm_connect(routed(&p->a, &p->b, RDMA_PS_TCP), p->now, &param),
				 0);
	p->now += 3600 * SEC;
	adv_cm_expire(p->a.cm, p->now);
	retries = adv_cm_counters(p->a.cm)->tx_retries;
	assert_true(retries > 0 && retries <= 1024);
	assert_true(adv_cm_deadline(p->a.cm) <= p->now);
	adv_cm_expire(p->a.cm, p->now);
	assert_int_equal(adv_cm_counters(p->a.cm)->tx_retries, 1500);
	assert_true(adv_cm_deadline(p->a.cm) > p->now);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_req_fields),	    TEST(test_options_in_req),
		TEST(test_bad_parameters),  TEST(test_rep),
		TEST(test_forged_rep),	    TEST(test_rep_for_nobody),
		TEST(test_stale_rep),	    TEST(test_retries),
		TEST(test_retries_scatter), TEST(test_mra),
		TEST(test_uc_and_xrc),	    cmocka_unit_test(test_ack_timeout),
		TEST(test_many_timeouts),
	};

	return cmocka_run_group_tests_name("cm connect", tests, NULL, NULL);
}
