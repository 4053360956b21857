/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * leaver: connects two ids of this process by librdmacm. The server accepts and disconnects before
 * the client reads its next event, which the program prints: "EVENT STATUS".
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define RESOLVE_MS 2000
#define LEAVE_US   200000 /* until the client's end has got the disconnect */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}

static struct rdma_cm_id *resolve(struct rdma_event_channel *channel, struct sockaddr_in *to)
{
	struct rdma_cm_id *id;

	need(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)to, RESOLVE_MS), "rdma_resolve_addr");
	need(!rdma_resolve_route(id, RESOLVE_MS), "rdma_resolve_route");
	need(!rdma_migrate_id(id, channel), "rdma_migrate_id");
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};

	need(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

int main(void)
{
	struct rdma_event_channel *passive = rdma_create_event_channel();
	struct rdma_event_channel *active = rdma_create_event_channel();
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(18607)};
	struct rdma_conn_param param = {.retry_count = 3};
	struct rdma_cm_id *listener, *client, *server;
	struct rdma_cm_event *event;

	need(passive && active, "rdma_create_event_channel");
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!rdma_create_id(passive, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(listener, (struct sockaddr *)&at), "rdma_bind_addr");
	need(!rdma_listen(listener, 4), "rdma_listen");
	client = resolve(active, &at);
	make_qp(client);
	need(!rdma_connect(client, &param), "rdma_connect");
	need(!rdma_get_cm_event(passive, &event), "rdma_get_cm_event");
	server = event->id;
	rdma_ack_cm_event(event);
	make_qp(server);
	need(!rdma_accept(server, &param), "rdma_accept");
	need(!rdma_disconnect(server), "rdma_disconnect");
	usleep(LEAVE_US);
	need(!rdma_get_cm_event(active, &event), "rdma_get_cm_event");
	printf("%s %d\n", rdma_event_str(event->event), event->status);
	return 0;
}
