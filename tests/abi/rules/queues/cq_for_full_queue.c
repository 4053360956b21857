/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts receives until the queue is full. The CQ has fewer entries than the queue; in the mended
 * twin as many: the request that finds the queue full is refused, and gives no completion. */
#include <errno.h>

#include "../lab.h"

int main(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_qp_init_attr attr;
	struct lab l = {0};
	struct ibv_cq *own;
	uint32_t posted;
	int err = 0;

	lab_device(&l);
	own = ibv_create_cq(l.context, MENDED ? LAB_DEPTH : LAB_DEPTH / 2, NULL, NULL, 0);
	lab_need(own != NULL, "ibv_create_cq");
	lab_name("own", "cq %u", own->handle);
	attr = lab_create_attr(&l);
	attr.recv_cq = own;
	l.a = ibv_create_qp(l.pd, &attr);
	lab_need(l.a != NULL, "ibv_create_qp");
	lab_need(attr.cap.max_recv_wr <= LAB_DEPTH, "no more receives than requested");
	lab_to_init(l.a);
	for (posted = 0; !err && posted <= 2 * LAB_DEPTH; posted++) {
		sge = lab_sge(&l, 64 * (size_t)posted, 64);
		err = ibv_post_recv(l.a, &wr, &bad); /* finds cq-too-small: own */
	}
	lab_need(err == ENOMEM, "a full receive queue");
	lab_need(!ibv_destroy_qp(l.a), "ibv_destroy_qp");
	l.a = NULL;
	lab_need(!ibv_destroy_cq(own), "ibv_destroy_cq");
	lab_close(&l);
	return 0;
}
