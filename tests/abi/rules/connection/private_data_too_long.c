/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes more private data than a connect request has room for. */
#include "../lab_cm.h"

int main(void)
{
	struct rdma_conn_param param = lab_cm_param();
	static const uint8_t data[64];
	struct lab_cm cm = {0};

	lab_cm_listen(&cm);
	lab_cm_resolve(&cm);
	lab_cm_qp(cm.client);
	param.private_data = data;
	param.private_data_len = MENDED ? 56 : 64;
	if (!rdma_connect(cm.client, &param)) { /* finds private-data-too-long: id */
		lab_cm_expect(&cm, RDMA_CM_EVENT_CONNECT_REQUEST);
		lab_need(!rdma_reject(cm.server, NULL, 0), "rdma_reject");
		lab_cm_expect(&cm, RDMA_CM_EVENT_REJECTED);
	}
	lab_cm_close(&cm);
	return 0;
}
