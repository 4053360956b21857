/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroys a CQ while another thread has not acknowledged its event: the call blocks. */
#include <pthread.h>
#include <unistd.h>

#include "lab.h"

static void *acknowledge_late(void *cq)
{
	usleep(500000);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

int main(void)
{
	struct lab l = {0};
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr attr;
	struct ibv_cq *own;
	struct ibv_cq *got;
	void *user;
	pthread_t thread;

	lab_device(&l);
	channel = ibv_create_comp_channel(l.context);
	lab_need(channel != NULL, "ibv_create_comp_channel");
	own = ibv_create_cq(l.context, LAB_CQES, NULL, channel, 0);
	lab_need(own && !ibv_req_notify_cq(own, 0), "ibv_create_cq, ibv_req_notify_cq");
	lab_name("own", "cq %u", own->handle);
	attr = lab_create_attr(&l);
	attr.send_cq = own;
	l.a = ibv_create_qp(l.pd, &attr);
	l.b = ibv_create_qp(l.pd, &attr);
	lab_need(l.a && l.b, "ibv_create_qp");
	lab_connect(&l);
	lab_write(&l, l.a, 0, 64, 8192);
	lab_need(!ibv_get_cq_event(channel, &got, &user), "ibv_get_cq_event");
	lab_wait(own, 1);
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	l.a = l.b = NULL;
	if (MENDED)
		ibv_ack_cq_events(own, 1);
	else
		lab_need(!pthread_create(&thread, NULL, acknowledge_late, own), "pthread_create");
	lab_need(!ibv_destroy_cq(own), "ibv_destroy_cq"); /* finds event-not-acknowledged: own */
	if (!MENDED)
		pthread_join(thread, NULL);
	lab_need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	lab_close(&l);
	return 0;
}
