/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work that fails: the status at both ends. */
#include "harness.h"

static void receive_too_small(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(post_recv(&p.b, 1, 0, 50), 0);
	assert_int_equal(post_recv(&p.b, 2, 0, 50), 0);
	assert_int_equal(post_send(&p.a, 3, 0, 100, IBV_SEND_SIGNALED), 0);
	expect_wc(p.b.recv_cq, 1, IBV_WC_LOC_LEN_ERR);
	expect_wc(p.b.recv_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p.a.send_cq, 3, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(state_of(&p.a), IBV_QPS_ERR);
	assert_int_equal(state_of(&p.b), IBV_QPS_ERR);
	pair_close(&p);
}

static void bad_lkey_of_a_send(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 1, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(post_recv(&p.b, 9, 0, 64), 0);
	sge = sge_of(&p.a, 0, 8);
	sge.lkey ^= 0x5a5a00;
	wr.sg_list = &sge;
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_none(p.b.recv_cq);
	pair_close(&p);
}

static void bad_lkey_of_a_receive(void **state)
{
	struct ibv_recv_wr wr = {.wr_id = 1, .num_sge = 1}, *bad;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p, &(struct options){0});
	sge = sge_of(&p.b, 0, 64);
	sge.lkey ^= 0x5a5a00;
	wr.sg_list = &sge;
	assert_int_equal(ibv_post_recv(p.b.qp, &wr, &bad), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_wc(p.b.recv_cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p.a.send_cq, 2, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

/* A WRITE, READ or atomic that the responder must refuse. */
static void refused(const struct options *o, enum ibv_wr_opcode opcode, size_t remote_offset,
		    uint32_t rkey_flip, enum ibv_wc_status status)
{
	uint8_t before[64];
	struct pair p;

	pair_open(&p, o);
	memset(p.b.buf, 0x77, 4096);
	memcpy(before, p.b.buf, sizeof(before));
	assert_int_equal(
		post_rdma(&p.a, &p.b, opcode, 1, 0, 8, remote_offset, p.b.mr->rkey ^ rkey_flip), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_wc(p.a.send_cq, 1, status);
	expect_wc(p.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(&p.a), IBV_QPS_ERR);
	expect_none(p.b.recv_cq);
	assert_memory_equal(p.b.buf, before, sizeof(before));
	pair_close(&p);
}

static void bad_rkey(void **state)
{
	const struct options o = {0};

	refused(&o, IBV_WR_RDMA_WRITE, 0, 0x5a5a00, IBV_WC_REM_ACCESS_ERR);
	refused(&o, IBV_WR_RDMA_READ, 0, 0x5a5a00, IBV_WC_REM_ACCESS_ERR);
	refused(&o, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0x5a5a00, IBV_WC_REM_ACCESS_ERR);
}

static void outside_the_region(void **state)
{
	const struct options o = {0};

	refused(&o, IBV_WR_RDMA_WRITE, BUF_SIZE - 4, 0, IBV_WC_REM_ACCESS_ERR);
	refused(&o, IBV_WR_RDMA_READ, BUF_SIZE, 0, IBV_WC_REM_ACCESS_ERR);
}

static void no_permission_on_the_qp(void **state)
{
	const struct options o = {.qp_access = IBV_ACCESS_LOCAL_WRITE};

	/* IBTA 9.7.4.1.5: an RDMA or atomic request that the QP does not allow is invalid; the
	 * kernel's rxe and mlx5 answer "remote access error" to READ and WRITE. */
	struct pair p;
	struct ibv_wc wc;

	pair_open(&p, &o);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 8, 0, p.b.mr->rkey), 0);
	assert_true(wait_wc(p.a.send_cq, &wc, 10));
	assert_true(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(p.b.buf[0], 0);
	pair_close(&p);
}

static void no_permission_on_the_region(void **state)
{
	struct ibv_mr *read_only;
	struct pair p;

	pair_open(&p, &(struct options){0});
	read_only = ibv_reg_mr(p.b.pd, p.b.buf, 4096, IBV_ACCESS_REMOTE_READ);
	assert_non_null(read_only);
	memset(p.b.buf, 0x31, 8);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 1, 64, 8, 0, read_only->rkey), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p.a.buf[64], 0x31);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 2, 0, 8, 0, read_only->rkey), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(p.b.buf[0], 0x31);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	pair_close(&p);
}

static void misaligned_atomic(void **state)
{
	const struct options o = {0};

	refused(&o, IBV_WR_ATOMIC_CMP_AND_SWP, 4, 0, IBV_WC_REM_INV_REQ_ERR);
}

static void nobody_receives(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){.rnr_retry = 1});
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_none(p.b.recv_cq);
	assert_int_equal(state_of(&p.a), IBV_QPS_ERR);
	assert_int_equal(state_of(&p.b), IBV_QPS_RTS);
	pair_close(&p);
}

static void nobody_answers(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){.timeout = 8});
	assert_int_equal(to_state(&p.b, IBV_QPS_RESET), 0);
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_wc(p.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_none(p.b.recv_cq);
	pair_close(&p);
}

static void ud_message_longer_than_the_mtu(void **state)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct pair p;
	int err;

	pair_open(&p, &(struct options){.type = IBV_QPT_UD});
	assert_int_equal(ibv_query_port(p.a.ctx, 1, &port), 0);
	av = av_to(&p.a, &p.b);
	ah = ibv_create_ah(p.a.pd, &av);
	sge = sge_of(&p.a, 0, (128u << port.active_mtu) + 1);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p.b.qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	assert_int_equal(post_recv(&p.b, 2, 0, 65536), 0);
	/* Refused at once, or completed with a length error: hardware does either. */
	err = ibv_post_send(p.a.qp, &wr, &bad);
	if (err) {
		assert_int_equal(err, EINVAL);
		assert_ptr_equal(bad, &wr);
	} else {
		assert_true(wait_wc(p.a.send_cq, &wc, 10));
		assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	}
	expect_none(p.b.recv_cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive_too_small),
		cmocka_unit_test(bad_lkey_of_a_send),
		cmocka_unit_test(bad_lkey_of_a_receive),
		cmocka_unit_test(bad_rkey),
		cmocka_unit_test(outside_the_region),
		cmocka_unit_test(no_permission_on_the_qp),
		cmocka_unit_test(no_permission_on_the_region),
		cmocka_unit_test(misaligned_atomic),
		cmocka_unit_test(nobody_receives),
		cmocka_unit_test(nobody_answers),
		cmocka_unit_test(ud_message_longer_than_the_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
