/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills the send queue with unsignaled requests, and waits for the event of a completion. A program
 * without an event to come would wait for ever: a timer ends this one. */
#include <signal.h>
#include <unistd.h>

#include "../lab.h"

static void end_in_time(int signal)
{
	(void)signal;
	_exit(0);
}

static void arm_timer(void)
{
	const struct sigaction action = {.sa_handler = end_in_time};

	lab_need(!sigaction(SIGALRM, &action, NULL), "sigaction");
	alarm(1);
}

static void post_all(const struct lab *l)
{
	struct ibv_sge sge = lab_sge(l, 0, 8);
	struct ibv_send_wr wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.rkey = l->mr->rkey;
	for (uint32_t i = 0; i < LAB_DEPTH; i++) {
		wr.wr.rdma.remote_addr = (uintptr_t)l->buffer + 8192 + 8 * (uint64_t)i;
		wr.send_flags = MENDED && i + 1 == LAB_DEPTH ? IBV_SEND_SIGNALED : 0;
		lab_post(l->a, &wr);
	}
	usleep(100000); /* until all have ended */
}

int main(void)
{
	struct ibv_comp_channel *channel;
	struct lab l = {0};
	struct ibv_cq *cq;
	void *context;
	int err;

	lab_device(&l);
	channel = ibv_create_comp_channel(l.context);
	lab_need(channel != NULL, "ibv_create_comp_channel");
	lab_need(!ibv_destroy_cq(l.cq), "ibv_destroy_cq");
	l.cq = ibv_create_cq(l.context, LAB_CQES, NULL, channel, 0);
	lab_need(l.cq != NULL, "ibv_create_cq");
	lab_qps(&l);
	lab_connect(&l);
	lab_need(!ibv_req_notify_cq(l.cq, 0), "ibv_req_notify_cq");
	post_all(&l);
	if (!MENDED)
		arm_timer();
	err = ibv_get_cq_event(channel, &cq, &context); /* finds unsignaled-queue-full: a */
	lab_need(!err, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	lab_wait(l.cq, 1);
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	lab_need(!ibv_destroy_cq(l.cq), "ibv_destroy_cq");
	lab_need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	l.a = l.b = NULL;
	l.cq = NULL;
	lab_close(&l);
	return 0;
}
