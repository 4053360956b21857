/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests posting: the states that allow it, the opcodes of each transport, the number of requests,
 * and refused requests. */
#include <stdlib.h>

#include "harness.h"

static void states_before_rts_refuse(void **state)
{
	const struct options o = {.unconnected = true};
	struct pair p;

	pair_open(&p, &o);
	assert_int_equal(state_of(&p.a), IBV_QPS_RESET);
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), EINVAL);
	assert_int_equal(post_recv(&p.a, 1, 0, 8), EINVAL);
	assert_int_equal(to_init(&p.a, &o), 0);
	assert_int_equal(state_of(&p.a), IBV_QPS_INIT);
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), EINVAL);
	assert_int_equal(post_recv(&p.a, 2, 0, 8), 0);
	assert_int_equal(to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o), 0);
	assert_int_equal(state_of(&p.a), IBV_QPS_RTR);
	assert_int_equal(post_send(&p.a, 1, 0, 8, 0), EINVAL);
	assert_int_equal(to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o), 0);
	assert_int_equal(to_rts(&p.b, &o), 0);

	/* The receive posted in INIT is valid; refused requests had no effect. */
	assert_int_equal(post_send(&p.b, 3, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.b.send_cq, 3, IBV_WC_SUCCESS);
	expect_wc(p.a.recv_cq, 2, IBV_WC_SUCCESS);
	expect_none(p.a.send_cq);
	pair_close(&p);
}

static void modify_checks_masks(void **state)
{
	const struct options o = {.unconnected = true};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct side s;

	side_open(&s, &o);
	assert_int_equal(ibv_modify_qp(s.qp, &attr, mask & ~IBV_QP_PORT), EINVAL);
	assert_int_equal(ibv_modify_qp(s.qp, &attr, mask | IBV_QP_DEST_QPN), EINVAL);
	attr.port_num = 2;
	assert_int_equal(ibv_modify_qp(s.qp, &attr, mask), EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	assert_int_equal(ibv_modify_qp(s.qp, &attr, mask), EINVAL);
	attr.pkey_index = 0;
	assert_int_equal(to_rts(&s, &o), EINVAL);
	assert_int_equal(s.qp->state, IBV_QPS_RESET);
	assert_int_equal(ibv_modify_qp(s.qp, &attr, mask), 0);
	assert_int_equal(s.qp->state, IBV_QPS_INIT);
	side_close(&s);
}

static void errored_queues_flush_in_order(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post_recv(&p.a, 10 + i, 0, 8), 0);
	assert_int_equal(to_state(&p.a, IBV_QPS_ERR), 0);
	assert_int_equal(post_send(&p.a, 20, 0, 8, 0), 0);
	assert_int_equal(post_recv(&p.a, 13, 0, 8), 0);
	for (uint64_t i = 0; i < 4; i++)
		expect_wc(p.a.recv_cq, 10 + i, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p.a.send_cq, 20, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(&p.a), IBV_QPS_ERR);
	pair_close(&p);
}

static void sqd_holds_requests_back(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(to_state(&p.a, IBV_QPS_SQD), 0);
	assert_int_equal(post_recv(&p.b, 1, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_none(p.a.send_cq);
	expect_none(p.b.recv_cq);
	assert_int_equal(to_state(&p.a, IBV_QPS_RTS), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void reset_and_reuse(void **state)
{
	const struct options o = {0};
	struct pair p;

	pair_open(&p, &o);
	assert_int_equal(post_recv(&p.a, 1, 0, 8), 0);
	assert_int_equal(to_state(&p.a, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(&p.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&p.b, IBV_QPS_RESET), 0);
	expect_none(p.a.recv_cq);
	assert_int_equal(to_init(&p.a, &o), 0);
	assert_int_equal(to_init(&p.b, &o), 0);
	assert_int_equal(to_rtr(&p.a, &p.b, &o), 0);
	assert_int_equal(to_rtr(&p.b, &p.a, &o), 0);
	assert_int_equal(to_rts(&p.a, &o), 0);
	assert_int_equal(to_rts(&p.b, &o), 0);
	assert_int_equal(post_recv(&p.b, 5, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 6, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.a.send_cq, 6, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 5, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Posts a valid, a wrong and a valid request: the first one stays posted, and bad_wr returns the
 * second one. */
static void check_wrong_opcode(enum ibv_qp_type type, enum ibv_wr_opcode wrong)
{
	struct ibv_send_wr wr[3] = {0}, *bad = NULL;
	struct ibv_ah_attr av;
	struct ibv_ah *ah = NULL;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p, &(struct options){.type = type});
	sge = sge_of(&p.a, 0, 8);
	av = av_to(&p.a, &p.b);
	if (type == IBV_QPT_UD)
		ah = ibv_create_ah(p.a.pd, &av);
	for (unsigned i = 0; i < 3; i++) {
		wr[i].wr_id = i;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = i == 1 ? wrong : IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		if (type == IBV_QPT_UD) {
			wr[i].wr.ud.ah = ah;
			wr[i].wr.ud.remote_qpn = p.b.qp->qp_num;
			wr[i].wr.ud.remote_qkey = QKEY;
		}
	}
	assert_int_equal(post_recv(&p.b, 50, 0, 64), 0);
	assert_int_equal(post_recv(&p.b, 51, 0, 64), 0);
	assert_int_equal(ibv_post_send(p.a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	expect_wc(p.a.send_cq, 0, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 50, IBV_WC_SUCCESS);
	expect_none(p.a.send_cq);
	expect_none(p.b.recv_cq);
	if (ah)
		assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static void wrong_opcodes_are_refused(void **state)
{
	check_wrong_opcode(IBV_QPT_UC, IBV_WR_RDMA_READ);
	check_wrong_opcode(IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD);
	check_wrong_opcode(IBV_QPT_UD, IBV_WR_RDMA_WRITE);
	check_wrong_opcode(IBV_QPT_UD, IBV_WR_RDMA_READ);
	check_wrong_opcode(IBV_QPT_RC, (enum ibv_wr_opcode)60);
	check_wrong_opcode(IBV_QPT_RC, IBV_WR_TSO);
}

static void inline_data_is_copied_and_not_checked(void **state)
{
	char text[64] = "inline, from the stack";
	struct ibv_sge sge = {.addr = (uintptr_t)text, .length = sizeof(text), .lkey = 0xdead};
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_send_wr *bad;
	struct pair p;

	pair_open(&p, &(struct options){.rnr_retry = 7});
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	/* No receive is posted yet, so no request can have completed. */
	memset(text, 'x', sizeof(text));
	memset(&sge, 0, sizeof(sge));
	memset(&wr, 0, sizeof(wr));
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS).byte_len, 64);
	assert_string_equal((char *)p.b.buf, "inline, from the stack");

	sge = (struct ibv_sge){(uintptr_t)p.a.buf, p.a.init.cap.max_inline_data + 1, 0};
	wr = (struct ibv_send_wr){.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE};
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	pair_close(&p);
}

static void unsignaled_work_holds_its_slot(void **state)
{
	struct ibv_wc wc;
	struct pair p;
	uint32_t room;

	pair_open(&p, &(struct options){.cap = {8, 64, 1, 1, 0}, .rnr_retry = 7});
	room = p.a.init.cap.max_send_wr;
	assert_true(room >= 8);
	for (uint32_t i = 0; i < room - 1; i++)
		assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, i, 0, 8, 0, p.b.mr->rkey),
				 0);
	/* All requests but one were signaled. Polls their completions, then fills the queue with
	 * unsignaled requests. */
	for (uint32_t i = 0; i < room - 1; i++)
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < room - 1; i++) {
		assert_int_equal(post_recv(&p.b, i, 0, 8), 0);
		assert_int_equal(post_send(&p.a, i, 0, 8, 0), 0);
	}
	for (uint32_t i = 0; i < room - 1; i++)
		expect_wc(p.b.recv_cq, i, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p.b, 100, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 100, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.b.recv_cq, 100, IBV_WC_SUCCESS);
	/* All requests have completed, but no completion has been polled. */
	assert_int_equal(post_send(&p.a, 101, 0, 8, 0), ENOMEM);
	expect_wc(p.a.send_cq, 100, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p.b, 102, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 102, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.a.send_cq, 102, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(p.a.send_cq, 1, &wc), 0);
	pair_close(&p);
}

static void full_receive_queue(void **state)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr[2] = {{.sg_list = &sge, .num_sge = 1}, {.num_sge = 100}}, *bad;
	struct pair p;

	pair_open(&p, &(struct options){.cap = {8, 8, 1, 1, 0}});
	sge = sge_of(&p.b, 0, 8);
	wr[0].next = &wr[1];
	assert_int_equal(ibv_post_recv(p.b.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	for (uint32_t i = 1; i < p.b.init.cap.max_recv_wr; i++)
		assert_int_equal(post_recv(&p.b, i, 0, 8), 0);
	assert_int_equal(post_recv(&p.b, 99, 0, 8), ENOMEM);
	assert_int_equal(post_send(&p.a, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p.b, 99, 0, 8), 0);
	pair_close(&p);
}

static void sq_sig_all(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){.sq_sig_all = true});
	assert_int_equal(post_recv(&p.b, 1, 0, 8), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 8, 0), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void scatter_and_gather(void **state)
{
	const uint32_t n = 30;
	struct options o = {.cap = {16, 16, n, n, 0}};
	struct ibv_sge from[30], to[30];
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = from,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = 0x01020304};
	struct ibv_recv_wr rr = {.wr_id = 2, .sg_list = to}, *bad_rr;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct pair p;
	uint32_t total = 0;

	pair_open(&p, &o);
	for (uint32_t i = 0; i < BUF_SIZE; i++)
		p.a.buf[i] = (uint8_t)(i * 7 + i / 251);
	for (uint32_t i = 0; i < n; i++) {
		from[i] = sge_of(&p.a, i * 4096, i * 37 % 300);
		to[i] = sge_of(&p.b, i * 4096, i == n - 1 ? 65536 : 100 + i);
		total += from[i].length;
	}
	wr.num_sge = rr.num_sge = (int)n;
	assert_int_equal(ibv_post_recv(p.b.qp, &rr, &bad_rr), 0);
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	memset(from, 0, sizeof(from));
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	wc = expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, total);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x01020304);
	/* Checks that byte k of the message is at the place that the receive's list gives it. */
	for (uint32_t k = 0, fi = 0, fo = 0, ti = 0, off = 0; k < total; k++, fo++, off++) {
		while (fo == fi * 37 % 300)
			fi++, fo = 0;
		while (off == to[ti].length)
			ti++, off = 0;
		assert_int_equal(p.b.buf[ti * 4096 + off], p.a.buf[fi * 4096 + fo]);
	}
	pair_close(&p);
}

static void empty_messages(void **state)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr rr = {.wr_id = 2}, *bad_rr;
	struct ibv_send_wr *bad;
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(ibv_post_recv(p.b.qp, &rr, &bad_rr), 0);
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p.b.recv_cq, 2, IBV_WC_SUCCESS).byte_len, 0);
	pair_close(&p);
}

static void rdma_moves_data_both_ways(void **state)
{
	uint64_t *word;
	struct pair p;

	pair_open(&p, &(struct options){0});
	memset(p.a.buf, 0xaa, 100000);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_WRITE, 1, 0, 100000, 8192, p.b.mr->rkey),
			 0);
	expect_wc(p.a.send_cq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(p.b.buf + 8192, p.a.buf, 100000);
	assert_int_equal(p.b.buf[8191], 0);
	assert_int_equal(p.b.buf[8192 + 100000], 0);

	memset(p.b.buf, 0xbb, 50000);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_RDMA_READ, 2, 200000, 50000, 0, p.b.mr->rkey),
			 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p.a.buf + 200000, p.b.buf, 50000);

	word = (uint64_t *)(void *)(p.b.buf + 512 * 1024);
	*word = 5;
	assert_int_equal(
		post_rdma(&p.a, &p.b, IBV_WR_ATOMIC_CMP_AND_SWP, 3, 0, 8, 512 * 1024, p.b.mr->rkey),
		0);
	expect_wc(p.a.send_cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)p.a.buf, 5);
	assert_int_equal(*word, 9);
	assert_int_equal(post_rdma(&p.a, &p.b, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 0, 8, 512 * 1024,
				   p.b.mr->rkey),
			 0);
	expect_wc(p.a.send_cq, 4, IBV_WC_SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)p.a.buf, 9);
	assert_int_equal(*word, 14);
	expect_none(p.b.recv_cq);
	pair_close(&p);
}

static void query_tells_what_was_set(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	pair_open(&p, &(struct options){.sq_sig_all = true, .timeout = 12});
	assert_int_equal(ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, p.b.qp->qp_num);
	assert_int_equal(attr.timeout, 12);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_memory_equal(&attr.cap, &p.a.init.cap, sizeof(attr.cap));
	assert_memory_equal(&attr.ah_attr.grh.dgid, &p.b.gid, 16);
	assert_ptr_equal(init.qp_context, &p.a);
	assert_ptr_equal(init.send_cq, p.a.send_cq);
	assert_ptr_equal(init.recv_cq, p.a.recv_cq);
	assert_int_equal(init.sq_sig_all, 1);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_before_rts_refuse),
		cmocka_unit_test(modify_checks_masks),
		cmocka_unit_test(errored_queues_flush_in_order),
		cmocka_unit_test(sqd_holds_requests_back),
		cmocka_unit_test(reset_and_reuse),
		cmocka_unit_test(wrong_opcodes_are_refused),
		cmocka_unit_test(inline_data_is_copied_and_not_checked),
		cmocka_unit_test(unsignaled_work_holds_its_slot),
		cmocka_unit_test(full_receive_queue),
		cmocka_unit_test(sq_sig_all),
		cmocka_unit_test(scatter_and_gather),
		cmocka_unit_test(empty_messages),
		cmocka_unit_test(rdma_moves_data_both_ways),
		cmocka_unit_test(query_tells_what_was_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
