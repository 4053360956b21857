/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests failing requests: the status at both ends, and its cause (src/nic/engine/cause.h). */
#include <stdlib.h>

#include "harness.h"

static void expect_failure(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status,
			   uint32_t cause)
{
	assert_int_equal(expect_wc(cq, wr_id, status).vendor_err, cause);
}

static void receive_too_small(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(post_recv(&p.b, 1, 0, 50), 0);
	assert_int_equal(post_recv(&p.b, 2, 0, 50), 0);
	assert_int_equal(post_send(&p.a, 3, 0, 100, IBV_SEND_SIGNALED), 0);
	expect_failure(p.b.recv_cq, 1, IBV_WC_LOC_LEN_ERR, 6);
	expect_wc(p.b.recv_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_failure(p.a.send_cq, 3, IBV_WC_REM_INV_REQ_ERR, 10);
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
	expect_failure(p.a.send_cq, 1, IBV_WC_LOC_PROT_ERR, 2);
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
	expect_failure(p.b.recv_cq, 1, IBV_WC_LOC_PROT_ERR, 2);
	expect_failure(p.a.send_cq, 2, IBV_WC_REM_OP_ERR, 12);
	pair_close(&p);
}

/* Tests a WRITE, READ or atomic that the responder must refuse. */
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

	/* IBTA 9.7.4.1.5: an RDMA or atomic request that the QP does not allow is invalid. But the
	 * kernel's rxe and mlx5 answer READ and WRITE with "remote access error". */
	struct pair p;
	struct ibv_wc wc;

	pair_open(&p, &o);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 8, 0, p.b.mr->rkey), 0);
	assert_true(wait_wc(p.a.send_cq, &wc, PATIENCE));
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
	expect_failure(p.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR, 9);
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
	expect_failure(p.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR, 7);
	expect_wc(p.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_none(p.b.recv_cq);
	pair_close(&p);
}

/* Returns the seconds until a SEND that must fail completes with this status. */
static double seconds_until(const struct options *o, bool deaf, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	struct pair p;
	double began;

	pair_open(&p, o);
	if (deaf)
		assert_int_equal(to_state(&p.b, IBV_QPS_RESET), 0);
	began = now_seconds();
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), 0);
	assert_true(wait_wc(p.a.send_cq, &wc, PATIENCE));
	began = now_seconds() - began;
	assert_int_equal(wc.status, status);
	pair_close(&p);
	return began;
}

/* Tests IBTA 9.7.6.1.3: a timeout is at least T = 4.096 us x 2^timeout, and the number of timeouts
 * is one more than the retry count. On a busy machine there is no upper bound. */
static void retries_take_their_time(void **state)
{
	for (uint8_t timeout = 10; timeout <= 12; timeout++)
		for (uint8_t retries = 1; retries <= 7; retries += 3) {
			const struct options o = {.timeout = timeout, .retry_cnt = retries};
			double all = (retries + 1) * 4.096e-6 * (1 << timeout);
			double took = seconds_until(&o, true, IBV_WC_RETRY_EXC_ERR);

			assert_true(took >= all);
		}
}

/* Tests codes 14, 16 and 18 of IBTA table 46: a wait of 1.28, 2.56 and 5.12 ms before each retry.
 */
static void rnr_retries_take_their_time(void **state)
{
	for (uint8_t code = 14; code <= 18; code += 2)
		for (uint8_t retries = 1; retries <= 6; retries += 5) {
			const struct options o = {.rnr_retry = retries, .min_rnr_timer = code};
			double all = retries * 1.28e-3 * (1 << (code - 14) / 2);
			double took = seconds_until(&o, false, IBV_WC_RNR_RETRY_EXC_ERR);

			assert_true(took >= all);
		}
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
	/* The request may be refused at once or complete with a length error: cards differ. */
	err = ibv_post_send(p.a.qp, &wr, &bad);
	if (err) {
		assert_int_equal(err, EINVAL);
		assert_ptr_equal(bad, &wr);
	} else {
		assert_true(wait_wc(p.a.send_cq, &wc, PATIENCE));
		assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	}
	expect_none(p.b.recv_cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static void no_read_was_agreed_on(void **state)
{
	const struct options o = {.unconnected = true};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 3};
	struct pair p;

	pair_open(&p, &o);
	assert_int_equal(to_init(&p.a, &o) | to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o) | to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(ibv_modify_qp(p.a.qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 1, 0, 8, 0, p.b.mr->rkey), 0);
	expect_failure(p.a.send_cq, 1, IBV_WC_LOC_QP_OP_ERR, 20);
	pair_close(&p);
}

static void invalidation_of_no_window(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND_WITH_INV}, *bad;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	wr.invalidate_rkey = p.b.mr->rkey;
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	expect_failure(p.b.recv_cq, 2, IBV_WC_LOC_ACCESS_ERR, 36);
	expect_failure(p.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR, 11);
	pair_close(&p);
}

/* Tests a response that is shorter than requested and has a correct ICRC. */
static void response_cut_short(void **state)
{
	struct pair p;

	assert_int_equal(
		setenv("ADVERB_FAULT", "corrupt length=-8 icrc=right rx op=read-response", 1), 0);
	pair_open(&p, &(struct options){0});
	assert_int_equal(unsetenv("ADVERB_FAULT"), 0);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 1, 0, 64, 0, p.b.mr->rkey), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_failure(p.a.send_cq, 1, IBV_WC_BAD_RESP_ERR, 28);
	expect_failure(p.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR, 1);
	pair_close(&p);
}

/* Tests the loss of the middle of a UC message: its receive request returns to the SRQ, and traffic
 * continues. */
static void uc_message_broken_off(void **state)
{
	struct pair p;

	assert_int_equal(setenv("ADVERB_FAULT", "drop tx op=uc-send-middle nth=1", 1), 0);
	pair_open(&p, &(struct options){.type = IBV_QPT_UC, .srq = true});
	assert_int_equal(unsetenv("ADVERB_FAULT"), 0);
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(post_recv(&p.b, i, 0, 4096), 0);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(post_send(&p.a, i, 0, 3000, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	}
	expect_failure(p.b.recv_cq, 0, IBV_WC_REM_ABORT_ERR, 39);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(state_of(&p.b), IBV_QPS_RTS);
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
		cmocka_unit_test(retries_take_their_time),
		cmocka_unit_test(rnr_retries_take_their_time),
		cmocka_unit_test(ud_message_longer_than_the_mtu),
		cmocka_unit_test(no_read_was_agreed_on),
		cmocka_unit_test(invalidation_of_no_window),
		cmocka_unit_test(response_cut_short),
		cmocka_unit_test(uc_message_broken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
