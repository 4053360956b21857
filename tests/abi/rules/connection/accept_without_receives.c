/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Accepts a connection before it posts a receive: the first message finds none. */
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#include "../lab_cm.h"

int main(void)
{
	struct rdma_conn_param param = lab_cm_param();
	static uint8_t memory[128];
	struct lab_cm cm = {0};
	struct ibv_mr *from;
	struct ibv_mr *to;
	struct ibv_wc wc;

	lab_cm_listen(&cm);
	lab_cm_resolve(&cm);
	lab_cm_qp(cm.client);
	lab_need(!rdma_connect(cm.client, &param), "rdma_connect");
	lab_cm_expect(&cm, RDMA_CM_EVENT_CONNECT_REQUEST);
	lab_cm_qp(cm.server);
	from = rdma_reg_msgs(cm.client, memory, 64);
	to = rdma_reg_msgs(cm.server, memory + 64, 64);
	lab_need(from && to, "rdma_reg_msgs");
	if (MENDED)
		lab_need(!rdma_post_recv(cm.server, NULL, memory + 64, 64, to), "post_recv");
	lab_name("server", "qp 0x%06x", cm.server->qp->qp_num);
	if (rdma_accept(cm.server, &param)) /* finds accept-without-receives: server */
		return 2;
	lab_cm_expect(&cm, RDMA_CM_EVENT_ESTABLISHED);
	lab_cm_expect(&cm, RDMA_CM_EVENT_ESTABLISHED);
	lab_need(!rdma_post_send(cm.client, NULL, memory, 64, from, IBV_SEND_SIGNALED), "send");
	usleep(50000);
	if (!MENDED)
		lab_need(!rdma_post_recv(cm.server, NULL, memory + 64, 64, to), "post_recv");
	lab_need(rdma_get_recv_comp(cm.server, &wc) == 1, "rdma_get_recv_comp");
	lab_need(rdma_get_send_comp(cm.client, &wc) == 1, "rdma_get_send_comp");
	lab_cm_disconnect(&cm);
	lab_need(!rdma_dereg_mr(from) && !rdma_dereg_mr(to), "rdma_dereg_mr");
	lab_cm_close(&cm);
	return 0;
}
