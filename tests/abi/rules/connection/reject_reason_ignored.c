/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects again and again although nobody listens. */
#include "../lab_cm.h"

#define TRIES 4

int main(void)
{
	struct rdma_conn_param param = lab_cm_param();
	struct rdma_cm_event *event;
	struct lab_cm cm = {0};

	lab_cm_listen(&cm);
	for (int i = 0; i < TRIES; i++) {
		lab_cm_resolve(&cm);
		lab_cm_qp(cm.client);
		if (rdma_connect(cm.client, &param)) /* finds reject-ignored: id */
			return 2;
		lab_cm_expect(&cm, RDMA_CM_EVENT_CONNECT_REQUEST);
		lab_need(!rdma_reject(cm.server, NULL, 0), "rdma_reject");
		event = lab_cm_event(&cm, RDMA_CM_EVENT_REJECTED);
		rdma_ack_cm_event(event);
		rdma_destroy_qp(cm.client);
		lab_need(!rdma_destroy_id(cm.client) && !rdma_destroy_id(cm.server), "destroy_id");
		cm.client = cm.server = NULL;
		if (MENDED)
			break;
	}
	lab_cm_close(&cm);
	return 0;
}
