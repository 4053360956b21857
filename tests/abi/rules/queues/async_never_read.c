/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never reads the asynchronous event that it has armed an SRQ for. */
#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq_attr limit = {.srq_limit = 2};
	struct ibv_qp_init_attr attr;
	struct ibv_async_event event;
	struct ibv_recv_wr wr = {.num_sge = 0};
	struct ibv_recv_wr *bad;
	struct ibv_srq *srq;

	lab_device(&l);
	srq = ibv_create_srq(l.pd, &init);
	lab_need(srq != NULL, "ibv_create_srq");
	for (int i = 0; i < 2; i++)
		lab_need(!ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
	lab_need(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
	attr = lab_create_attr(&l);
	attr.srq = srq;
	l.a = ibv_create_qp(l.pd, &attr);
	l.b = ibv_create_qp(l.pd, &attr);
	lab_need(l.a && l.b, "ibv_create_qp");
	lab_connect(&l);
	lab_send(&l, l.a, 0, 0);
	lab_wait(l.cq, 2);
	if (MENDED) {
		lab_need(!ibv_get_async_event(l.context, &event), "ibv_get_async_event");
		ibv_ack_async_event(&event);
	}
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	l.a = l.b = NULL;
	lab_name("srq", "srq %u", srq->handle);
	lab_need(!ibv_destroy_srq(srq), "ibv_destroy_srq"); /* finds async-never-read: srq */
	lab_close(&l);
	return 0;
}
