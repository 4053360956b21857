/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UD: service IDs resolved to QPs. */
#include "harness.h"

static struct adv_cm_packet req_of(struct pair *p, struct adv_cm_id **id)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");

	*id = routed(&p->a, &p->b, RDMA_PS_UDP);
	assert_int_equal(adv_cm_connect(*id, p->now, &param), 0);
	return sent(p, &p->a);
}

static void test_resolved(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x2002, "welcome");
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_UDP, true, 1), *id, *passive;
	struct adv_cm_packet req = req_of(p, &id), rep;
	struct adv_cm_event event;

	assert_int_equal(req.attribute, ADV_CM_SIDR_REQ);
	assert_true(req.sidr_req.service_id == (0x01110000u | PORT));
	assert_int_equal(req.sidr_req.pkey, 0xffff);
	assert_true(adv_cm_id_busy(id));
	give(p, &p->b, &req);
	event = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event.id;
	assert_ptr_equal(event.listen, listen);
	assert_int_equal(event.param.private_data_len, ADV_CM_SIDR_REQ_PRIVATE);
	assert_string_equal((char *)event.param.private_data, "hello");
	assert_int_equal(adv_cm_id_remote(passive)->port, adv_cm_id_local(id)->port);
	assert_int_equal(adv_cm_id_port_space(passive), RDMA_PS_UDP);
	give(p, &p->b, &req); /* the consumer has not answered: no message */
	nothing_sent(p, &p->b);
	param.private_data_len = ADV_CM_SIDR_REP_PRIVATE + 1;
	assert_int_equal(adv_cm_accept(passive, p->now, &param), EINVAL);
	param.private_data_len = 7;
	param.ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = 3};
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	assert_false(adv_cm_id_busy(passive));
	assert_int_equal(adv_cm_accept(passive, p->now, &param), EINVAL);
	rep = sent(p, &p->b);
	assert_int_equal(rep.attribute, ADV_CM_SIDR_REP);
	assert_true(rep.tid == req.tid);
	assert_int_equal(rep.sidr_rep.request_id, req.sidr_req.request_id);
	assert_int_equal(rep.sidr_rep.qpn, 0x2002);
	assert_int_equal(rep.sidr_rep.qkey, ADV_CM_UDP_QKEY);
	assert_true(rep.sidr_rep.service_id == req.sidr_req.service_id);
	/* A duplicate request gets the same answer without an event for the consumer. */
	give(p, &p->b, &req);
	assert_int_equal(sent(p, &p->b).sidr_rep.qpn, 0x2002);
	no_event(&p->b);
	give(p, &p->a, &rep);
	event = event_of(&p->a, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event.id, id);
	assert_int_equal(event.param.qp_num, 0x2002);
	assert_int_equal(event.param.qkey, ADV_CM_UDP_QKEY);
	assert_int_equal(event.param.ece.vendor_id, 0x15b3);
	assert_int_equal(event.param.ece.options, 3);
	assert_int_equal(event.param.private_data_len, ADV_CM_SIDR_REP_PRIVATE);
	assert_string_equal((char *)event.param.private_data, "welcome");
	give(p, &p->a, &rep);
	no_event(&p->a);
	assert_int_equal(adv_cm_disconnect(id, p->now), 0);
	assert_true(adv_cm_deadline(p->a.cm) == UINT64_MAX);
	adv_cm_id_destroy(passive, p->now);
	nothing_sent(p, &p->b);
}

static void test_nobody(void **state)
{
	struct pair *p = *state;
	struct adv_cm_event event;
	struct adv_cm_id *id;
	struct adv_cm_packet req = req_of(p, &id);

	give(p, &p->b, &req);
	pump(p);
	event = event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event.status, ADV_CM_SIDR_UNSUPPORTED);
	assert_ptr_equal(event.id, id);
	assert_int_equal(adv_cm_disconnect(id, p->now), EINVAL);
}

static void rejected_with(struct pair *p, int reason, uint8_t status)
{
	struct adv_cm_id *id, *passive;
	struct adv_cm_packet req = req_of(p, &id);
	struct adv_cm_event event;
	char big[200] = "";

	give(p, &p->b, &req);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	adv_cm_request_taken(passive);
	if (reason < 0) {
		adv_cm_id_destroy(passive, p->now);
	} else {
		assert_int_equal(adv_cm_reject(passive, p->now, 28, big, 137), EINVAL);
		assert_int_equal(adv_cm_reject(passive, p->now, (uint8_t)reason, "no", 3), 0);
	}
	pump(p);
	event = event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event.status, status);
	if (reason >= 0)
		assert_string_equal((char *)event.param.private_data, "no");
}

static void test_rejected(void **state)
{
	struct pair *p = *state;

	listener(&p->b, RDMA_PS_UDP, true, 0);
	rejected_with(p, 28, ADV_CM_SIDR_REJECT);
	rejected_with(p, 0, ADV_CM_SIDR_REJECT);
	rejected_with(p, ADV_CM_SIDR_NO_QP, ADV_CM_SIDR_NO_QP);
	rejected_with(p, -1, ADV_CM_SIDR_REJECT);
}

static void test_no_answer(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id;
	unsigned i;

	req_of(p, &id);
	for (i = 0; i < 7; i++) {
		pass(p);
		assert_int_equal(sent(p, &p->a).attribute, ADV_CM_SIDR_REQ);
	}
	pass(p);
	nothing_sent(p, &p->a);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

static void test_forged(void **state)
{
	struct pair *p = *state;
	struct adv_gid stranger = ipv4(9);
	struct adv_cm_id *id;
	struct adv_cm_packet req = req_of(p, &id), bad, rep = {.attribute = ADV_CM_SIDR_REP};

	listener(&p->b, RDMA_PS_UDP, true, 0);
	bad = req;
	bad.sidr_req.private_data[1] = 0;
	give(p, &p->b, &bad);
	bad = req;
	bad.sidr_req.private_data[19] = 9; /* another source */
	give(p, &p->b, &bad);
	bad = req;
	bad.sidr_req.private_data[35] = 9;
	give(p, &p->b, &bad);
	nothing_sent(p, &p->b);
	no_event(&p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_malformed, 3);
	give(p, &p->b, &req);
	bad = req; /* another request with its number */
	bad.tid++;
	give(p, &p->b, &bad);
	event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
	no_event(&p->b);

	rep.tid = req.tid;
	rep.sidr_rep.request_id = req.sidr_req.request_id;
	give_from(p, &p->a, &stranger, &rep);
	rep.tid++;
	give(p, &p->a, &rep);
	rep.tid--;
	rep.sidr_rep.request_id++;
	give(p, &p->a, &rep);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 3);
}

/* A listener of another kind at the same service ID, and a full one. */
static void test_listeners(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id, *listen = listener(&p->b, RDMA_PS_UDP, true, 1);
	struct adv_cm_packet req = req_of(p, &id);

	listen->qp_type = IBV_QPT_RC;
	give(p, &p->b, &req);
	assert_int_equal(sent(p, &p->b).sidr_rep.status, ADV_CM_SIDR_UNSUPPORTED);
	listen->qp_type = IBV_QPT_UD;
	give(p, &p->b, &req);
	req = req_of(p, &id);
	give(p, &p->b, &req);
	nothing_sent(p, &p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->backlog_drops, 1);
	/* An id that is destroyed while it waits for the answer sends nothing. */
	adv_cm_id_destroy(id, p->now);
	nothing_sent(p, &p->a);
}

static void test_bad_parameters(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_IPOIB);

	param.private_data_len = ADV_CM_SIDR_REQ_PRIVATE + 1;
	assert_int_equal(adv_cm_connect(id, p->now, &param), EINVAL);
	param.private_data_len--;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	assert_true(sent(p, &p->a).sidr_req.service_id == (0x00020000u | PORT));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_resolved),	   TEST(test_nobody), TEST(test_rejected),
		TEST(test_no_answer),	   TEST(test_forged), TEST(test_listeners),
		TEST(test_bad_parameters),
	};

	return cmocka_run_group_tests_name("cm sidr", tests, NULL, NULL);
}
