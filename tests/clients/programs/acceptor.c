/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * acceptor PORT: accepts connections, posts no request, and waits for events only, as a program
 * that serves one-sided operations. Prints a line for each event of a connection, and destroys the
 * id at its end. Runs until it is killed.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(1);
}

static void accept_request(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4};

	check(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	if (rdma_accept(id, &param) != 0)
		perror("rdma_accept"); /* the peer has given up */
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	any.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
	check(channel ? 0 : -1, "rdma_create_event_channel");
	check(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(listener, (struct sockaddr *)&any), "rdma_bind_addr");
	check(rdma_listen(listener, 128), "rdma_listen");
	for (;;) {
		struct rdma_cm_id *id, *gone = NULL;

		check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		id = event->id;
		printf("%s\n", rdma_event_str(event->event));
		fflush(stdout);
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_request(id);
		else if (event->event != RDMA_CM_EVENT_ESTABLISHED)
			gone = id;
		rdma_ack_cm_event(event);
		if (gone) {
			rdma_destroy_qp(gone);
			rdma_destroy_id(gone);
		}
	}
}
