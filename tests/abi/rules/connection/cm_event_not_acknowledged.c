/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroys an id while another thread has not acknowledged its event: the call blocks. */
#include <pthread.h>
#include <unistd.h>

#include "../lab_cm.h"

static void *acknowledge_late(void *event)
{
	usleep(500000);
	rdma_ack_cm_event(event);
	return NULL;
}

int main(void)
{
	struct rdma_conn_param param = lab_cm_param();
	struct rdma_cm_event *event;
	struct lab_cm cm = {0};
	pthread_t thread;

	lab_cm_listen(&cm);
	lab_cm_resolve(&cm);
	lab_cm_qp(cm.client);
	lab_need(!rdma_connect(cm.client, &param), "rdma_connect");
	lab_cm_expect(&cm, RDMA_CM_EVENT_CONNECT_REQUEST);
	lab_need(!rdma_reject(cm.server, NULL, 0), "rdma_reject");
	event = lab_cm_event(&cm, RDMA_CM_EVENT_REJECTED);
	rdma_destroy_qp(cm.client);
	if (MENDED)
		rdma_ack_cm_event(event);
	else
		lab_need(!pthread_create(&thread, NULL, acknowledge_late, event), "pthread_create");
	rdma_destroy_id(cm.client); /* finds cm-event-not-acknowledged: id */
	cm.client = NULL;
	if (!MENDED)
		pthread_join(thread, NULL);
	lab_cm_close(&cm);
	return 0;
}
