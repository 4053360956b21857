/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"

/* 4.096 us * 2^17 = 0.5 s. Under a sanitizer a report, even a suppressed one, stops a thread for a
 * second. */
#define PATIENT_TIMEOUT 17

struct ibv_context *open_device(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *ctx;

	assert_non_null(list);
	assert_int_equal(n, 1);
	ctx = ibv_open_device(list[0]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	return ctx;
}

/* Returns the loopback address of the family. */
static void find_gid(struct side *s, bool ipv6)
{
	static const union ibv_gid v4 = {
		.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
	static const union ibv_gid v6 = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(s->ctx, 1, &port), 0);
	for (s->gid_index = 0; s->gid_index < port.gid_tbl_len; s->gid_index++) {
		assert_int_equal(ibv_query_gid(s->ctx, 1, s->gid_index, &s->gid), 0);
		if (memcmp(&s->gid, ipv6 ? &v6 : &v4, 16) == 0)
			return;
	}
	fail_msg("no GID of the loopback interface");
}

static void create_qp(struct side *s, const struct options *o)
{
	s->init = (struct ibv_qp_init_attr){
		.qp_context = s,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.srq = s->srq,
		.cap = o->cap,
		.qp_type = o->type ? o->type : IBV_QPT_RC,
		.sq_sig_all = o->sq_sig_all,
	};
	if (!o->cap.max_send_wr)
		s->init.cap = (struct ibv_qp_cap){64, 64, 4, 4, 64};
	if (o->send_ops) {
		struct ibv_qp_init_attr_ex ex = {
			.qp_context = s,
			.send_cq = s->send_cq,
			.recv_cq = s->recv_cq,
			.srq = s->srq,
			.cap = s->init.cap,
			.qp_type = s->init.qp_type,
			.sq_sig_all = o->sq_sig_all,
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.pd = s->pd,
			.send_ops_flags = o->send_ops,
		};

		s->qp = ibv_create_qp_ex(s->ctx, &ex);
		s->init.cap = ex.cap;
	} else {
		s->qp = ibv_create_qp(s->pd, &s->init);
	}
	assert_non_null(s->qp);
}

void side_open(struct side *s, const struct options *o)
{
	memset(s, 0, sizeof(*s));
	s->ctx = open_device();
	find_gid(s, o->ipv6);
	s->pd = ibv_alloc_pd(s->ctx);
	assert_non_null(s->pd);
	s->channel = ibv_create_comp_channel(s->ctx);
	assert_non_null(s->channel);
	s->send_cq = ibv_create_cq(s->ctx, 256, s, s->channel, 0);
	s->recv_cq = ibv_create_cq(s->ctx, 256, s, s->channel, 0);
	assert_non_null(s->send_cq);
	assert_non_null(s->recv_cq);
	assert_int_equal(posix_memalign((void **)&s->buf, 4096, BUF_SIZE), 0);
	memset(s->buf, 0, BUF_SIZE);
	s->mr = ibv_reg_mr(s->pd, s->buf, BUF_SIZE, ALL_ACCESS);
	assert_non_null(s->mr);
	if (o->srq) {
		struct ibv_srq_init_attr attr = {.attr = {.max_wr = 64, .max_sge = 4}};

		s->srq = ibv_create_srq(s->pd, &attr);
		assert_non_null(s->srq);
	}
	create_qp(s, o);
}

void side_close(struct side *s)
{
	if (s->qp)
		assert_int_equal(ibv_destroy_qp(s->qp), 0);
	if (s->srq)
		assert_int_equal(ibv_destroy_srq(s->srq), 0);
	if (s->mr)
		assert_int_equal(ibv_dereg_mr(s->mr), 0);
	assert_int_equal(ibv_destroy_cq(s->send_cq), 0);
	assert_int_equal(ibv_destroy_cq(s->recv_cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(s->channel), 0);
	assert_int_equal(ibv_dealloc_pd(s->pd), 0);
	assert_int_equal(ibv_close_device(s->ctx), 0);
	free(s->buf);
}

int to_init(struct side *s, const struct options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = (unsigned)(o->qp_access ? o->qp_access : ALL_ACCESS),
	};
	int last = s->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
}

struct ibv_ah_attr av_to(const struct side *s, const struct side *peer)
{
	return (struct ibv_ah_attr){
		.grh = {.dgid = peer->gid, .sgid_index = (uint8_t)s->gid_index, .hop_limit = 64},
		.is_global = 1,
		.port_num = 1,
	};
}

int to_rtr(struct side *s, const struct side *peer, const struct options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 0xfffff0,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = o->min_rnr_timer ? o->min_rnr_timer : 1,
		.ah_attr = av_to(s, peer),
	};
	int mask = IBV_QP_STATE;

	if (s->qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (s->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(s->qp, &attr, mask);
}

int to_rts(struct side *s, const struct options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = o->timeout ? o->timeout : PATIENT_TIMEOUT,
		.retry_cnt = o->retry_cnt ? o->retry_cnt : 3,
		.rnr_retry = o->rnr_retry,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (s->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(s->qp, &attr, mask);
}

int to_state(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state state_of(struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(s->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, s->qp->state);
	return attr.qp_state;
}

void pair_open(struct pair *p, const struct options *o)
{
	struct options of_a = *o;

	of_a.srq = false;
	side_open(&p->a, &of_a);
	side_open(&p->b, o);
	if (o->unconnected)
		return;
	assert_int_equal(to_init(&p->a, o), 0);
	assert_int_equal(to_init(&p->b, o), 0);
	assert_int_equal(to_rtr(&p->a, &p->b, o), 0);
	assert_int_equal(to_rtr(&p->b, &p->a, o), 0);
	assert_int_equal(to_rts(&p->a, o), 0);
	assert_int_equal(to_rts(&p->b, o), 0);
}

void pair_close(struct pair *p)
{
	side_close(&p->a);
	side_close(&p->b);
}

struct ibv_sge sge_of(const struct side *s, size_t offset, uint32_t length)
{
	return (struct ibv_sge){(uintptr_t)s->buf + offset, length, s->mr->lkey};
}

int post_recv(struct side *s, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_of(s, offset, length);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int err = s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad);

	if (err)
		assert_ptr_equal(bad, &wr);
	return err;
}

static int post_one(struct side *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(s->qp, wr, &bad);

	if (err)
		assert_ptr_equal(bad, wr);
	return err;
}

int post_send(struct side *s, uint64_t wr_id, size_t offset, uint32_t length, unsigned flags)
{
	struct ibv_sge sge = sge_of(s, offset, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	return post_one(s, &wr);
}

int post_rdma(struct side *s, const struct side *peer, enum ibv_wr_opcode opcode, uint64_t wr_id,
	      size_t offset, uint32_t length, size_t remote_offset, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(s, offset, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->buf + remote_offset;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 9;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buf + remote_offset;
		wr.wr.rdma.rkey = rkey;
	}
	return post_one(s, &wr);
}

double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, double seconds)
{
	double end = now_seconds() + seconds;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		assert_true(n >= 0);
	} while (n == 0 && now_seconds() < end);
	return n == 1;
}

struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!wait_wc(cq, &wc, PATIENCE))
		fail_msg("no completion of request %lu", (unsigned long)wr_id);
	if (wc.status != status)
		fail_msg("request %lu: '%s' (vendor_err %u), expected '%s'",
			 (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status), wc.vendor_err,
			 ibv_wc_status_str(status));
	assert_int_equal(wc.wr_id, wr_id);
	return wc;
}

enum ibv_wc_status access_remote(struct pair *p, enum ibv_wr_opcode opcode, uint64_t va,
				 uint32_t rkey, uint32_t length)
{
	struct ibv_sge sge = sge_of(&p->a, 0, length);
	struct ibv_send_wr wr = {
		.wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = va, .rkey = rkey},
	};
	struct ibv_wc wc;

	assert_int_equal(post_one(&p->a, &wr), 0);
	assert_true(wait_wc(p->a.send_cq, &wc, PATIENCE));
	return wc.status;
}

void expect_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (wait_wc(cq, &wc, 0.05))
		fail_msg("unexpected completion of request %lu: %s", (unsigned long)wc.wr_id,
			 ibv_wc_status_str(wc.status));
}

bool readable(int fd, int milliseconds)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, milliseconds) == 1;
}

struct ibv_async_event wait_async(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	assert_true(readable(ctx->async_fd, PATIENCE_MS));
	assert_int_equal(ibv_get_async_event(ctx, &event), 0);
	return event;
}
