/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The accepting side, message by message. */
#include "harness.h"

/* A valid REQ from a to b. */
static struct adv_cm_packet req_from(const struct pair *p)
{
	struct adv_cm_packet m = {.attribute = ADV_CM_REQ, .tid = 0x1234};
	struct adv_cm_ip_header ip = {
		.ip_version = 4,
		.source_port = 40000,
		.source = p->a.gid,
		.destination = p->b.gid,
	};
	struct adv_cm_req *r = &m.req;

	r->local_comm_id = 0xa0a;
	r->service_id = adv_cm_service_id(RDMA_PS_TCP, PORT);
	r->local_ca_guid = 0xaaaa;
	r->local_qpn = 0x1001;
	r->responder_resources = 3;
	r->initiator_depth = 4;
	r->starting_psn = 0x111111;
	r->retry_count = 6;
	r->rnr_retry_count = 5;
	r->pkey = 0xffff;
	r->path_mtu = IBV_MTU_1024;
	r->primary.local_gid = p->a.gid;
	r->primary.remote_gid = p->b.gid;
	r->primary.flow_label = 0xabcde;
	r->primary.traffic_class = 0x20;
	r->primary.hop_limit = 33;
	r->primary.local_ack_timeout = 19;
	adv_cm_ip_header_encode(&ip, r->private_data);
	memcpy(r->private_data + ADV_CM_IP_HEADER_LEN, "hello", 5);
	return m;
}

static void test_request_event(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p);
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_TCP, true, 1);
	const struct adv_cm_route *route;
	struct adv_cm_event event;

	req.req.ece_vendor = 0x15b3;
	req.modifier = 0x44;
	req.req.srq = true;
	give(p, &p->b, &req);
	event = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event.listen, listen);
	assert_null(adv_cm_id_user(event.id));
	assert_int_equal(event.param.qp_num, 0x1001);
	assert_int_equal(event.param.qp_type, IBV_QPT_RC);
	assert_int_equal(event.param.responder_resources, 4);
	assert_int_equal(event.param.initiator_depth, 3);
	assert_int_equal(event.param.retry_count, 6);
	assert_int_equal(event.param.rnr_retry_count, 5);
	assert_int_equal(event.param.srq, 1);
	assert_int_equal(event.param.ece.vendor_id, 0x15b3);
	assert_int_equal(event.param.ece.options, 0x44);
	assert_int_equal(event.param.private_data_len, ADV_CM_REQ_PRIVATE);
	assert_string_equal((char *)event.param.private_data, "hello");
	assert_int_equal(adv_cm_id_port_space(event.id), RDMA_PS_TCP);
	assert_int_equal(adv_cm_id_qp_type(event.id), IBV_QPT_RC);
	assert_int_equal(adv_cm_id_local(event.id)->port, PORT);
	assert_memory_equal(adv_cm_id_local(event.id)->ip.raw, p->b.gid.raw, 16);
	assert_int_equal(adv_cm_id_remote(event.id)->port, 40000);
	assert_int_equal(adv_cm_id_remote(event.id)->family, AF_INET);
	route = adv_cm_id_route(event.id);
	assert_memory_equal(route->path.dgid.raw, p->a.gid.raw, 16);
	assert_int_equal(route->path.flow_label, 0xabcde);
	assert_int_equal(route->path.tclass, 0x20);
	assert_int_equal(route->path.hop_limit, 33);
	assert_int_equal(route->mtu, IBV_MTU_1024);
	assert_int_equal(route->packet_life_time, 18);
	assert_true(adv_cm_id_busy(event.id));
	assert_int_equal(adv_cm_id_count(p->b.cm), 2);
}

static void test_accept(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p), rep, rtu = {.attribute = ADV_CM_RTU, .tid = 0x1234};
	struct adv_cm_conn_param param = conn_param(0x2002, "welcome");
	struct adv_cm_event event;
	struct adv_cm_id *id;

	listener(&p->b, RDMA_PS_TCP, false, 1);
	req.req.alternate.local_lid = 1;
	give(p, &p->b, &req);
	id = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	param.ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = 9};
	param.private_data_len = ADV_CM_REP_PRIVATE + 1;
	assert_int_equal(adv_cm_accept(id, p->now, &param), EINVAL);
	param.private_data_len = 7;
	param.qp_num = 0x1000000;
	assert_int_equal(adv_cm_accept(id, p->now, &param), EINVAL);
	param.qp_num = 0x2002;
	assert_int_equal(adv_cm_accept(id, p->now, &param), 0);
	rep = sent(p, &p->b);
	assert_int_equal(rep.attribute, ADV_CM_REP);
	assert_true(rep.tid == 0x1234);
	assert_int_equal(rep.rep.remote_comm_id, 0xa0a);
	assert_int_not_equal(rep.rep.local_comm_id, 0);
	assert_int_equal(rep.rep.local_qpn, 0x2002);
	assert_int_equal(rep.rep.responder_resources, 3);
	assert_int_equal(rep.rep.initiator_depth, 4);
	assert_int_equal(rep.rep.target_ack_delay, 15);
	assert_int_equal(rep.rep.failover, 1);
	assert_int_equal(rep.rep.rnr_retry_count, 5);
	assert_true(rep.rep.local_ca_guid == p->b.guid);
	assert_int_equal(rep.rep.ece_vendor, 0x15b3);
	assert_int_equal(rep.modifier, 9);
	assert_memory_equal(rep.rep.private_data, "welcome", 8);

	/* An RTU from a wrong address is ignored, the right RTU counts, and a duplicate is
	 * ignored. */
	rtu.rtu.remote_comm_id = rep.rep.local_comm_id;
	rtu.rtu.local_comm_id = 0xa0b;
	give(p, &p->b, &rtu);
	no_event(&p->b);
	rtu.rtu.local_comm_id = 0xa0a;
	give(p, &p->b, &rtu);
	event = event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event.id, id);
	assert_true(adv_cm_deadline(p->b.cm) == UINT64_MAX);
	give(p, &p->b, &rtu);
	no_event(&p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_duplicates, 1);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_unmatched, 1);
	assert_int_equal(adv_cm_establish(id, p->now), EISCONN);
}

/* If data arrives before the RTU, adv_cm_establish() establishes the connection. */
static void test_established_by_data(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	assert_int_equal(adv_cm_establish(c.passive, p->now), 0);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(adv_cm_establish(c.active, p->now), 0);
	pump(p);
	no_event(&p->b);
}

/* A duplicate REQ gets the right answer in every state. */
static void test_repeated_req(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p), out, rep, other;
	struct adv_cm_packet dreq = {.attribute = ADV_CM_DREQ};
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id *id;

	listener(&p->b, RDMA_PS_TCP, true, 1);
	give(p, &p->b, &req);
	give(p, &p->b, &req);
	out = sent(p, &p->b);
	assert_int_equal(out.attribute, ADV_CM_MRA);
	assert_int_equal(out.mra.about, ADV_CM_ABOUT_REQ);
	assert_int_equal(out.mra.remote_comm_id, 0xa0a);
	assert_true(out.tid == 0x1234);
	id = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	no_event(&p->b);
	other = req; /* the same number, but another request */
	other.tid++;
	give(p, &p->b, &other);
	other = req;
	other.req.local_qpn++;
	give(p, &p->b, &other);
	nothing_sent(p, &p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_unmatched, 2);
	assert_int_equal(adv_cm_accept(id, p->now, &param), 0);
	rep = sent(p, &p->b);
	give(p, &p->b, &req);
	out = sent(p, &p->b);
	assert_memory_equal(&out, &rep, sizeof(rep));
	assert_int_equal(adv_cm_establish(id, p->now), 0);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	give(p, &p->b, &req);
	nothing_sent(p, &p->b);
	dreq.dreq.local_comm_id = 0xa0a;
	dreq.dreq.remote_comm_id = rep.rep.local_comm_id;
	dreq.dreq.remote_qpn = 0x2002;
	give(p, &p->b, &dreq);
	assert_int_equal(sent(p, &p->b).attribute, ADV_CM_DREP);
	give(p, &p->b, &req);
	out = sent(p, &p->b);
	assert_int_equal(out.rej.reason, ADV_CM_REJ_STALE_CONN);
	assert_int_equal(out.rej.about, ADV_CM_ABOUT_REQ);
	event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	no_event(&p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_duplicates, 4);
}

static void expect_refusal(struct pair *p, const struct adv_cm_packet *req, uint16_t reason)
{
	struct adv_cm_packet rej;

	give(p, &p->b, req);
	rej = sent(p, &p->b);
	assert_int_equal(rej.attribute, ADV_CM_REJ);
	assert_int_equal(rej.rej.about, ADV_CM_ABOUT_REQ);
	assert_int_equal(rej.rej.local_comm_id, 0);
	assert_int_equal(rej.rej.remote_comm_id, 0xa0a);
	assert_int_equal(rej.rej.reason, reason);
	assert_true(rej.tid == 0x1234);
	no_event(&p->b);
}

static void test_refused(void **state)
{
	struct pair *p = *state;
	struct adv_gid stranger = ipv4(9);
	struct adv_cm_packet req = req_from(p);

	expect_refusal(p, &req, ADV_CM_REJ_INVALID_SERVICE_ID);
	listener(&p->b, RDMA_PS_TCP, true, 1);
	req.req.transport = ADV_CM_TRANSPORT_RD;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_TRANSPORT_TYPE);
	req.req.transport = ADV_CM_TRANSPORT_EXTENDED;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_TRANSPORT_TYPE);
	req.req.extended_transport = ADV_CM_EXTENDED_XRC;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_TRANSPORT_TYPE); /* the listener is RC */
	req.req.transport = ADV_CM_TRANSPORT_UC;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_TRANSPORT_TYPE);
	req = req_from(p);
	req.req.private_data[1] = 0;
	expect_refusal(p, &req, ADV_CM_REJ_UNSUPPORTED);
	req = req_from(p);
	req.req.pkey = 0x8001;
	expect_refusal(p, &req, ADV_CM_REJ_UNSUPPORTED);
	req = req_from(p);
	req.req.path_mtu = 6;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_MTU);
	req = req_from(p);
	req.req.service_id |= UINT64_C(1) << 32;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_SERVICE_ID);
	/* Requests whose addresses differ from those of the packet are refused. */
	req = req_from(p);
	req.req.primary.local_gid = stranger;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_GID);
	req = req_from(p);
	req.req.primary.remote_gid = stranger;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_GID);
	req = req_from(p);
	req.req.private_data[36 - 17] = 9;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_GID);
	req = req_from(p);
	req.req.private_data[35] = 9;
	expect_refusal(p, &req, ADV_CM_REJ_INVALID_GID);
	/* A request from an impossible QP number gets no answer. */
	req = req_from(p);
	req.req.local_qpn = 1;
	give(p, &p->b, &req);
	req.req.local_qpn = 0xffffff;
	give(p, &p->b, &req);
	nothing_sent(p, &p->b);
	no_event(&p->b);
	assert_int_equal(adv_cm_id_count(p->b.cm), 1);
}

/* If a connected QP sends a request, the peer has lost its old connection. */
static void test_stale_req(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet req = req_from(p), out;

	req.req.local_ca_guid = p->a.guid;
	give(p, &p->b, &req);
	out = sent(p, &p->b);
	assert_int_equal(out.rej.reason, ADV_CM_REJ_STALE_CONN);
	out = sent(p, &p->b);
	assert_int_equal(out.attribute, ADV_CM_DREQ);
	assert_int_equal(out.dreq.local_comm_id, c.passive->local_comm_id);
	give(p, &p->b, &req);
	out = sent(p, &p->b);
	assert_int_equal(out.rej.reason, ADV_CM_REJ_STALE_CONN);
	nothing_sent(p, &p->b);
	no_event(&p->b);
	/* Another CA may have a QP with that number. */
	req.req.local_ca_guid++;
	give(p, &p->b, &req);
	event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void test_backlog(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p);
	struct adv_cm_id *id[3];
	unsigned i;

	listener(&p->b, RDMA_PS_TCP, true, 2);
	for (i = 0; i < 3; i++) {
		req.req.local_comm_id = i;
		req.req.local_qpn = 0x100 + i;
		give(p, &p->b, &req);
	}
	nothing_sent(p, &p->b);
	id[0] = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	id[1] = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	no_event(&p->b);
	assert_int_equal(adv_cm_counters(p->b.cm)->backlog_drops, 1);
	adv_cm_request_taken(id[0]);
	adv_cm_request_taken(id[0]); /* the second call has no effect */
	give(p, &p->b, &req);
	id[2] = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	/* A destroyed request leaves the backlog. */
	adv_cm_id_destroy(id[1], p->now);
	assert_int_equal(sent(p, &p->b).rej.reason, ADV_CM_REJ_CONSUMER_DEFINED);
	req.req.local_comm_id = 7;
	req.req.local_qpn = 0x107;
	give(p, &p->b, &req);
	event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(id[2]->listener->waiting, 2);
}

/* One address cannot use all ids. */
static void test_one_host(void **state)
{
	struct adv_cm_config config = {.seed = 1, .max_ids = 32};
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p);
	unsigned i, requests = 0;
	struct adv_cm_event event;

	node_close(&p->b);
	p->b.cm = adv_cm_create(&config);
	listener(&p->b, RDMA_PS_TCP, true, 0);
	for (i = 0; i < 100; i++) {
		req.req.local_comm_id = i;
		req.req.local_qpn = 0x100 + i;
		give(p, &p->b, &req);
	}
	while (adv_cm_next_event(p->b.cm, &event)) {
		adv_cm_request_taken(event.id);
		requests++;
	}
	assert_int_equal(requests, 5);
	assert_int_equal(adv_cm_counters(p->b.cm)->backlog_drops, 95);
	assert_int_equal(p->b.cm->hosts.count, 1);
}

static void test_no_rtu(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);
	struct adv_cm_packet out, mra = {.attribute = ADV_CM_MRA, .tid = c.active->tid};
	unsigned i;

	/* The peer has sent an MRA. */
	mra.mra.about = ADV_CM_ABOUT_REP;
	mra.mra.local_comm_id = c.active->local_comm_id;
	mra.mra.remote_comm_id = c.passive->local_comm_id;
	mra.mra.service_timeout = 20;
	give(p, &p->b, &mra);
	for (i = 0; i < 7; i++) {
		pass(p);
		assert_int_equal(sent(p, &p->b).attribute, ADV_CM_REP);
	}
	pass(p);
	out = sent(p, &p->b);
	assert_int_equal(out.rej.reason, ADV_CM_REJ_TIMEOUT);
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
	/* The connecting side finds the id by its CA's GUID. */
	give(p, &p->a, &out);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status, ADV_CM_REJ_TIMEOUT);
	assert_int_equal(adv_cm_establish(c.active, p->now), EINVAL);
	pass(p);
	event_of(&p->a, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

static void test_xrc(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p), rep;
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_TCP, true, 0), *id;

	listen->qp_type = IBV_QPT_XRC_RECV;
	req.req.transport = ADV_CM_TRANSPORT_EXTENDED;
	req.req.extended_transport = ADV_CM_EXTENDED_XRC;
	give(p, &p->b, &req);
	id = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	param.srq_num = 0x77;
	assert_int_equal(adv_cm_accept(id, p->now, &param), 0);
	rep = sent(p, &p->b);
	assert_int_equal(rep.rep.local_eecn, 0x2002);
	assert_int_equal(rep.rep.local_qpn, 0x77);
	assert_true(rep.rep.srq);
	listen->qp_type = IBV_QPT_UC;
	req.req.transport = ADV_CM_TRANSPORT_UC;
	req.req.local_comm_id++;
	req.req.local_qpn++;
	req.req.primary.hop_limit = 0;
	give(p, &p->b, &req);
	id = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_id_route(id)->path.hop_limit, 64);
}

/* A listener that is destroyed takes undelivered requests with it. */
static void test_listener_destroyed(void **state)
{
	struct pair *p = *state;
	struct adv_cm_packet req = req_from(p), rej;
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id *listen = listener(&p->b, RDMA_PS_TCP, true, 0), *seen;

	give(p, &p->b, &req);
	seen = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	req.req.local_comm_id = 0xa0b;
	req.req.local_qpn++;
	give(p, &p->b, &req);
	adv_cm_id_destroy(listen, p->now);
	rej = sent(p, &p->b);
	assert_int_equal(rej.rej.reason, ADV_CM_REJ_CONSUMER_DEFINED);
	assert_int_equal(rej.rej.remote_comm_id, 0xa0b);
	no_event(&p->b);
	assert_int_equal(adv_cm_id_count(p->b.cm), 1);
	assert_int_equal(adv_cm_accept(seen, p->now, &param), 0);
	assert_int_equal(sent(p, &p->b).attribute, ADV_CM_REP);
	req.req.local_comm_id++;
	req.req.local_qpn++;
	give(p, &p->b, &req);
	assert_int_equal(sent(p, &p->b).rej.reason, ADV_CM_REJ_INVALID_SERVICE_ID);
}

static void test_ipv6(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *active, *passive;

	p->a.gid = (struct adv_gid){.raw = {0xfd, 0x77, [15] = 3}};
	p->b.gid = (struct adv_gid){.raw = {0xfd, 0x77, [15] = 2}};
	listener(&p->b, RDMA_PS_TCP, false, 0);
	active = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(active, p->now, &param), 0);
	pump(p);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_id_remote(passive)->family, AF_INET6);
	assert_memory_equal(adv_cm_id_remote(passive)->ip.raw, p->a.gid.raw, 16);
	assert_memory_equal(adv_cm_id_local(passive)->ip.raw, p->b.gid.raw, 16);
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_request_event),
		TEST(test_accept),
		TEST(test_established_by_data),
		TEST(test_repeated_req),
		TEST(test_refused),
		TEST(test_stale_req),
		TEST(test_backlog),
		TEST(test_one_host),
		TEST(test_no_rtu),
		TEST(test_xrc),
		TEST(test_listener_destroyed),
		TEST(test_ipv6),
	};

	return cmocka_run_group_tests_name("cm request", tests, NULL, NULL);
}
