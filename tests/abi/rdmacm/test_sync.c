/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ids without a channel, and endpoints: each call waits for its result. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "ends.h"

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

static struct rdma_cm_id *listen_on(const char *node, enum rdma_port_space ps, bool with_qp)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = (int)ps}, *res;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *listener;

	assert_int_equal(rdma_getaddrinfo(node, "0", &hints, &res), 0);
	assert_int_equal(rdma_create_ep(&listener, res, NULL, with_qp ? &attr : NULL), 0);
	rdma_freeaddrinfo(res);
	assert_int_equal(rdma_listen(listener, 4), 0);
	return listener;
}

static struct rdma_cm_id *endpoint_to(struct rdma_cm_id *listener, const char *node)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;
	char port[8];

	snprintf(port, sizeof(port), "%d", ntohs(rdma_get_src_port(listener)));
	assert_int_equal(rdma_getaddrinfo(node, port, &hints, &res), 0);
	assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	assert_non_null(id->qp);
	assert_non_null(id->event); /* the event ROUTE_RESOLVED */
	return id;
}

struct server {
	struct rdma_cm_id *listener;
	int requests; /* number of accepted requests; one more is rejected */
	char got[16];
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	char in[16] = "";
	struct ibv_mr *mr;

	for (int i = 0; i < s->requests; i++) {
		assert_int_equal(rdma_get_request(s->listener, &id), 0);
		assert_int_equal(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_non_null(id->qp);
		mr = rdma_reg_msgs(id, in, sizeof(in));
		assert_int_equal(rdma_post_recv(id, NULL, in, sizeof(in), mr), 0);
		assert_int_equal(rdma_accept(id, NULL), 0);
		assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
		assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
		memcpy(s->got, in, sizeof(in));
		assert_int_equal(rdma_disconnect(id), 0);
		assert_int_equal(rdma_dereg_mr(mr), 0);
		rdma_destroy_ep(id);
	}
	assert_int_equal(rdma_get_request(s->listener, &id), 0);
	assert_int_equal(rdma_reject(id, "no", 3), 0);
	rdma_destroy_ep(id);
	return NULL;
}

static void endpoints(void **state)
{
	struct server s = {.listener = listen_on("127.0.0.1", RDMA_PS_TCP, true), .requests = 2};
	char out[16] = "over endpoints";
	struct rdma_cm_id *id;
	pthread_t thread;
	struct ibv_wc wc;
	struct ibv_mr *mr;

	pthread_create(&thread, NULL, serve, &s);
	for (int i = 0; i < s.requests; i++) {
		id = endpoint_to(s.listener, "127.0.0.1");
		mr = rdma_reg_msgs(id, out, sizeof(out));
		assert_int_equal(rdma_connect(id, NULL), 0);
		assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
		assert_int_equal(rdma_post_send(id, NULL, out, sizeof(out), mr, 0), 0);
		assert_int_equal(rdma_get_send_comp(id, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(rdma_disconnect(id), 0);
		assert_int_equal(rdma_disconnect(id), 0);
		assert_int_equal(rdma_dereg_mr(mr), 0);
		rdma_destroy_ep(id);
	}
	id = endpoint_to(s.listener, "127.0.0.1");
	FAILS(ECONNREFUSED, rdma_connect(id, NULL));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_REJECTED);
	assert_string_equal(id->event->param.conn.private_data, "no");
	assert_int_equal(rdma_disconnect(id), 0); /* there is no event: must not block */
	rdma_destroy_ep(id);
	pthread_join(thread, NULL);
	assert_string_equal(s.got, "over endpoints");
	rdma_destroy_ep(s.listener);
}

static void a_wildcard_listener_of_either_family(void **state)
{
	struct server s = {.listener = listen_on(NULL, RDMA_PS_TCP, true), .requests = 0};
	struct rdma_cm_id *id;
	pthread_t thread;

	assert_null(s.listener->verbs);
	pthread_create(&thread, NULL, serve, &s);
	id = endpoint_to(s.listener, "127.0.0.1");
	FAILS(ECONNREFUSED, rdma_connect(id, NULL));
	pthread_join(thread, NULL);
	rdma_destroy_ep(id);
	rdma_destroy_ep(s.listener);
}

static void what_cannot_be_made(void **state)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "9", &hints, &res), 0);
	attr.cap.max_send_sge = 1000000;
	FAILS(EINVAL, rdma_create_ep(&id, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	hints.ai_flags = RAI_PASSIVE;
	assert_int_equal(rdma_getaddrinfo("192.0.2.1", "9", &hints, &res), 0);
	FAILS(EADDRNOTAVAIL, rdma_create_ep(&id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
	hints.ai_flags = 0;
	assert_int_equal(rdma_getaddrinfo("192.0.2.1", "9", &hints, &res), 0);
	FAILS(ENETUNREACH, rdma_create_ep(&id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
}

/* rdma_migrate_id() makes a synchronous id asynchronous, and synchronous again. */
static void changing_sides(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener = listen_on("127.0.0.1", RDMA_PS_TCP, false);
	struct rdma_cm_id *id = endpoint_to(listener, "127.0.0.1");
	struct rdma_cm_event *event;

	FAILS(EINVAL, rdma_migrate_id(id, NULL)); /* the id is already synchronous */
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	assert_int_equal(rdma_migrate_id(listener, channel), 0);
	assert_int_equal(rdma_connect(id, NULL), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(rdma_reject(event->id, NULL, 0), 0);
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_REJECTED), 28);
	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	assert_ptr_not_equal(id->channel, channel);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_destroy_event_channel(channel);
}

/* The private data of the address is sent before the caller's private data. */
static void data_of_the_address(void **state)
{
	struct rdma_cm_id *listener = listen_on("127.0.0.1", RDMA_PS_TCP, false);
	struct rdma_conn_param param = {.private_data = "def", .private_data_len = 4};
	struct sockaddr *to = address("127.0.0.1", ntohs(rdma_get_src_port(listener)));
	struct rdma_addrinfo info = {.ai_qp_type = IBV_QPT_RC,
				     .ai_port_space = RDMA_PS_TCP,
				     .ai_dst_addr = to,
				     .ai_dst_len = sizeof(struct sockaddr_in),
				     .ai_connect = "abc",
				     .ai_connect_len = 3};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, &info, NULL, &attr), 0);
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	assert_int_equal(rdma_migrate_id(listener, channel), 0);
	assert_int_equal(rdma_connect(id, &param), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_string_equal(event->param.conn.private_data, "abcdef");
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_not_equal(expect_event(channel, RDMA_CM_EVENT_REJECTED), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints),
		cmocka_unit_test(a_wildcard_listener_of_either_family),
		cmocka_unit_test(what_cannot_be_made),
		cmocka_unit_test(changing_sides),
		cmocka_unit_test(data_of_the_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
