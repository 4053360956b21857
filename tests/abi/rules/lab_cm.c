/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lab_cm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RESOLVE_MS 2000

void lab_cm_listen(struct lab_cm *cm)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	alarm(30);
	cm->channel = rdma_create_event_channel();
	lab_need(cm->channel != NULL, "rdma_create_event_channel");
	lab_need(!rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	lab_need(!rdma_bind_addr(cm->listener, (struct sockaddr *)&any), "rdma_bind_addr");
	lab_need(!rdma_listen(cm->listener, 4), "rdma_listen");
}

void lab_cm_resolve(struct lab_cm *cm)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = rdma_get_src_port(cm->listener),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	lab_need(!rdma_create_id(cm->channel, &cm->client, NULL, RDMA_PS_TCP), "rdma_create_id");
	lab_need(!rdma_resolve_addr(cm->client, NULL, (struct sockaddr *)&to, RESOLVE_MS),
		 "rdma_resolve_addr");
	lab_cm_expect(cm, RDMA_CM_EVENT_ADDR_RESOLVED);
	lab_need(!rdma_resolve_route(cm->client, RESOLVE_MS), "rdma_resolve_route");
	lab_cm_expect(cm, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void lab_cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = LAB_DEPTH,
			.max_recv_wr = LAB_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	lab_need(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

struct rdma_conn_param lab_cm_param(void)
{
	return (struct rdma_conn_param){
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

struct rdma_cm_event *lab_cm_event(struct lab_cm *cm, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	lab_need(!rdma_get_cm_event(cm->channel, &event), "rdma_get_cm_event");
	if (event->event != type) {
		fprintf(stderr, "lab: %s instead of %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(2);
	}
	return event;
}

void lab_cm_expect(struct lab_cm *cm, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = lab_cm_event(cm, type);

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server = event->id;
	lab_need(!rdma_ack_cm_event(event), "rdma_ack_cm_event");
}

void lab_cm_open(struct lab_cm *cm)
{
	struct rdma_conn_param param = lab_cm_param();

	lab_cm_listen(cm);
	lab_cm_resolve(cm);
	lab_cm_qp(cm->client);
	lab_need(!rdma_connect(cm->client, &param), "rdma_connect");
	lab_cm_expect(cm, RDMA_CM_EVENT_CONNECT_REQUEST);
	lab_cm_qp(cm->server);
	lab_need(!rdma_accept(cm->server, &param), "rdma_accept");
	lab_cm_expect(cm, RDMA_CM_EVENT_ESTABLISHED);
	lab_cm_expect(cm, RDMA_CM_EVENT_ESTABLISHED);
}

void lab_cm_disconnect(struct lab_cm *cm)
{
	lab_need(!rdma_disconnect(cm->client), "rdma_disconnect");
	lab_cm_expect(cm, RDMA_CM_EVENT_DISCONNECTED);
	lab_need(!rdma_disconnect(cm->server), "rdma_disconnect");
	lab_cm_expect(cm, RDMA_CM_EVENT_DISCONNECTED);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	lab_need(!rdma_destroy_id(id), "rdma_destroy_id");
}

void lab_cm_close(struct lab_cm *cm)
{
	destroy_id(cm->client);
	destroy_id(cm->server);
	destroy_id(cm->listener);
	rdma_destroy_event_channel(cm->channel);
}
