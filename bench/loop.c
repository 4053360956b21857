/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "floor.h"

#define INLINE_BYTES 64
#define WAIT_NS	     20000000000u
#define POLL_BATCH   32

struct ibv_context *loop_open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	if (!list || !list[0])
		floor_die("no device: is this under `adverb run`?");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!context)
		floor_die("ibv_open_device");
	return context;
}

static void make_memory(struct loop *l)
{
	if (ibv_query_gid(l->context, 1, 0, &l->gid))
		floor_die("ibv_query_gid");
	l->pd = ibv_alloc_pd(l->context);
	l->buffer = calloc(1, l->length);
	if (!l->pd || !l->buffer)
		floor_die("ibv_alloc_pd");
	l->mr = ibv_reg_mr(l->pd, l->buffer, l->length,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!l->mr)
		floor_die("ibv_reg_mr");
}

static struct ibv_qp *create_qp(struct loop *l)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = l->send_cq,
		.recv_cq = l->recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = l->depth,
			.max_recv_wr = l->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = INLINE_BYTES},
	};
	struct ibv_qp *qp = ibv_create_qp(l->pd, &attr);

	if (!qp)
		floor_die("ibv_create_qp");
	return qp;
}

static void to_rtr(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 64}},
	};

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		floor_die("ibv_modify_qp to RTR");
}

void loop_connect(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, enum ibv_mtu mtu)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .timeout = 17,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1};

	if (ibv_modify_qp(qp, &init,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		floor_die("ibv_modify_qp to INIT");
	to_rtr(qp, peer, gid, mtu);
	if (ibv_modify_qp(qp, &rts,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		floor_die("ibv_modify_qp to RTS");
}

void loop_open(struct loop *l, struct ibv_context *context, unsigned pairs, unsigned depth,
	       size_t length, enum ibv_mtu mtu)
{
	*l = (struct loop){.pairs = pairs,
			   .depth = depth,
			   .length = length,
			   .own_context = !context,
			   .context = context ? context : loop_open_device()};
	make_memory(l);
	l->send_cq = ibv_create_cq(l->context, (int)depth + 1, NULL, NULL, 0);
	l->recv_cq = ibv_create_cq(l->context, (int)depth + 1, NULL, NULL, 0);
	l->qp = calloc(2ul * pairs, sizeof(struct ibv_qp *));
	if (!l->send_cq || !l->recv_cq || !l->qp)
		floor_die("ibv_create_cq");
	for (unsigned i = 0; i < 2 * pairs; i++)
		l->qp[i] = create_qp(l);
	for (unsigned i = 0; i < 2 * pairs; i++)
		loop_connect(l->qp[i], l->qp[i ^ 1]->qp_num, &l->gid, mtu);
}

void loop_close(struct loop *l)
{
	for (unsigned i = 0; i < 2 * l->pairs; i++)
		ibv_destroy_qp(l->qp[i]);
	ibv_destroy_cq(l->send_cq);
	ibv_destroy_cq(l->recv_cq);
	ibv_dereg_mr(l->mr);
	ibv_dealloc_pd(l->pd);
	if (l->own_context)
		ibv_close_device(l->context);
	free(l->buffer);
	free(l->qp);
}

void loop_post(struct loop *l, unsigned i, enum ibv_wr_opcode opcode, uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)l->buffer, bytes, l->mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | (bytes <= INLINE_BYTES ? IBV_SEND_INLINE : 0),
		.wr.rdma = {(uintptr_t)l->buffer + l->length / 2, l->mr->rkey},
	};

	if (ibv_post_send(l->qp[i], &wr, &bad))
		floor_die("ibv_post_send");
}

void loop_post_recv(struct loop *l, unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)l->buffer + l->length / 2, (uint32_t)(l->length / 2),
			      l->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(l->qp[i], &wr, &bad))
		floor_die("ibv_post_recv");
}

int loop_poll(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[POLL_BATCH];
	int got = ibv_poll_cq(cq, MIN(n, POLL_BATCH), wc);

	if (got < 0)
		floor_die("ibv_poll_cq");
	for (int i = 0; i < got; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc[i].status));
			exit(1);
		}
	}
	return got;
}

void loop_await(struct ibv_cq *cq, unsigned count)
{
	uint64_t end = floor_now() + WAIT_NS;

	while (count) {
		count -= (unsigned)loop_poll(cq, (int)count);
		if (floor_now() > end) {
			fprintf(stderr, "%u completions have not come\n", count);
			exit(1);
		}
	}
}
