/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests XRC: domains by descriptor, SRQs in them, QPs of one direction, QPs that are opened twice.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Makes a receiving side: an XRC_RECV QP, and an XRC SRQ with recv_cq. */
struct xrc {
	struct side a, b;
	struct ibv_xrcd *xrcd;
	uint32_t srqn;
};

/* Pointer by which the leak checker finds the open domain. */
static struct ibv_xrcd *volatile left_open;

static int open_file(void)
{
	char name[] = "/tmp/adverb-xrc-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(unlink(name), 0);
	return fd;
}

static struct ibv_xrcd *open_domain(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = fd,
					  .oflags = oflags};

	errno = 0;
	return ibv_open_xrcd(ctx, &attr);
}

static struct ibv_srq *create_srq(const struct side *s, struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = 16, .max_sge = 2},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.xrcd = xrcd,
		.cq = s->recv_cq,
	};

	return ibv_create_srq_ex(s->ctx, &attr);
}

static struct ibv_qp *create_recv_qp(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	return ibv_create_qp_ex(xrcd->context, &attr);
}

static struct ibv_qp *create_send_qp(const struct side *s, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = s->send_cq,
		.cap = {.max_send_wr = 64, .max_send_sge = 2, .max_inline_data = 64},
		.comp_mask = IBV_QP_INIT_ATTR_PD | (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = s->pd,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(s->ctx, &attr);
}

/* Connects a QP like perftest: both types with all attributes of RC. */
static void connect_qp(struct side *s, const struct side *peer, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {.port_num = 1,
				   .qp_access_flags = ALL_ACCESS,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp->qp_num,
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 1,
				   .ah_attr = av_to(s, peer),
				   .timeout = 14,
				   .retry_cnt = 3,
				   .rnr_retry = rnr_retry,
				   .max_rd_atomic = 4};

	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(
		ibv_modify_qp(s->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(s->qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(s->qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void xrc_open(struct xrc *x, uint64_t ops, uint8_t rnr_retry)
{
	side_open(&x->a, &(struct options){0});
	side_open(&x->b, &(struct options){0});
	assert_int_equal(ibv_destroy_qp(x->a.qp), 0);
	assert_int_equal(ibv_destroy_qp(x->b.qp), 0);
	x->xrcd = open_domain(x->b.ctx, -1, O_CREAT);
	assert_non_null(x->xrcd);
	x->b.srq = create_srq(&x->b, x->xrcd);
	assert_non_null(x->b.srq);
	assert_int_equal(ibv_get_srq_num(x->b.srq, &x->srqn), 0);
	x->a.qp = create_send_qp(&x->a, ops);
	x->b.qp = create_recv_qp(x->xrcd);
	assert_non_null(x->a.qp);
	assert_non_null(x->b.qp);
	connect_qp(&x->a, &x->b, rnr_retry);
	connect_qp(&x->b, &x->a, rnr_retry);
}

static void xrc_close(struct xrc *x)
{
	assert_int_equal(ibv_destroy_srq(x->b.srq), 0);
	x->b.srq = NULL;
	assert_int_equal(ibv_destroy_qp(x->b.qp), 0);
	x->b.qp = NULL;
	assert_int_equal(ibv_close_xrcd(x->xrcd), 0);
	side_close(&x->a);
	side_close(&x->b);
}

static int send_to(struct xrc *x, uint64_t wr_id, uint32_t srqn, size_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_of(&x->a, offset, length);
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	wr.qp_type.xrc.remote_srqn = srqn;
	return ibv_post_send(x->a.qp, &wr, &bad);
}

#define FAILS_WITH(call, err)                                                                      \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, err);                                                      \
	} while (0)

static void device_says_so(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_XRC);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_true(ex.device_cap_flags_ex & IBV_DEVICE_XRC);
	assert_true(ex.xrc_odp_caps & IBV_ODP_SUPPORT_SRQ_RECV);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void domains_by_descriptor(void **state)
{
	struct ibv_context *ctx = open_device(), *other = open_device();
	int fd = open_file(), again = dup(fd), second = open_file();
	struct ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = fd};
	struct ibv_xrcd *a, *b, *c, *d;

	FAILS_WITH(ibv_open_xrcd(ctx, &attr), EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_RESERVED << 1;
	FAILS_WITH(ibv_open_xrcd(ctx, &attr), EOPNOTSUPP);
	FAILS_WITH(open_domain(ctx, 12345, O_CREAT), EBADF);
	FAILS_WITH(open_domain(ctx, fd, 0), EAGAIN);
	a = open_domain(ctx, fd, O_CREAT | O_EXCL);
	assert_non_null(a);
	assert_ptr_equal(a->context, ctx);
	FAILS_WITH(open_domain(ctx, again, O_CREAT | O_EXCL), EINVAL);
	b = open_domain(ctx, again, 0);
	c = open_domain(ctx, fd, O_CREAT);
	assert_true(b && c);
	/* Another inode, no file, and another device each give another domain. */
	FAILS_WITH(open_domain(ctx, second, 0), EAGAIN);
	FAILS_WITH(open_domain(other, fd, 0), EAGAIN);
	d = open_domain(other, fd, O_CREAT | O_EXCL);
	assert_non_null(d);
	assert_int_equal(ibv_close_xrcd(d), 0);
	d = open_domain(ctx, -1, O_CREAT);
	assert_non_null(d);
	assert_int_equal(ibv_close_xrcd(d), 0);
	/* The domain exists until the last handle is closed. */
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	a = open_domain(ctx, fd, 0);
	assert_non_null(a);
	assert_int_equal(ibv_close_xrcd(c), 0);
	assert_int_equal(ibv_close_xrcd(a), 0);
	FAILS_WITH(open_domain(ctx, fd, 0), EAGAIN);
	/* Open domains end with the device. */
	left_open = open_domain(other, fd, O_CREAT);
	assert_non_null(left_open);
	assert_int_equal(ibv_close_device(ctx), 0);
	assert_int_equal(ibv_close_device(other), 0);
	close(fd);
	close(again);
	close(second);
}

static void srqs_need_all_of_it(void **state)
{
	struct side s, other;
	struct ibv_srq_init_attr_ex attr = {.attr = {.max_wr = 16, .max_sge = 2},
					    .srq_type = IBV_SRQT_XRC};
	const uint32_t all = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	struct ibv_xrcd *xrcd, *elsewhere;
	struct ibv_srq *srq, *second;
	uint32_t n1, n2;

	side_open(&s, &(struct options){.srq = true});
	side_open(&other, &(struct options){0});
	xrcd = open_domain(s.ctx, -1, O_CREAT);
	elsewhere = open_domain(other.ctx, -1, O_CREAT);
	attr.pd = s.pd;
	attr.xrcd = xrcd;
	attr.cq = s.recv_cq;
	for (uint32_t bit = IBV_SRQ_INIT_ATTR_PD; bit <= IBV_SRQ_INIT_ATTR_CQ; bit <<= 1) {
		attr.comp_mask = all & ~bit;
		FAILS_WITH(ibv_create_srq_ex(s.ctx, &attr), EINVAL);
	}
	attr.comp_mask = all;
	attr.xrcd = elsewhere;
	FAILS_WITH(ibv_create_srq_ex(s.ctx, &attr), EINVAL);
	attr.xrcd = xrcd;
	attr.cq = other.recv_cq;
	FAILS_WITH(ibv_create_srq_ex(s.ctx, &attr), EINVAL);
	attr.cq = s.recv_cq;
	attr.srq_type = IBV_SRQT_TM;
	FAILS_WITH(ibv_create_srq_ex(s.ctx, &attr), EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_XRC;
	srq = ibv_create_srq_ex(s.ctx, &attr);
	second = create_srq(&s, xrcd);
	assert_true(srq && second && attr.attr.max_wr >= 16);
	assert_int_equal(ibv_get_srq_num(srq, &n1), 0);
	assert_int_equal(ibv_get_srq_num(second, &n2), 0);
	assert_true(n1 && n2 && n1 != n2 && n1 < 1 << 24 && n2 < 1 << 24);
	assert_int_equal(ibv_get_srq_num(s.srq, &n1), EOPNOTSUPP);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_qp(s.qp), 0);
	s.qp = NULL;
	assert_int_equal(ibv_destroy_cq(s.recv_cq), EBUSY);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_srq(second), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_close_xrcd(elsewhere), 0);
	side_close(&s);
	side_close(&other);
}

static void qps_of_one_direction(void **state)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv;
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp_attr;
	struct xrc x;

	xrc_open(&x, 0, 0);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = x.b.pd;
	FAILS_WITH(ibv_create_qp_ex(x.b.ctx, &attr), EINVAL);
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = x.xrcd;
	FAILS_WITH(ibv_create_qp_ex(x.a.ctx, &attr), EINVAL);
	assert_int_equal(ibv_post_recv(x.a.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(x.b.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(x.b.qp, &send, &bad_send), EINVAL);
	assert_int_equal(ibv_query_qp(x.b.qp, &qp_attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(qp_attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_null(init.recv_cq);
	assert_int_equal(ibv_query_qp(x.a.qp, &qp_attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_SEND);
	assert_ptr_equal(init.send_cq, x.a.send_cq);
	assert_int_equal(ibv_close_xrcd(x.xrcd), EBUSY);
	xrc_close(&x);
}

static void messages(void **state)
{
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, 0, 7);
	for (unsigned i = 0; i < BUF_SIZE; i++)
		x.a.buf[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(post_recv(&x.b, 100 + i, 0, 8192), 0);
		assert_int_equal(send_to(&x, i, x.srqn, 1000 * i, 5000), 0);
		expect_wc(x.a.send_cq, i, IBV_WC_SUCCESS);
		wc = expect_wc(x.b.recv_cq, 100 + i, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.qp_num, x.b.qp->qp_num);
		assert_int_equal(wc.src_qp, x.a.qp->qp_num);
		assert_int_equal(wc.byte_len, 5000);
		assert_memory_equal(x.b.buf, x.a.buf + 1000 * i, 5000);
	}
	/* No receive is posted: the request waits. */
	assert_int_equal(send_to(&x, 20, x.srqn, 0, 1), 0);
	expect_none(x.a.send_cq);
	assert_int_equal(post_recv(&x.b, 120, 0, 8192), 0);
	expect_wc(x.a.send_cq, 20, IBV_WC_SUCCESS);
	expect_wc(x.b.recv_cq, 120, IBV_WC_SUCCESS);
	xrc_close(&x);
}

static void messages_by_ibv_wr(void **state)
{
	const uint64_t ops = IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
			     IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, ops, 0);
	qp = ibv_qp_to_qp_ex(x.a.qp);
	assert_non_null(qp);
	memset(x.a.buf, 1, 4096);
	memset(x.b.buf + 8192, 2, 4096);
	assert_int_equal(post_recv(&x.b, 100, 0, 4096), 0);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(qp, 0x1234);
	ibv_wr_set_xrc_srqn(qp, x.srqn);
	ibv_wr_set_sge(qp, x.a.mr->lkey, (uintptr_t)x.a.buf, 3000);
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, x.b.mr->rkey, (uintptr_t)x.b.buf + 4096);
	ibv_wr_set_xrc_srqn(qp, x.srqn);
	ibv_wr_set_sge(qp, x.a.mr->lkey, (uintptr_t)x.a.buf, 3000);
	qp->wr_id = 3;
	ibv_wr_rdma_read(qp, x.b.mr->rkey, (uintptr_t)x.b.buf + 8192);
	ibv_wr_set_xrc_srqn(qp, x.srqn);
	ibv_wr_set_sge(qp, x.a.mr->lkey, (uintptr_t)x.a.buf + 8192, 3000);
	qp->wr_id = 4;
	ibv_wr_atomic_fetch_add(qp, x.b.mr->rkey, (uintptr_t)x.b.buf + 16384, 5);
	ibv_wr_set_xrc_srqn(qp, x.srqn);
	ibv_wr_set_sge(qp, x.a.mr->lkey, (uintptr_t)x.a.buf + 16384, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	for (uint64_t i = 1; i <= 4; i++)
		expect_wc(x.a.send_cq, i, IBV_WC_SUCCESS);
	wc = expect_wc(x.b.recv_cq, 100, IBV_WC_SUCCESS);
	assert_int_equal(wc.imm_data, 0x1234);
	assert_memory_equal(x.b.buf, x.a.buf, 3000);
	assert_memory_equal(x.b.buf + 4096, x.a.buf, 3000);
	assert_memory_equal(x.a.buf + 8192, x.b.buf + 8192, 3000);
	assert_int_equal(x.b.buf[16384], 5);
	xrc_close(&x);
}

/* Tests a number that no SRQ has, and the number of another device's SRQ: the request is refused,
 * and the QP's owner gets an event. */
static void wrong_numbers(void **state)
{
	for (int kind = 0; kind < 2; kind++) {
		struct ibv_async_event event;
		struct ibv_xrcd *xrcd;
		struct ibv_srq *srq;
		struct side other;
		uint32_t number = 0;
		struct xrc x;

		side_open(&other, &(struct options){0});
		xrcd = open_domain(other.ctx, -1, O_CREAT);
		srq = create_srq(&other, xrcd);
		if (kind)
			assert_int_equal(ibv_get_srq_num(srq, &number), 0);
		xrc_open(&x, 0, 0);
		assert_int_equal(post_recv(&x.b, 100, 0, 4096), 0);
		assert_int_equal(send_to(&x, 1, number, 0, 100), 0);
		expect_wc(x.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
		do {
			event = wait_async(x.b.ctx);
			ibv_ack_async_event(&event);
		} while (event.event_type == IBV_EVENT_COMM_EST);
		assert_int_equal(event.event_type, IBV_EVENT_QP_REQ_ERR);
		assert_ptr_equal(event.element.qp, x.b.qp);
		event = wait_async(x.b.ctx);
		ibv_ack_async_event(&event);
		assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		expect_none(x.b.recv_cq);
		xrc_close(&x);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ibv_close_xrcd(xrcd), 0);
		side_close(&other);
	}
}

static void limit(void **state)
{
	struct ibv_srq_attr attr = {.srq_limit = 1};
	struct ibv_async_event event;
	struct xrc x;

	xrc_open(&x, 0, 0);
	assert_int_equal(post_recv(&x.b, 100, 0, 4096), 0);
	assert_int_equal(ibv_modify_srq(x.b.srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(send_to(&x, 1, x.srqn, 0, 100), 0);
	expect_wc(x.b.recv_cq, 100, IBV_WC_SUCCESS);
	event = wait_async(x.b.ctx);
	ibv_ack_async_event(&event);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, x.b.srq);
	xrc_close(&x);
}

static struct ibv_qp *open_qp(struct ibv_context *ctx, struct ibv_xrcd *xrcd, uint32_t number)
{
	struct ibv_qp_open_attr attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE |
						     IBV_QP_OPEN_ATTR_CONTEXT,
					.qp_num = number,
					.xrcd = xrcd,
					.qp_context = xrcd,
					.qp_type = IBV_QPT_XRC_RECV};

	return ibv_open_qp(ctx, &attr);
}

static void opening_a_qp_again(void **state)
{
	int fd = open_file(), seen[3] = {0};
	struct ibv_qp *first, *second, *third;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_open_attr open_attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM};
	struct ibv_xrcd *a, *b, *elsewhere;
	struct ibv_async_event event;
	struct ibv_context *other = open_device();
	struct side s;

	side_open(&s, &(struct options){0});
	a = open_domain(s.ctx, fd, O_CREAT);
	b = open_domain(s.ctx, fd, 0);
	elsewhere = open_domain(other, fd, O_CREAT);
	first = create_recv_qp(a);
	assert_non_null(first);
	open_attr.qp_num = first->qp_num;
	FAILS_WITH(ibv_open_qp(s.ctx, &open_attr), EINVAL);
	open_attr.comp_mask = IBV_QP_OPEN_ATTR_RESERVED;
	FAILS_WITH(ibv_open_qp(s.ctx, &open_attr), EOPNOTSUPP);
	FAILS_WITH(open_qp(s.ctx, b, s.qp->qp_num), EINVAL);
	FAILS_WITH(open_qp(s.ctx, b, first->qp_num ^ 0x400), EINVAL);
	/* The file is the same, but the QP belongs to another device. */
	FAILS_WITH(open_qp(other, elsewhere, first->qp_num), EOPNOTSUPP);
	second = open_qp(s.ctx, b, first->qp_num);
	third = open_qp(s.ctx, b, first->qp_num);
	assert_true(second && third);
	assert_int_equal(second->qp_num, first->qp_num);
	assert_ptr_equal(second->qp_context, b);
	assert_int_equal(second->qp_type, IBV_QPT_XRC_RECV);
	/* Each handle gets the QP's events, and each can modify it. */
	assert_int_equal(ibv_modify_qp(second, &attr, IBV_QP_STATE), 0);
	for (int i = 0; i < 3; i++) {
		event = wait_async(s.ctx);
		ibv_ack_async_event(&event);
		assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		seen[0] += event.element.qp == first;
		seen[1] += event.element.qp == second;
		seen[2] += event.element.qp == third;
	}
	assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
	/* The QP exists until the last handle is closed. */
	assert_int_equal(ibv_destroy_qp(first), 0);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_close_xrcd(b), EBUSY);
	assert_int_equal(ibv_destroy_qp(third), 0);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(second, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_destroy_qp(second), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	assert_int_equal(ibv_close_xrcd(elsewhere), 0);
	assert_int_equal(ibv_close_device(other), 0);
	side_close(&s);
	close(fd);
}

/* Tests that a child may destroy inherited objects, and that the parent's objects continue to work.
 */
static void fork_and_close(void **state)
{
	struct xrc x;
	int status;
	pid_t pid;

	xrc_open(&x, 0, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		bool bad = open_domain(x.b.ctx, -1, O_CREAT) || create_recv_qp(x.xrcd) ||
			   ibv_destroy_srq(x.b.srq) || ibv_destroy_qp(x.b.qp) ||
			   ibv_close_xrcd(x.xrcd);

		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(post_recv(&x.b, 100, 0, 4096), 0);
	assert_int_equal(send_to(&x, 1, x.srqn, 0, 100), 0);
	expect_wc(x.b.recv_cq, 100, IBV_WC_SUCCESS);
	expect_wc(x.a.send_cq, 1, IBV_WC_SUCCESS);
	xrc_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_says_so),
		cmocka_unit_test(domains_by_descriptor),
		cmocka_unit_test(srqs_need_all_of_it),
		cmocka_unit_test(qps_of_one_direction),
		cmocka_unit_test(messages),
		cmocka_unit_test(messages_by_ibv_wr),
		cmocka_unit_test(wrong_numbers),
		cmocka_unit_test(limit),
		cmocka_unit_test(opening_a_qp_again),
		cmocka_unit_test(fork_and_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
