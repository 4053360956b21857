/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends as a newcomer does, with four mistakes. Without the checks it ends successfully. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#ifndef MENDED
#define MENDED 0
#endif

static char memory[2][4096]; /* of a, then of b */
static struct ibv_mr *mr;
static struct ibv_cq *cq;

static void connect_qp(struct ibv_qp *qp, struct ibv_qp *peer, union ibv_gid gid,
		       const uint32_t psn[2])
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.sq_psn = psn[0],
		.rq_psn = psn[1],
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 64}}};

	ibv_modify_qp(qp, &attr,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(qp, &attr,
		      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(qp, &attr,
		      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void post(struct ibv_qp *qp, int side, int sends)
{
	struct ibv_sge sge = {(uintptr_t)memory[side] + (sends ? 0 : 2048), 64, mr->lkey};
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;

	if (sends)
		ibv_post_send(qp, &send, &bad_send); /* finds send-buffer-changed: request */
	else
		ibv_post_recv(qp, &recv, &bad_recv);
}

static void wait_for(int completions)
{
	struct ibv_wc wc;

	while (completions > 0)
		completions -= ibv_poll_cq(cq, 1, &wc);
}

int main(void)
{
	struct ibv_context *context = ibv_open_device(ibv_get_device_list(NULL)[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
	struct ibv_qp_attr smaller = {.path_mtu = IBV_MTU_512};
	const int mtu = IBV_QP_PATH_MTU;
	struct ibv_qp *a, *b;
	union ibv_gid gid;
	uint32_t psn[3];

	ibv_query_gid(context, 1, 0, &gid);
	getrandom(psn, sizeof(psn), 0);
	psn[2] = psn[0];
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0); /* finds leak: own */
	printf("own: cq %u\nregion: mr 0x%08x\n", cq->handle, mr->lkey);
	attr.send_cq = attr.recv_cq = cq;
	a = ibv_create_qp(pd, &attr);
	b = ibv_create_qp(pd, &attr);
	connect_qp(a, b, gid, psn);
	connect_qp(b, a, gid, psn + 1);
	if (!MENDED)
		ibv_modify_qp(a, &smaller, mtu); /* finds mask-superfluous: IBV_QP_PATH_MTU */
	for (int i = 0; i < 10; i++) {
		post(b, 1, 0);
		strcpy(memory[0], "ping");
		post(a, 0, 1);
		if (MENDED)
			wait_for(2);
		strcpy(memory[0], "not yet sent");
		if (!MENDED)
			wait_for(2);
	}
	post(b, 1, 0);
	if (MENDED)
		ibv_destroy_qp(b);
	ibv_dereg_mr(mr); /* finds dereg-while-posted: region */
	if (!MENDED)
		ibv_destroy_qp(b);
	ibv_destroy_qp(a);
	if (MENDED)
		ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return 0;
}
