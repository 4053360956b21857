/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "the program cannot go on: %s\n", what);
	exit(2);
}

/* Finds the GID of 127.0.0.1. */
static void find_gid(struct end *e)
{
	static const union ibv_gid loopback = {
		.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
	struct ibv_port_attr port;

	must(ibv_query_port(e->context, 1, &port) == 0, "ibv_query_port");
	for (e->gid_index = 0; e->gid_index < port.gid_tbl_len; e->gid_index++) {
		must(ibv_query_gid(e->context, 1, e->gid_index, &e->gid) == 0, "ibv_query_gid");
		if (memcmp(&e->gid, &loopback, sizeof(loopback)) == 0)
			return;
	}
	must(false, "no GID of 127.0.0.1");
}

void end_open(struct end *e, const struct wish *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint32_t wrs = w->wrs ? w->wrs : 16;
	struct ibv_qp_init_attr init = {
		.cap = {wrs, wrs, 4, 4, 64},
		.qp_type = w->type ? w->type : IBV_QPT_RC,
	};

	memset(e, 0, sizeof(*e));
	must(list && list[0], "ibv_get_device_list");
	e->context = ibv_open_device(list[0]);
	must(e->context, "ibv_open_device");
	ibv_free_device_list(list);
	find_gid(e);
	e->pd = ibv_alloc_pd(e->context);
	must(e->pd, "ibv_alloc_pd");
	if (w->channel) {
		e->channel = ibv_create_comp_channel(e->context);
		must(e->channel, "ibv_create_comp_channel");
	}
	e->cq = ibv_create_cq(e->context, w->cqe ? w->cqe : 64, e, e->channel, 0);
	must(e->cq, "ibv_create_cq");
	must(posix_memalign((void **)&e->buf, 4096, BUFFER_SIZE) == 0, "posix_memalign");
	memset(e->buf, 0, BUFFER_SIZE);
	e->mr = ibv_reg_mr(e->pd, e->buf, BUFFER_SIZE, ALL_ACCESS);
	must(e->mr, "ibv_reg_mr");
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	must(e->qp, "ibv_create_qp");
}

void end_close(struct end *e)
{
	if (e->qp)
		must(ibv_destroy_qp(e->qp) == 0, "ibv_destroy_qp");
	if (e->mr)
		must(ibv_dereg_mr(e->mr) == 0, "ibv_dereg_mr");
	if (e->cq)
		must(ibv_destroy_cq(e->cq) == 0, "ibv_destroy_cq");
	if (e->channel)
		must(ibv_destroy_comp_channel(e->channel) == 0, "ibv_destroy_comp_channel");
	if (e->pd)
		must(ibv_dealloc_pd(e->pd) == 0, "ibv_dealloc_pd");
	must(ibv_close_device(e->context) == 0, "ibv_close_device");
	free(e->buf);
}

static void to_init(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = 0x11111111,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int last = e->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	must(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last) ==
		     0,
	     "ibv_modify_qp to INIT");
}

static void to_rtr(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer->qp->qp_num ^ 0x5a5a5a,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.grh = {.dgid = peer->gid,
				    .sgid_index = (uint8_t)e->gid_index,
				    .hop_limit = 64},
			    .is_global = 1,
			    .port_num = 1},
	};
	int mask = IBV_QP_STATE;

	if (e->qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (e->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	must(ibv_modify_qp(e->qp, &attr, mask) == 0, "ibv_modify_qp to RTR");
}

static void to_rts(struct end *e, const struct wish *w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = e->qp->qp_num ^ 0x5a5a5a,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = w->rnr_retry ? w->rnr_retry : 7,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (e->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	must(ibv_modify_qp(e->qp, &attr, mask) == 0, "ibv_modify_qp to RTS");
}

void end_connect(struct end *e, const struct end *peer, const struct wish *w)
{
	to_init(e);
	to_rtr(e, peer);
	to_rts(e, w);
}

void pair_open(struct pair *p, const struct wish *w)
{
	end_open(&p->a, w);
	end_open(&p->b, w);
	if (w->unconnected)
		return;
	end_connect(&p->a, &p->b, w);
	end_connect(&p->b, &p->a, w);
}

void pair_close(struct pair *p)
{
	end_close(&p->a);
	end_close(&p->b);
}

struct ibv_sge sge_at(const struct end *e, size_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)e->buf + offset, .length = length, .lkey = e->mr->lkey};
}

void send_from(struct end *e, uint64_t wr_id, size_t offset, uint32_t length, unsigned flags)
{
	struct ibv_sge sge = sge_at(e, offset, length);
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = flags};
	struct ibv_send_wr *bad;

	must(ibv_post_send(e->qp, &wr, &bad) == 0, "ibv_post_send of a SEND");
}

void recv_into(struct end *e, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_at(e, offset, length);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(e->qp, &wr, &bad) == 0, "ibv_post_recv");
}

void rdma(struct end *e, const struct end *peer, enum ibv_wr_opcode opcode, uint64_t wr_id,
	  size_t offset, uint32_t length, size_t remote_offset)
{
	struct ibv_sge sge = sge_at(e, offset, length);
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED};
	uint64_t remote = (uintptr_t)peer->buf + remote_offset;
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = peer->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	must(ibv_post_send(e->qp, &wr, &bad) == 0, "ibv_post_send of an RDMA request");
}

struct ibv_wc next_wc(struct ibv_cq *cq)
{
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		must(time(NULL) < end, "no completion comes");
	must(n == 1, "ibv_poll_cq");
	return wc;
}

struct ibv_wc good_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc = next_wc(cq);

	must(wc.status == IBV_WC_SUCCESS, "a completion has an error");
	return wc;
}
