/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 2: the states of a queue pair. One process plays both ends; its messages are empty. */
#include "lesson.h"

static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

static void show_state(struct ibv_qp *qp, const char *name)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	errno = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	check(!errno, "ibv_query_qp");
	printf("%s is in %s\n", name, states[attr.qp_state]);
}

static void post_receive(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	check(!errno, "ibv_post_recv");
}

static void post_send(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	errno = ibv_post_send(qp, &wr, &bad);
	check(!errno, "ibv_post_send");
}

static void show_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc = complete(cq);

	printf("  completion of request %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
}

/* The whole life of b, which receives from a. */
static void live(struct ibv_qp *a, struct ibv_qp *b, struct ibv_qp_attr to_b,
		 struct ibv_qp_attr to_a)
{
	show_state(b, "b");
	modify_qp(b, &to_a, IBV_QPS_INIT, TO_INIT);
	show_state(b, "b");
	post_receive(b, 1); /* allowed from INIT on */
	modify_qp(b, &to_a, IBV_QPS_RTR, TO_RTR);
	show_state(b, "b");

	connect_qp(a, &to_b);
	show_state(a, "a");
	post_send(a, 2); /* allowed in RTS */
	show_completion(b->recv_cq);
	show_completion(a->send_cq);

	modify_qp(b, &to_a, IBV_QPS_RTS, TO_RTS);
	show_state(b, "b");
	post_receive(a, 3);
	post_send(b, 4);
	show_completion(a->recv_cq);
	show_completion(b->send_cq);

	post_receive(b, 5);
	post_receive(b, 6);
	modify_qp(b, &to_a, IBV_QPS_ERR, 0);
	show_state(b, "b");
	show_completion(b->recv_cq);
	show_completion(b->recv_cq);
	modify_qp(b, &to_a, IBV_QPS_RESET, 0);
	show_state(b, "b");
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq_a = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_cq *cq_b = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp *a, *b;
	struct end end_a, end_b;

	check(pd && cq_a && cq_b, "ibv_alloc_pd or ibv_create_cq");
	a = create_qp(pd, cq_a);
	b = create_qp(pd, cq_b);
	end_a = describe(a);
	end_b = describe(b);
	live(a, b, attributes(context, &end_a, &end_b), attributes(context, &end_b, &end_a));
	stay(argc, argv);

	check(!ibv_destroy_qp(a) && !ibv_destroy_qp(b), "ibv_destroy_qp");
	check(!ibv_destroy_cq(cq_a) && !ibv_destroy_cq(cq_b), "ibv_destroy_cq");
	check(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	check(!ibv_close_device(context), "ibv_close_device");
	return 0;
}
