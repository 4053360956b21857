/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the length of private data from the event: it is the field's, not the sender's. */
#include <string.h>

#include "../lab_cm.h"

int main(void)
{
	struct rdma_conn_param param = lab_cm_param();
	struct rdma_conn_param answer = lab_cm_param();
	struct rdma_cm_event *event;
	uint8_t data[8] = "version";
	struct lab_cm cm = {0};

	lab_cm_listen(&cm);
	lab_cm_resolve(&cm);
	lab_cm_qp(cm.client);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	lab_need(!rdma_connect(cm.client, &param), "rdma_connect");
	event = lab_cm_event(&cm, RDMA_CM_EVENT_CONNECT_REQUEST);
	cm.server = event->id;
	answer.private_data = event->param.conn.private_data;
	answer.private_data_len =
		MENDED ? (uint8_t)sizeof(data) : event->param.conn.private_data_len;
	lab_cm_qp(cm.server);
	lab_need(!rdma_accept(cm.server, &answer), "accept"); /* finds private-data-length: id */
	lab_need(!rdma_ack_cm_event(event), "rdma_ack_cm_event");
	lab_cm_expect(&cm, RDMA_CM_EVENT_ESTABLISHED);
	lab_cm_expect(&cm, RDMA_CM_EVENT_ESTABLISHED);
	lab_cm_disconnect(&cm);
	lab_cm_close(&cm);
	return 0;
}
