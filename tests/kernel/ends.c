/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ends [-s] [-r] [-d] [-h] [-w] [-p port] address
 *
 * One connection; prints a line for each event. -s: the server. -r: the server rejects. -d: the
 * server disconnects (otherwise the client does). -h: the client does not disconnect. -w: waits a
 * second before it disconnects. Exit status:
 * 0 after the last event, whichever that is; 1 if a call failed.
 */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIVE_UP_SEC	 150
#define RESOLVE_MS	 5000
#define CLIENT_RESOURCES 5
#define CLIENT_DEPTH	 3
#define SERVER_RESOURCES 2
#define SERVER_DEPTH	 4
#define RETRY_COUNT	 7
#define CLIENT_SAYS	 "from the client"
#define SERVER_SAYS	 "from the server"
#define REFUSAL		 "not with me"

struct options {
	bool server, reject, disconnect, hold, wait;
	const char *port;
};

static void check(int result, const char *what)
{
	if (result) {
		perror(what);
		exit(1);
	}
}

/* Prints the event. Private data is text, padded with zeros on the wire. */
static void tell(const struct rdma_cm_event *e)
{
	const char *text = e->param.conn.private_data;
	int len = e->param.conn.private_data_len;

	printf("%s status %d resources %u depth %u data '%.*s'\n", rdma_event_str(e->event),
	       e->status, e->param.conn.responder_resources, e->param.conn.initiator_depth,
	       text ? len : 0, text ? text : "");
	fflush(stdout);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	check(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

static void answer(struct rdma_cm_id *id, const struct options *o)
{
	struct rdma_conn_param param = {
		.private_data = SERVER_SAYS,
		.private_data_len = sizeof(SERVER_SAYS),
		.responder_resources = SERVER_RESOURCES,
		.initiator_depth = SERVER_DEPTH,
		.rnr_retry_count = RETRY_COUNT,
	};

	if (o->reject) {
		check(rdma_reject(id, REFUSAL, sizeof(REFUSAL)), "rdma_reject");
		return;
	}
	make_qp(id);
	check(rdma_accept(id, &param), "rdma_accept");
}

static void call(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.private_data = CLIENT_SAYS,
		.private_data_len = sizeof(CLIENT_SAYS),
		.responder_resources = CLIENT_RESOURCES,
		.initiator_depth = CLIENT_DEPTH,
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RETRY_COUNT,
	};

	make_qp(id);
	check(rdma_connect(id, &param), "rdma_connect");
}

/* True if the connection has ended. */
static bool handle(const struct rdma_cm_event *e, const struct options *o)
{
	switch (e->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		check(rdma_resolve_route(e->id, RESOLVE_MS), "rdma_resolve_route");
		return false;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		call(e->id);
		return false;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(e->id, o);
		return o->reject;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (o->server ? !o->disconnect : o->hold)
			return false;
		if (o->wait)
			sleep(1);
		check(rdma_disconnect(e->id), "rdma_disconnect");
		return false;
	default:
		return true;
	}
}

static void run(struct rdma_event_channel *channel, const struct options *o)
{
	struct rdma_cm_event *e;
	struct rdma_cm_id *id = NULL;
	bool done = false;

	while (!done) {
		check(rdma_get_cm_event(channel, &e), "rdma_get_cm_event");
		tell(e);
		done = handle(e, o);
		id = e->id;
		check(rdma_ack_cm_event(e), "rdma_ack_cm_event");
	}
	if (id->qp)
		rdma_destroy_qp(id);
	check(rdma_destroy_id(id), "rdma_destroy_id");
}

static void begin(struct rdma_cm_id *id, const struct options *o, const char *address)
{
	struct rdma_addrinfo hints = {.ai_flags = o->server ? RAI_PASSIVE : 0,
				      .ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *found;

	check(rdma_getaddrinfo(address, o->port, &hints, &found), "rdma_getaddrinfo");
	if (o->server) {
		check(rdma_bind_addr(id, found->ai_src_addr), "rdma_bind_addr");
		check(rdma_listen(id, 1), "rdma_listen");
		printf("listening\n");
		fflush(stdout);
	} else {
		check(rdma_resolve_addr(id, NULL, found->ai_dst_addr, RESOLVE_MS),
		      "rdma_resolve_addr");
	}
	rdma_freeaddrinfo(found);
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7900"};
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int c;

	while ((c = getopt(argc, argv, "srdhwp:")) != -1) {
		o.server |= c == 's';
		o.reject |= c == 'r';
		o.disconnect |= c == 'd';
		o.hold |= c == 'h';
		o.wait |= c == 'w';
		if (c == 'p')
			o.port = optarg;
		if (c == '?')
			return 1;
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: ends [-s] [-r] [-d] [-h] [-w] [-p port] address\n");
		return 1;
	}
	alarm(GIVE_UP_SEC);
	channel = rdma_create_event_channel();
	check(channel == NULL, "rdma_create_event_channel");
	check(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	begin(id, &o, argv[optind]);
	run(channel, &o);
	return 0;
}
