/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections at a real adverbd: the events of each end, and the states of the QPs. */
#include <pthread.h>
#include <unistd.h>

#include "ends.h"

static void hello(struct ends *e)
{
	static char out[16] = "hello", in[16];
	struct ibv_mr *send_mr = rdma_reg_msgs(e->client, out, sizeof(out));
	struct ibv_mr *recv_mr = rdma_reg_msgs(e->server, in, sizeof(in));
	struct ibv_wc wc;

	assert_non_null(send_mr);
	assert_non_null(recv_mr);
	memset(in, 0, sizeof(in));
	assert_int_equal(rdma_post_recv(e->server, NULL, in, sizeof(in), recv_mr), 0);
	assert_int_equal(rdma_post_send(e->client, NULL, out, sizeof(out), send_mr, 0), 0);
	assert_int_equal(rdma_get_send_comp(e->client, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(rdma_get_recv_comp(e->server, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_string_equal(in, "hello");
	assert_int_equal(rdma_dereg_mr(send_mr), 0);
	assert_int_equal(rdma_dereg_mr(recv_mr), 0);
}

static void a_whole_life(const char *text)
{
	struct ends e;

	ends_open(&e, text, RDMA_PS_TCP);
	ends_connect(&e);
	hello(&e);
	assert_int_equal(rdma_disconnect(e.client), 0);
	assert_int_equal(e.client->qp->state, IBV_QPS_ERR);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DISCONNECTED), 0);
	assert_int_equal(rdma_disconnect(e.server), 0);
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	assert_int_equal(rdma_disconnect(e.client), 0); /* a second call succeeds */
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
	ends_close(&e);
}

static void over_ipv4(void **state)
{
	a_whole_life("127.0.0.1");
}

static void over_ipv6(void **state)
{
	a_whole_life("::1");
}

static void a_resolved_id_knows_its_way(void **state)
{
	const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
	struct ibv_sa_path_rec *path;
	struct rdma_cm_id *id;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	id = e.client;
	path = id->route.path_rec;
	assert_non_null(id->verbs);
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_memory_equal(&id->route.addr.addr.ibaddr.sgid, loopback, 16);
	assert_memory_equal(&id->route.addr.addr.ibaddr.dgid, loopback, 16);
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, htons(0xffff));
	assert_int_equal(id->route.num_paths, 1);
	assert_memory_equal(&path->sgid, loopback, 16);
	assert_memory_equal(&path->dgid, loopback, 16);
	assert_int_equal(path->mtu, IBV_MTU_4096);
	assert_int_equal(path->pkey, htons(0xffff));
	assert_int_equal(path->reversible, 1);
	assert_int_equal(rdma_get_dst_port(id), rdma_get_src_port(e.listener));
	assert_int_not_equal(rdma_get_src_port(id), 0);
	assert_int_equal(rdma_get_local_addr(id)->sa_family, AF_INET);
	ends_close(&e);
}

static void parameters_reach_the_peer(void **state)
{
	struct rdma_conn_param ask = {.private_data = "question",
				      .private_data_len = 9,
				      .responder_resources = 3,
				      .initiator_depth = 5,
				      .flow_control = 1,
				      .retry_count = 6,
				      .rnr_retry_count = 5};
	struct rdma_conn_param reply = {.private_data = "answer",
					.private_data_len = 7,
					.responder_resources = 4,
					.initiator_depth = 2,
					.rnr_retry_count = 3};
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, &ask), 0);
	event = next_event(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = event->id;
	assert_ptr_equal(event->listen_id, e.listener);
	assert_ptr_equal(e.server->context, e.listener->context);
	assert_true(event->param.conn.private_data_len >= 9);
	assert_string_equal(event->param.conn.private_data, "question");
	assert_int_equal(event->param.conn.responder_resources, 5);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.retry_count, 6);
	assert_int_equal(event->param.conn.rnr_retry_count, 5);
	assert_int_equal(event->param.conn.qp_num, e.client->qp->qp_num);
	assert_int_equal(rdma_get_dst_port(e.server), rdma_get_src_port(e.client));
	assert_int_equal(rdma_get_src_port(e.server), rdma_get_src_port(e.listener));
	rdma_ack_cm_event(event);
	make_qp(e.server, IBV_QPT_RC);
	assert_int_equal(rdma_accept(e.server, &reply), 0);
	event = next_event(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(event->param.conn.private_data, "answer");
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 4);
	assert_int_equal(event->param.conn.qp_num, e.server->qp->qp_num);
	rdma_ack_cm_event(event);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(ibv_query_qp(e.client->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	assert_int_equal(attr.retry_cnt, 6);
	assert_int_equal(attr.rnr_retry, 3);
	assert_int_equal(attr.dest_qp_num, e.server->qp->qp_num);
	assert_int_equal(ibv_query_qp(e.server->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.max_rd_atomic, 2);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	ends_close(&e);
}

static void more_than_the_device_has(void **state)
{
	struct rdma_conn_param most = {.responder_resources = RDMA_MAX_RESP_RES,
				       .initiator_depth = RDMA_MAX_INIT_DEPTH,
				       .retry_count = 200};
	struct rdma_conn_param param = {.responder_resources = 254};
	char data[255] = {0};
	struct rdma_cm_event *event;
	struct ibv_device_attr device;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	FAILS(EINVAL, rdma_connect(e.client, &param));
	param = (struct rdma_conn_param){.initiator_depth = 254};
	FAILS(EINVAL, rdma_connect(e.client, &param));
	param = (struct rdma_conn_param){.private_data = data, .private_data_len = 57};
	FAILS(EINVAL, rdma_connect(e.client, &param));
	assert_int_equal(rdma_connect(e.client, &most), 0);
	event = next_event(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = event->id;
	assert_int_equal(ibv_query_device(e.client->verbs, &device), 0);
	assert_int_equal(event->param.conn.responder_resources, device.max_qp_init_rd_atom);
	assert_int_equal(event->param.conn.initiator_depth, device.max_qp_rd_atom);
	assert_int_equal(event->param.conn.retry_count, 7);
	rdma_ack_cm_event(event);
	make_qp(e.server, IBV_QPT_RC);
	param = (struct rdma_conn_param){.private_data = data, .private_data_len = 197};
	FAILS(EINVAL, rdma_accept(e.server, &param));
	FAILS(EINVAL, rdma_reject(e.server, data, 149));
	ends_close(&e);
}

static void a_rejection_has_reason_and_data(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	ends_request(&e);
	assert_int_equal(rdma_reject(e.server, "not today", 10), 0);
	event = next_event(e.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_true(event->param.conn.private_data_len >= 10);
	assert_string_equal(event->param.conn.private_data, "not today");
	rdma_ack_cm_event(event);
	assert_int_equal(e.client->qp->state, IBV_QPS_ERR);
	ends_close(&e);
}

static void ece_is_rejected_by_its_own_reason(void **state)
{
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	ends_request(&e);
	assert_int_equal(rdma_reject_ece(e.server, NULL, 0), 0);
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_REJECTED), 35);
	ends_close(&e);
}

static void nobody_listens(void **state)
{
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	assert_int_equal(rdma_destroy_id(e.listener), 0);
	e.listener = NULL;
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_REJECTED), 8);
	ends_close(&e);
}

/* Unanswered ids are destroyed with their listener only if they are not fetched. */
static void a_request_that_is_destroyed_is_rejected(void **state)
{
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	ends_request(&e);
	assert_int_equal(rdma_destroy_id(e.server), 0);
	e.server = NULL;
	assert_int_not_equal(expect_event(e.channel, RDMA_CM_EVENT_REJECTED), 0);
	ends_close(&e);
}

/* A consumer can connect QPs that the library does not know, and modify them itself. */
static void qps_of_ones_own(void **state)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
	struct ibv_qp_init_attr init = {.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_ece ece = {.vendor_id = 0x1234, .options = 7}, got;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp[2];
	struct rdma_cm_id *ids[2];
	struct ibv_cq *cq;
	struct ends e;
	int mask;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	FAILS(EINVAL, rdma_connect(e.client, NULL));
	cq = ibv_create_cq(e.client->verbs, 8, NULL, NULL, 0);
	assert_non_null(cq);
	init.send_cq = init.recv_cq = cq;
	for (int i = 0; i < 2; i++)
		assert_non_null(qp[i] = ibv_create_qp(e.client->pd, &init));
	param.qp_num = qp[0]->qp_num;
	assert_int_equal(rdma_set_local_ece(e.client, &ece), 0);
	assert_int_equal(rdma_connect(e.client, &param), 0);
	ends_request(&e);
	assert_int_equal(rdma_get_remote_ece(e.server, &got), 0);
	assert_int_equal(got.vendor_id, 0x1234);
	assert_int_equal(got.options, 7);
	param.qp_num = qp[1]->qp_num;
	assert_int_equal(rdma_accept(e.server, &param), 0);
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_CONNECT_RESPONSE), 0);
	ids[0] = e.client;
	ids[1] = e.server;
	for (int i = 0; i < 2; i++) {
		for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
			attr.qp_state = (enum ibv_qp_state)s;
			assert_int_equal(rdma_init_qp_attr(ids[i], &attr, &mask), 0);
			assert_int_equal(ibv_modify_qp(qp[i], &attr, mask), 0);
		}
		assert_int_equal(qp[i]->state, IBV_QPS_RTS);
	}
	expect_no_event(e.passive);
	assert_int_equal(rdma_establish(e.client), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_ESTABLISHED), 0);
	FAILS(EISCONN, rdma_notify(e.server, IBV_EVENT_COMM_EST));
	assert_int_equal(rdma_disconnect(e.client), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DISCONNECTED), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	ends_close(&e);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* If data arrives before the RTU, the program reports IBV_EVENT_COMM_EST, which establishes the
 * connection. */
static void data_before_the_last_message(void **state)
{
	struct rdma_conn_param param = {.qp_num = 99};
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.client, &param), 0);
	ends_request(&e);
	make_qp(e.server, IBV_QPT_RC);
	assert_int_equal(rdma_accept(e.server, NULL), 0);
	expect_no_event(e.passive);
	assert_int_equal(rdma_notify(e.server, IBV_EVENT_COMM_EST), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_ESTABLISHED), 0);
	ends_close(&e);
}

/* The connection fails if the QP is in the wrong state when the response arrives. */
static void a_qp_that_cannot_be_connected(void **state)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct rdma_cm_event *event;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	make_qp(e.client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	ends_request(&e);
	make_qp(e.server, IBV_QPT_RC);
	assert_int_equal(rdma_accept(e.server, NULL), 0);
	assert_int_equal(ibv_modify_qp(e.client->qp, &attr, IBV_QP_STATE), 0);
	event = next_event(e.channel, RDMA_CM_EVENT_CONNECT_ERROR);
	assert_int_equal(event->status, -EINVAL);
	rdma_ack_cm_event(event);
	ends_close(&e);
}

static void addresses_and_ports(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *a, *b;
	uint16_t port;
	int on = 1;

	assert_int_equal(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	FAILS(EADDRNOTAVAIL, rdma_bind_addr(a, address("192.0.2.1", 0)));
	assert_int_equal(rdma_bind_addr(a, address("127.0.0.1", 0)), 0);
	assert_non_null(a->verbs);
	port = ntohs(rdma_get_src_port(a));
	assert_true(port >= 1024);
	FAILS(EINVAL, rdma_bind_addr(a, address("127.0.0.1", 0)));
	FAILS(EADDRINUSE, rdma_bind_addr(b, address("127.0.0.1", port)));
	FAILS(EADDRINUSE, rdma_bind_addr(b, address("0.0.0.0", port)));
	assert_int_equal(
		rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	FAILS(ENOSYS, rdma_set_option(b, RDMA_OPTION_ID, 77, &on, sizeof(on)));
	FAILS(EINVAL, rdma_resolve_route(b, 100));
	FAILS(EINVAL, rdma_reject(b, NULL, 0));
	FAILS(ENETUNREACH, rdma_resolve_addr(b, NULL, address("192.0.2.1", 1), 100));
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_create_id(channel, &b, NULL, RDMA_PS_UDP), 0);
	/* The port belongs to another port space. */
	assert_int_equal(rdma_bind_addr(b, address("127.0.0.1", port)), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(b, address("0.0.0.0", port)),
			 0); /* the port is free again */
	assert_null(b->verbs);
	assert_int_equal(rdma_destroy_id(b), 0);
	rdma_destroy_event_channel(channel);
}

static void migrating_while_connected(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	ends_connect(&e);
	assert_int_equal(rdma_migrate_id(e.client, other), 0);
	assert_int_equal(rdma_disconnect(e.server), 0);
	assert_int_equal(expect_event(other, RDMA_CM_EVENT_DISCONNECTED), 0);
	expect_no_event(e.channel);
	ends_close(&e);
	rdma_destroy_event_channel(other);
}

/* Destroying an id ends its connection. */
static void an_id_that_is_destroyed_disconnects(void **state)
{
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	ends_connect(&e);
	rdma_destroy_qp(e.client);
	assert_int_equal(rdma_destroy_id(e.client), 0);
	e.client = NULL;
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DISCONNECTED), 0);
	ends_close(&e);
}

static void a_shared_receive_queue(void **state)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct rdma_cm_event *event;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	assert_int_equal(rdma_create_srq(e.client, NULL, &srq), 0);
	FAILS(EINVAL, rdma_create_srq(e.client, NULL, &srq));
	make_qp(e.client, IBV_QPT_RC);
	assert_ptr_equal(e.client->qp->srq, e.client->srq);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	event = next_event(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = event->id;
	assert_int_equal(event->param.conn.srq, 1);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(e.client);
	rdma_destroy_srq(e.client);
	assert_null(e.client->srq);
	ends_close(&e);
}

static void qps_must_fit_their_id(void **state)
{
	struct ibv_qp_init_attr attr = {.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *other = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(other);
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	FAILS(EINVAL, rdma_create_qp(e.client, pd, &attr));
	attr.cap.max_send_sge = 100000;
	FAILS(EINVAL, rdma_create_qp(e.client, NULL, &attr));
	assert_null(e.client->send_cq);
	make_qp(e.client, IBV_QPT_RC);
	FAILS(EINVAL, rdma_create_qp(e.client, NULL, &attr));
	ends_close(&e);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(other), 0);
	ibv_free_device_list(list);
}

static void devices(void **state)
{
	struct ibv_context **list;
	int n = 7;

	list = rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_string_equal(ibv_get_device_name(list[0]->device), "adverb0");
	assert_null(list[1]);
	rdma_free_devices(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_ipv4),
		cmocka_unit_test(over_ipv6),
		cmocka_unit_test(a_resolved_id_knows_its_way),
		cmocka_unit_test(parameters_reach_the_peer),
		cmocka_unit_test(more_than_the_device_has),
		cmocka_unit_test(a_rejection_has_reason_and_data),
		cmocka_unit_test(ece_is_rejected_by_its_own_reason),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(a_request_that_is_destroyed_is_rejected),
		cmocka_unit_test(qps_of_ones_own),
		cmocka_unit_test(data_before_the_last_message),
		cmocka_unit_test(a_qp_that_cannot_be_connected),
		cmocka_unit_test(addresses_and_ports),
		cmocka_unit_test(migrating_while_connected),
		cmocka_unit_test(an_id_that_is_destroyed_disconnects),
		cmocka_unit_test(a_shared_receive_queue),
		cmocka_unit_test(qps_must_fit_their_id),
		cmocka_unit_test(devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
