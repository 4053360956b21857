/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ends.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET_MS 300

struct sockaddr *address(const char *text, uint16_t port)
{
	static struct sockaddr_in in[8];
	static struct sockaddr_in6 in6[8];
	static unsigned next;
	unsigned i = next++ % 8;

	in[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (inet_pton(AF_INET, text, &in[i].sin_addr) == 1)
		return (struct sockaddr *)&in[i];
	in6[i] = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	assert_int_equal(inet_pton(AF_INET6, text, &in6[i].sin6_addr), 1);
	return (struct sockaddr *)&in6[i];
}

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = NULL;

	if (!readable(channel->fd, PATIENCE_MS))
		fail_msg("no event, but %s was to come", rdma_event_str(type));
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	if (event->event != type)
		fail_msg("%s with status %d, not %s", rdma_event_str(event->event), event->status,
			 rdma_event_str(type));
	return event;
}

int expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(channel, type);
	int status = event->status;

	assert_int_equal(rdma_ack_cm_event(event), 0);
	return status;
}

void expect_no_event(struct rdma_event_channel *channel)
{
	assert_false(readable(channel->fd, QUIET_MS));
}

void run(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

void wait_for_address(const char *text)
{
	struct rdma_cm_id *id;
	bool known = false;

	for (unsigned ms = 0; ms < PATIENCE_MS && !known; ms += 10) {
		assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
		known = rdma_bind_addr(id, address(text, 0)) == 0;
		assert_int_equal(rdma_destroy_id(id), 0);
		usleep(10000);
	}
	assert_true(known);
}

void ends_open(struct ends *e, const char *text, enum rdma_port_space ps)
{
	struct sockaddr *to;

	memset(e, 0, sizeof(*e));
	e->channel = rdma_create_event_channel();
	e->passive = rdma_create_event_channel();
	assert_non_null(e->channel);
	assert_non_null(e->passive);
	assert_int_equal(rdma_create_id(e->passive, &e->listener, e, ps), 0);
	assert_int_equal(rdma_bind_addr(e->listener, address(text, 0)), 0);
	assert_int_equal(rdma_listen(e->listener, 0), 0);
	assert_int_not_equal(rdma_get_src_port(e->listener), 0);
	assert_int_equal(rdma_create_id(e->channel, &e->client, e, ps), 0);
	to = address(text, ntohs(rdma_get_src_port(e->listener)));
	assert_int_equal(rdma_resolve_addr(e->client, NULL, to, PATIENCE_MS), 0);
	assert_int_equal(expect_event(e->channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	assert_int_equal(rdma_resolve_route(e->client, PATIENCE_MS), 0);
	assert_int_equal(expect_event(e->channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
}

static void close_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

void ends_close(struct ends *e)
{
	close_id(e->client);
	close_id(e->server);
	close_id(e->listener);
	rdma_destroy_event_channel(e->channel);
	rdma_destroy_event_channel(e->passive);
}

void make_qp(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = type,
		.sq_sig_all = 1,
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
	assert_non_null(id->send_cq);
	assert_non_null(id->recv_cq_channel);
	assert_ptr_equal(id->send_cq->cq_context, id);
}

void ends_request(struct ends *e)
{
	struct rdma_cm_event *event = next_event(e->passive, RDMA_CM_EVENT_CONNECT_REQUEST);

	assert_ptr_equal(event->listen_id, e->listener);
	e->server = event->id;
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

void ends_connect(struct ends *e)
{
	make_qp(e->client, IBV_QPT_RC);
	assert_int_equal(rdma_connect(e->client, NULL), 0);
	ends_request(e);
	make_qp(e->server, IBV_QPT_RC);
	assert_int_equal(rdma_accept(e->server, NULL), 0);
	assert_int_equal(expect_event(e->channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(expect_event(e->passive, RDMA_CM_EVENT_ESTABLISHED), 0);
}
