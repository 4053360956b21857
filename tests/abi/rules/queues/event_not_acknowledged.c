/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroys a CQ whose event the same thread has not acknowledged: the call blocks. Mended, another
 * thread receives the event, and acknowledges it while the call waits. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "../lab.h"

struct receiver {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	sem_t received;
};

static void receive(struct receiver *r)
{
	struct ibv_cq *got;
	void *user;

	lab_need(!ibv_get_cq_event(r->channel, &got, &user), "ibv_get_cq_event");
	sem_post(&r->received);
}

static void *acknowledge_late(void *arg)
{
	struct receiver *r = arg;

	if (MENDED)
		receive(r);
	usleep(500000);
	ibv_ack_cq_events(r->cq, 1);
	return NULL;
}

int main(void)
{
	struct lab l = {0};
	struct receiver r;
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr attr;
	struct ibv_cq *own;
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
	r = (struct receiver){.channel = channel, .cq = own};
	lab_need(!sem_init(&r.received, 0, 0), "sem_init");
	if (MENDED)
		lab_need(!pthread_create(&thread, NULL, acknowledge_late, &r), "pthread_create");
	else
		receive(&r);
	sem_wait(&r.received);
	lab_wait(own, 1);
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	l.a = l.b = NULL;
	if (!MENDED)
		lab_need(!pthread_create(&thread, NULL, acknowledge_late, &r), "pthread_create");
	lab_need(!ibv_destroy_cq(own), "ibv_destroy_cq"); /* finds event-not-acknowledged: own */
	pthread_join(thread, NULL);
	lab_need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	lab_close(&l);
	return 0;
}
