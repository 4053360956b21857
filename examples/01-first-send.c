/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 1: the objects of verbs, and a first SEND. One process plays both ends. */
#include "lesson.h"

#define SIZE 64

/* The memory of the message: it is sent from the first array, and received into the second one. */
static char message[2][SIZE] = {"hello"};

static void post_receive(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = {.addr = (uintptr_t)message[1], .length = SIZE, .lkey = mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	check(!errno, "ibv_post_recv");
}

static void post_send(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = {.addr = (uintptr_t)message[0],
			      .length = (uint32_t)strlen(message[0]) + 1,
			      .lkey = mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 2,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	errno = ibv_post_send(qp, &wr, &bad);
	check(!errno, "ibv_post_send");
}

/* Waits for a completion and prints it. */
static void show_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc = complete(cq);

	printf("completion of request %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV)
		printf(", %u bytes received: %s", wc.byte_len, message[1]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *send_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_cq *recv_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_mr *mr;
	struct ibv_qp *from, *to;
	struct end end_from, end_to;
	struct ibv_qp_attr attr;

	check(pd && send_cq && recv_cq, "ibv_alloc_pd or ibv_create_cq");
	mr = ibv_reg_mr(pd, message, sizeof(message), IBV_ACCESS_LOCAL_WRITE);
	check(mr != NULL, "ibv_reg_mr");
	from = create_qp(pd, send_cq);
	to = create_qp(pd, recv_cq);
	end_from = describe(from);
	end_to = describe(to);
	attr = attributes(context, &end_from, &end_to);
	connect_qp(from, &attr);
	attr = attributes(context, &end_to, &end_from);
	connect_qp(to, &attr);
	printf("queue pair 0x%06x is connected to 0x%06x\n", from->qp_num, to->qp_num);

	post_receive(to, mr);
	post_send(from, mr);
	show_completion(recv_cq);
	show_completion(send_cq);
	stay(argc, argv);

	check(!ibv_destroy_qp(from) && !ibv_destroy_qp(to), "ibv_destroy_qp");
	check(!ibv_destroy_cq(send_cq) && !ibv_destroy_cq(recv_cq), "ibv_destroy_cq");
	check(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	check(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	check(!ibv_close_device(context), "ibv_close_device");
	return 0;
}
