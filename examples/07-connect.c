/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 7: the connection manager. Usage: connect server | client ADDRESS [SECONDS] */
#include <rdma/rdma_verbs.h>
#include "lesson.h"

#define PORT "7471"
#define SIZE 64

static char memory[2][SIZE]; /* received into [0], sent from [1] */
static struct rdma_event_channel *channel;

/* Waits for the next event and prints it. Ends the program if it is not the expected one. */
static struct rdma_cm_id *next(enum rdma_cm_event_type expected)
{
	struct rdma_cm_event *event, copy;

	check(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	copy = *event;
	check(!rdma_ack_cm_event(event), "rdma_ack_cm_event");
	printf("%s, status %d\n", rdma_event_str(copy.event), copy.status);
	if (copy.event != expected)
		exit(1);
	return copy.id;
}

/* Gives an id a queue pair, memory, and a receive request. */
static struct ibv_mr *prepare(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_mr *mr;

	check(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	mr = rdma_reg_msgs(id, memory, sizeof(memory));
	check(mr && !rdma_post_recv(id, NULL, memory[0], SIZE, mr),
	      "rdma_reg_msgs or rdma_post_recv");
	return mr;
}

static void send_text(struct rdma_cm_id *id, struct ibv_mr *mr, const char *text)
{
	struct ibv_wc wc;

	strcpy(memory[1], text);
	check(!rdma_post_send(id, NULL, memory[1], SIZE, mr, IBV_SEND_SIGNALED), "rdma_post_send");
	check(rdma_get_send_comp(id, &wc) == 1 && !wc.status, "rdma_get_send_comp");
}

static void receive_text(struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	check(rdma_get_recv_comp(id, &wc) == 1 && !wc.status, "rdma_get_recv_comp");
	printf("received '%s'\n", memory[0]);
}

static void server(struct rdma_cm_id *listener, struct rdma_addrinfo *address)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;

	check(!rdma_bind_addr(listener, address->ai_src_addr), "rdma_bind_addr");
	check(!rdma_listen(listener, 1), "rdma_listen");
	printf("waits on port %s\n", PORT);
	id = next(RDMA_CM_EVENT_CONNECT_REQUEST);
	mr = prepare(id);
	check(!rdma_accept(id, NULL), "rdma_accept");
	next(RDMA_CM_EVENT_ESTABLISHED);
	receive_text(id);
	send_text(id, mr, "good day, client");
	next(RDMA_CM_EVENT_DISCONNECTED);
	check(!rdma_disconnect(id), "rdma_disconnect");
	rdma_destroy_qp(id);
	check(!rdma_dereg_mr(mr) && !rdma_destroy_id(id) && !rdma_destroy_id(listener),
	      "rdma_destroy_id");
}

static void client(struct rdma_cm_id *id, struct rdma_addrinfo *address, int argc, char **argv)
{
	struct ibv_mr *mr;

	check(!rdma_resolve_addr(id, NULL, address->ai_dst_addr, 2000), "rdma_resolve_addr");
	next(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(!rdma_resolve_route(id, 2000), "rdma_resolve_route");
	next(RDMA_CM_EVENT_ROUTE_RESOLVED);
	mr = prepare(id);
	check(!rdma_connect(id, NULL), "rdma_connect");
	next(RDMA_CM_EVENT_ESTABLISHED);
	send_text(id, mr, "good day, server");
	receive_text(id);
	stay(argc, argv);
	check(!rdma_disconnect(id), "rdma_disconnect");
	next(RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(id);
	check(!rdma_dereg_mr(mr) && !rdma_destroy_id(id), "rdma_destroy_id");
}

int main(int argc, char **argv)
{
	int is_server = argc == 2 && strcmp(argv[1], "server") == 0;
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP,
				      .ai_flags = is_server ? RAI_PASSIVE : 0};
	struct rdma_addrinfo *address;
	struct rdma_cm_id *id;

	if (!is_server && (argc < 3 || strcmp(argv[1], "client") != 0))
		errx(2, "usage: connect server | client ADDRESS [SECONDS]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	check(!rdma_getaddrinfo(argv[2], PORT, &hints, &address), "rdma_getaddrinfo");
	channel = rdma_create_event_channel();
	check(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	if (is_server)
		server(id, address);
	else
		client(id, address, argc - 2, argv + 2);
	rdma_destroy_event_channel(channel);
	rdma_freeaddrinfo(address);
	return 0;
}
