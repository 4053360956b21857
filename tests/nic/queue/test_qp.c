/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, posting by state and transport, slots, flags, reset and destruction. */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/queue/qpn.h"

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
};

static void bed_open(struct bed *bed, const struct options *o)
{
	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 3);
	bed->ra = region_open(&bed->net->node[0], 65536, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 65536, ALL_ACCESS);
	region_fill(bed->ra, 1);
	pair_open(bed->net, o, &bed->a, &bed->b);
}

static void bed_close(struct bed *bed)
{
	net_run(bed->net, 10 * SEC);
	net_close(bed->net);
}

static struct wr *write_wr(struct bed *bed, struct wr *wr, uint64_t id, unsigned flags,
			   uint32_t len)
{
	wr_make(wr, IBV_WR_RDMA_WRITE, id, flags);
	if (len)
		wr_sge(wr, bed->ra, 0, len);
	wr_remote(wr, bed->rb, 0);
	return wr;
}

static int post_write(struct bed *bed, uint64_t id, unsigned flags)
{
	struct wr wr;

	return end_send(bed->a, write_wr(bed, &wr, id, flags, 8));
}

/* ---- creation ---- */

static void expect_no_qp(struct net *net, const struct adv_qp_config *config, int err)
{
	struct adv_qp_config c = *config;

	errno = 0;
	assert_null(adv_qp_create(net->node[0].e, &c));
	assert_int_equal(errno, err);
}

static void test_create(void **state)
{
	struct net *net = net_open(1, 1);
	struct adv_cq *cq = adv_cq_create(net->node[0].e, 10, NULL);
	struct adv_qp_config good = {.type = IBV_QPT_RC,
				     .pd = net->node[0].pd,
				     .send_cq = cq,
				     .recv_cq = cq,
				     .cap = {5, 6, 7, 8, 9}};
	struct adv_qp_config c;
	struct adv_qp *qp;

#define REFUSED(set, err)                                                                          \
	do {                                                                                       \
		c = good;                                                                          \
		set;                                                                               \
		expect_no_qp(net, &c, err);                                                        \
	} while (0)
	REFUSED(c.type = IBV_QPT_RAW_PACKET, EOPNOTSUPP);
	REFUSED(c.type = IBV_QPT_XRC_RECV, EINVAL);
	REFUSED(c.pd = NULL, EINVAL);
	REFUSED(c.send_cq = NULL, EINVAL);
	REFUSED(c.recv_cq = NULL, EINVAL);
	REFUSED(c.cap.max_send_wr = ADV_MAX_QP_WR + 1, EINVAL);
	REFUSED(c.cap.max_recv_wr = ADV_MAX_QP_WR + 1, EINVAL);
	REFUSED(c.cap.max_send_sge = ADV_MAX_SGE + 1, EINVAL);
	REFUSED(c.cap.max_recv_sge = ADV_MAX_SGE + 1, EINVAL);
	REFUSED(c.cap.max_inline_data = ADV_MAX_INLINE + 1, EINVAL);
	c = good;
	qp = adv_qp_create(net->node[0].e, &c);
	assert_non_null(qp);
	assert_true(c.cap.max_send_wr >= 5 && c.cap.max_recv_wr >= 6 && c.cap.max_send_sge >= 7 &&
		    c.cap.max_recv_sge >= 8 && c.cap.max_inline_data >= 9);
	assert_int_equal(adv_qp_state(qp), IBV_QPS_RESET);
	assert_int_equal(adv_pd_destroy(net->node[0].pd), EBUSY);
	assert_int_equal(adv_cq_destroy(cq), EBUSY);
	assert_int_equal(adv_qp_destroy(qp), 0);
	assert_int_equal(adv_cq_destroy(cq), 0);
	assert_int_equal(adv_pd_destroy(net->node[0].pd), 0);
	net_close(net);
}

/* QP numbers are from the ranges. Each number has one QP, and is reused as late as possible. */
static void test_qp_numbers(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 0x40, .qpn_count = 4};
	struct adv_engine *e = adv_engine_create(&c);
	struct adv_pd *pd = adv_pd_create(e);
	struct adv_cq *cq = adv_cq_create(e, 1, NULL);
	struct adv_qp_config q = {.type = IBV_QPT_UD, .pd = pd, .send_cq = cq, .recv_cq = cq};
	struct adv_qp *qp[12];
	uint32_t gone;
	int seen[12] = {0};

	assert_int_equal(adv_engine_add_qpns(e, 0x80, 0), EINVAL);
	assert_int_equal(adv_engine_add_qpns(e, 0x1000000, 1), EINVAL);
	assert_int_equal(adv_engine_add_qpns(e, 0xfffff0, 0x20), EINVAL);
	assert_int_equal(adv_engine_add_qpns(e, 0x80, 8), 0);
	for (int i = 0; i < 12; i++) {
		uint32_t n;

		qp[i] = adv_qp_create(e, &q);
		assert_non_null(qp[i]);
		n = adv_qp_num(qp[i]);
		n = n < 0x80 ? n - 0x40 : n - 0x80 + 4;
		assert_true(n < 12);
		seen[n]++;
		assert_int_equal(seen[n], 1);
		assert_ptr_equal(adv_qp_number_find(e, adv_qp_num(qp[i])), qp[i]);
	}
	errno = 0;
	assert_null(adv_qp_create(e, &q));
	assert_int_equal(errno, ENOMEM);
	gone = adv_qp_num(qp[5]);
	adv_qp_destroy(qp[5]);
	assert_null(adv_qp_number_find(e, gone));
	assert_null(adv_qp_number_find(e, 0x3f));
	assert_null(adv_qp_number_find(e, 0x88));
	qp[5] = adv_qp_create(e, &q);
	assert_int_equal(adv_qp_num(qp[5]), gone);
	for (int i = 1; i < ADV_ENGINE_RANGES - 1; i++)
		assert_int_equal(adv_engine_add_qpns(e, 0x1000u * (unsigned)i, 1), 0);
	assert_int_equal(adv_engine_add_qpns(e, 0x20000, 1), ENOMEM);
	adv_engine_destroy(e);
}

/* Numbers are reused in the order of their release, also if others were taken for the first time
 * in between. */
static void test_numbers_rest(void **state)
{
	enum { COUNT = 50, EARLY = 9 };
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 0x100, .qpn_count = COUNT};
	struct adv_engine *e = adv_engine_create(&c);
	struct adv_pd *pd = adv_pd_create(e);
	struct adv_cq *cq = adv_cq_create(e, 1, NULL);
	struct adv_qp_config q = {.type = IBV_QPT_UD, .pd = pd, .send_cq = cq, .recv_cq = cq};
	struct adv_qp *early[EARLY], *qp[COUNT];
	uint32_t released[COUNT];

	for (unsigned i = 0; i < EARLY; i++)
		early[i] = adv_qp_create(e, &q);
	for (unsigned i = 0; i < EARLY; i++) {
		released[i] = adv_qp_num(early[EARLY - 1 - i]);
		adv_qp_destroy(early[EARLY - 1 - i]);
	}
	for (unsigned i = EARLY; i < COUNT; i++)
		qp[i] = adv_qp_create(e, &q);
	for (unsigned i = EARLY; i < COUNT; i++) {
		released[i] = adv_qp_num(qp[i]);
		adv_qp_destroy(qp[i]);
	}
	for (unsigned i = 0; i < 2 * COUNT; i++) {
		qp[0] = adv_qp_create(e, &q);
		assert_non_null(qp[0]);
		assert_int_equal(adv_qp_num(qp[0]), released[i % COUNT]);
		adv_qp_destroy(qp[0]);
	}
	adv_engine_destroy(e);
}

/* ---- posting by state ---- */

static void test_post_by_state(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct ibv_recv_wr rwr = {0}, *bad;
	struct end *end;

	bed_open(&bed, &o);
	end = bed.a;
	assert_int_equal(end_to_state(end, IBV_QPS_RESET), 0);
	assert_int_equal(post_write(&bed, 1, 0), EINVAL);
	assert_int_equal(adv_qp_post_recv(end->qp, 0, &rwr, &bad), EINVAL);
	assert_ptr_equal(bad, &rwr);
	assert_int_equal(end_to_init(end, &o), 0);
	assert_int_equal(post_write(&bed, 1, 0), EINVAL);
	end_recv(end, 70, NULL, 0, 0);
	assert_int_equal(end_to_rtr(end, &o, bed.b, o.psn[1]), 0);
	assert_int_equal(post_write(&bed, 1, 0), EINVAL);
	end_recv(end, 71, NULL, 0, 0);
	assert_int_equal(end_to_rts(end, &o, o.psn[0]), 0);
	assert_int_equal(post_write(&bed, 2, 0), 0);
	net_until(bed.net, end, 1, 0, SEC);
	assert_int_equal(end_to_state(end, IBV_QPS_SQD), 0);
	assert_int_equal(post_write(&bed, 3, 0), 0);
	net_run(bed.net, SEC);
	assert_int_equal(end->send_count, 1);
	assert_int_equal(end_to_state(end, IBV_QPS_RTS), 0);
	net_until(bed.net, end, 2, 0, SEC);
	assert_int_equal(end_to_state(end, IBV_QPS_ERR), 0);
	assert_int_equal(post_write(&bed, 4, 0), 0);
	end_recv(end, 72, NULL, 0, 0);
	net_run(bed.net, SEC);
	expect_send(end, 2, 4, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end->sends[2].wc.vendor_err, ADV_ERR_FLUSHED);
	expect_recv(end, 0, 70, IBV_WC_WR_FLUSH_ERR);
	expect_recv(end, 1, 71, IBV_WC_WR_FLUSH_ERR);
	expect_recv(end, 2, 72, IBV_WC_WR_FLUSH_ERR);
	bed_close(&bed);
}

/* After RESET a QP can be used again: its queues are empty, it has no old completions, and its PSNs
 * are new. */
static void test_reuse_after_reset(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	for (uint32_t round = 0; round < 5; round++) {
		bed.a->no_poll = true;
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(post_write(&bed, 100 + i, 0), 0);
		end_recv(bed.a, 5, NULL, 0, 0);
		net_run(bed.net, round % 2 ? SEC : 0);
		assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
		assert_int_equal(end_to_state(bed.b, IBV_QPS_RESET), 0);
		assert_true(adv_cq_empty(bed.a->scq));
		assert_int_equal(bed.net->node[0].e->in_flight, 0);
		net_run(bed.net, SEC);
		bed.a->no_poll = false;
		o.psn[0] = round * 1000;
		ends_connect(bed.a, bed.b, &o);
		assert_int_equal(post_write(&bed, round, 0), 0);
		net_until(bed.net, bed.a, round + 1, 0, SEC);
		expect_send(bed.a, round, round, IBV_WC_SUCCESS);
	}
	bed_close(&bed);
}

/* A UC QP enters SQE after an error, too. */
static void test_uc_sqe(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	assert_int_equal(post_write(&bed, 1, 0), 0);
	write_wr(&bed, &wr, 2, 0, 8);
	wr.sge[0].lkey ^= 1;
	assert_int_equal(end_send(bed.a, &wr), 0);
	assert_int_equal(post_write(&bed, 3, 0), 0);
	net_run(bed.net, MS);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 2, IBV_WC_LOC_PROT_ERR);
	expect_send(bed.a, 2, 3, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end_state(bed.a), IBV_QPS_SQE);
	assert_int_equal(post_write(&bed, 4, 0), 0);
	/* The QP still receives. */
	end_recv(bed.a, 9, bed.ra, 0, 8);
	end_op(bed.b, IBV_WR_SEND, 1, bed.rb, 0, 8, NULL, 0);
	net_run(bed.net, MS);
	expect_send(bed.a, 3, 4, IBV_WC_WR_FLUSH_ERR);
	expect_recv(bed.a, 0, 9, IBV_WC_SUCCESS);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RTS), 0);
	assert_int_equal(post_write(&bed, 5, 0), 0);
	net_run(bed.net, MS);
	expect_send(bed.a, 4, 5, IBV_WC_SUCCESS);
	bed_close(&bed);
}

/* UC drops a message that cannot be delivered. A receive request that is too small fails the QP. */
static void test_uc_receiver(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 3000, NULL, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE_WITH_IMM, 2, bed.ra, 0, 8, bed.rb, 0);
	write_wr(&bed, &wr, 3, 0, 3000);
	wr.w.wr.rdma.rkey ^= 1;
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.a->send_count, 3);
	assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
	assert_int_equal(adv_engine_counters(bed.net->node[1].e)->uc_drops, 3);
	assert_int_equal(adv_engine_counters(bed.net->node[1].e)->out_of_buffer, 2);
	end_recv(bed.b, 4, bed.rb, 0, 3000);
	end_op(bed.a, IBV_WR_SEND, 4, bed.ra, 0, 3000, NULL, 0);
	net_run(bed.net, MS);
	expect_recv(bed.b, 0, 4, IBV_WC_SUCCESS);
	end_recv(bed.b, 5, bed.rb, 0, 2999);
	end_recv(bed.b, 6, bed.rb, 0, 2999);
	end_op(bed.a, IBV_WR_SEND, 5, bed.ra, 0, 3000, NULL, 0);
	net_run(bed.net, MS);
	expect_send(bed.a, 4, 5, IBV_WC_SUCCESS);
	expect_recv(bed.b, 1, 5, IBV_WC_LOC_LEN_ERR);
	expect_recv(bed.b, 2, 6, IBV_WC_WR_FLUSH_ERR);
	bed_close(&bed);
}

/* ---- opcodes and flags ---- */

static void test_opcodes_by_transport(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint32_t opcodes;
	} allowed[] = {
		{IBV_QPT_RC, 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
				     1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM |
				     1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
				     1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << ADV_WR_FLUSH |
				     1u << ADV_WR_ATOMIC_WRITE | 1u << IBV_WR_LOCAL_INV |
				     1u << IBV_WR_SEND_WITH_INV},
		{IBV_QPT_UC, 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
				     1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM |
				     1u << IBV_WR_LOCAL_INV},
		{IBV_QPT_UD, 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM},
	};

	for (int t = 0; t < 3; t++) {
		struct options o = options_default(allowed[t].type);
		struct adv_ah ah = {0};
		struct bed bed;

		bed_open(&bed, &o);
		ah.pd = bed.net->node[0].pd;
		assert_int_equal(end_to_state(bed.a, IBV_QPS_SQD), 0);
		for (int opcode = -1; opcode < 70; opcode++) {
			struct ibv_send_wr *bad = NULL;
			struct wr first, second, third;
			uint32_t posted = bed.a->qp->sq.head;
			bool good =
				opcode >= 0 && opcode < 32 && (allowed[t].opcodes & 1u << opcode);
			int err;

			wr_make(&first, IBV_WR_SEND, 1, 0);
			wr_make(&second, opcode, 2, 0);
			wr_make(&third, IBV_WR_SEND, 3, 0);
			first.w.next = &second.w;
			second.w.next = &third.w;
			wr_sge(&second, bed.ra, 0, 8);
			if (allowed[t].type == IBV_QPT_UD)
				first.w.wr.ud.ah = second.w.wr.ud.ah = third.w.wr.ud.ah = &ah.ibv;
			err = adv_qp_post_send(bed.a->qp, 0, &first.w, &bad);
			assert_int_equal(err, good ? 0 : EINVAL);
			/* Requests before the bad request are posted, requests after it are not. */
			assert_int_equal(bed.a->qp->sq.head - posted, good ? 3 : 1);
			assert_ptr_equal(bad, good ? NULL : &second.w);
			if (bed.a->qp->sq.head > 32) {
				assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
				assert_int_equal(end_to_state(bed.b, IBV_QPS_RESET), 0);
				ends_connect(bed.a, bed.b, &o);
				assert_int_equal(end_to_state(bed.a, IBV_QPS_SQD), 0);
			}
		}
		net_abandon(bed.net);
	}
}

static void test_bad_requests(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_sge many[40] = {{0}};
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	write_wr(&bed, &wr, 1, 0, 8);
	wr.w.num_sge = 33;
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	wr.w.num_sge = -1;
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	write_wr(&bed, &wr, 1, IBV_SEND_INLINE, bed.a->qp->sq.max_inline + 1);
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	wr_make(&wr, IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE);
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	wr_make(&wr, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_SEND_INLINE);
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	assert_int_equal(end_recv_sges(bed.a, 1, many, 33), EINVAL);
	assert_int_equal(end_recv_sges(bed.a, 1, many, -1), EINVAL);
	o = options_default(IBV_QPT_UD);
	bed.a = end_open(&bed.net->node[0], &o, NULL);
	assert_int_equal(end_to_init(bed.a, &o) | end_to_rtr(bed.a, &o, NULL, 0) |
				 end_to_rts(bed.a, &o, 0),
			 0);
	wr_make(&wr, IBV_WR_SEND, 1, 0);
	assert_int_equal(end_send(bed.a, &wr), EINVAL); /* no address handle */
	bed_close(&bed);
}

/* After the post of an inline request the caller may reuse the memory at once. No key is checked,
 * and a retransmission has the old bytes. */
static void test_inline(void **state)
{
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM};

	for (int i = 0; i < 4; i++) {
		struct options o = options_default(IBV_QPT_RC);
		uint8_t *own = malloc(64);
		struct bed bed;
		struct wr wr;

		bed_open(&bed, &o);
		memset(own, 0x42, 64);
		end_recv(bed.b, 1, bed.rb, 0, 64);
		wr_make(&wr, opcodes[i], 1, IBV_SEND_INLINE);
		wr.w.num_sge = 3;
		wr.sge[0] = (struct ibv_sge){.addr = (uintptr_t)own, .length = 10, .lkey = 1};
		wr.sge[1] = (struct ibv_sge){.addr = (uintptr_t)own, .length = 0, .lkey = 2};
		wr.sge[2] = (struct ibv_sge){.addr = (uintptr_t)own + 10, .length = 54, .lkey = 3};
		wr_remote(&wr, bed.rb, 0);
		assert_int_equal(end_send(bed.a, &wr), 0);
		free(own);
		net_until(bed.net, bed.a, 1, 0, SEC);
		expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
		for (int k = 0; k < 64; k++)
			assert_int_equal(bed.rb->buf[k], 0x42);
		assert_int_equal(bed.rb->buf[64], 0);
		bed_close(&bed);
	}
}

/* A CQ armed for solicited events reports only solicited or failed completions. */
static void test_solicited(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct node *node;
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	node = &bed.net->node[1];
	for (unsigned i = 0; i < 6; i++)
		end_recv(bed.b, i, bed.rb, 0, 4000);
	adv_cq_arm(bed.b->rcq, true);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 3000, NULL, 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.b->recv_count, 1);
	assert_int_equal(net_count_completion_events(node, bed.b->rcq), 0);
	wr_make(&wr, IBV_WR_SEND, 2, IBV_SEND_SOLICITED);
	wr_sge(&wr, bed.ra, 0, 3000);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, MS);
	assert_int_equal(net_count_completion_events(node, bed.b->rcq), 1);
	adv_cq_arm(bed.b->rcq, true);
	wr_make(&wr, IBV_WR_RDMA_WRITE_WITH_IMM, 3, IBV_SEND_SOLICITED);
	wr_remote(&wr, bed.rb, 0);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_run(bed.net, MS);
	assert_int_equal(net_count_completion_events(node, bed.b->rcq), 2);
	adv_cq_arm(bed.b->rcq, true);
	assert_int_equal(end_to_state(bed.b, IBV_QPS_ERR), 0);
	net_run(bed.net, MS);
	assert_int_equal(net_count_completion_events(node, bed.b->rcq), 3);
	bed_close(&bed);
}

/* ---- slots ---- */

static void test_unsignaled_holds_its_slot(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_wc wc;
	struct bed bed;
	uint32_t size;

	o.sig_all = false;
	bed_open(&bed, &o);
	size = bed.a->qp->sq.size;
	for (uint32_t round = 0; round < 5; round++) {
		bed.a->no_poll = true;
		for (uint32_t i = 0; i < size - 1; i++)
			assert_int_equal(post_write(&bed, i, 0), 0);
		assert_int_equal(post_write(&bed, 1000 + round, IBV_SEND_SIGNALED), 0);
		assert_int_equal(post_write(&bed, 9, 0), ENOMEM);
		net_run(bed.net, SEC);
		/* The requests have completed but were not polled. */
		assert_int_equal(bed.a->qp->sq.tail, bed.a->qp->sq.head);
		assert_int_equal(post_write(&bed, 9, 0), ENOMEM);
		assert_int_equal(adv_cq_poll(bed.a->scq, 0, &wc), 0);
		bed.a->no_poll = false;
		end_poll(bed.a);
		expect_send(bed.a, round, 1000 + round, IBV_WC_SUCCESS);
		assert_int_equal(bed.a->send_count, round + 1);
	}
	/* If the queue is full of unsignaled requests, nothing can be polled until an error
	 * occurs. */
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(post_write(&bed, i, 0), 0);
	net_run(bed.net, SEC);
	assert_int_equal(post_write(&bed, 9, 0), ENOMEM);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
	net_run(bed.net, SEC);
	bed_close(&bed);
}

static void test_full_receive_queue(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_recv_wr wr[3] = {{.wr_id = 1}, {.wr_id = 2}, {.wr_id = 3}}, *bad = NULL;
	struct bed bed;
	uint32_t size;

	bed_open(&bed, &o);
	size = bed.b->qp->rq.size;
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	for (uint32_t i = 0; i < size - 2; i++)
		end_recv(bed.b, i, bed.rb, 0, 8);
	assert_int_equal(adv_qp_post_recv(bed.b->qp, 0, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[2]);
	bed.b->recv_ids[bed.b->recv_head++] = 1;
	bed.b->recv_ids[bed.b->recv_head++] = 2;
	for (uint32_t i = 0; i < size; i++) {
		end_op(bed.a, IBV_WR_SEND, i, bed.ra, 0, 8, NULL, 0);
		net_run(bed.net, MS);
	}
	assert_int_equal(bed.b->recv_count, size);
	for (uint32_t i = 0; i < size; i++)
		end_recv(bed.b, i, bed.rb, 0, 8);
	assert_int_equal(end_recv_sges(bed.b, 1, NULL, 0), ENOMEM);
	bed_close(&bed);
}

static void test_no_queue(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	memset(&o.cap, 0, sizeof(o.cap));
	bed_open(&bed, &o);
	assert_int_equal(post_write(&bed, 1, 0), ENOMEM);
	assert_int_equal(end_recv_sges(bed.b, 1, NULL, 0), ENOMEM);
	bed_close(&bed);
}

/* An overflow of the CQ raises an error event of the CQ and one of the QP. */
static void test_cq_overrun(void **state)
{
	for (int recv = 0; recv < 2; recv++) {
		struct options o = options_default(IBV_QPT_RC);
		struct node *node;
		struct bed bed;
		struct end *end;

		o.cqe = 4;
		bed_open(&bed, &o);
		end = recv ? bed.b : bed.a;
		node = end->node;
		end->no_poll = true;
		for (unsigned i = 0; i < 8; i++) {
			if (recv)
				end_recv(bed.b, i, bed.rb, 0, 8);
			end_op(bed.a, recv ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, i, bed.ra, 0, 8,
			       bed.rb, 0);
		}
		net_run(bed.net, SEC);
		assert_int_equal(net_count_events(node, IBV_EVENT_CQ_ERR), 1);
		assert_int_equal(net_count_events(node, IBV_EVENT_QP_FATAL), 1);
		assert_int_equal(end_state(end), IBV_QPS_ERR);
		bed_close(&bed);
	}
}

/* ---- destruction ---- */

static void test_destroy_with_work_outstanding(void **state)
{
	for (unsigned steps = 0; steps < 40; steps++) {
		struct options o = options_default(IBV_QPT_RC);
		struct bed bed;

		bed_open(&bed, &o);
		for (unsigned i = 0; i < 4; i++)
			end_recv(bed.b, i, bed.rb, 0, 4096);
		end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 4000, NULL, 0);
		end_op(bed.a, IBV_WR_RDMA_READ, 2, bed.ra, 0, 9000, bed.rb, 0);
		end_op(bed.b, IBV_WR_RDMA_WRITE, 3, bed.rb, 0, 9000, bed.ra, 0);
		end_op(bed.b, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, bed.rb, 0, 8, bed.ra, 0);
		for (unsigned i = 0; i < steps; i++)
			net_step(bed.net, bed.net->now + MS);
		if (steps % 2)
			adv_cq_arm(bed.a->scq, false);
		end_close(bed.a);
		assert_int_equal(bed.net->node[0].e->in_flight, 0);
		net_run(bed.net, SEC);
		if (bed.b->send_count == 2)
			assert_true(bed.b->sends[1].wc.status == IBV_WC_SUCCESS ||
				    end_state(bed.b) == IBV_QPS_ERR);
		bed_close(&bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_qp_numbers),
		cmocka_unit_test(test_numbers_rest),
		cmocka_unit_test(test_post_by_state),
		cmocka_unit_test(test_reuse_after_reset),
		cmocka_unit_test(test_uc_sqe),
		cmocka_unit_test(test_uc_receiver),
		cmocka_unit_test(test_opcodes_by_transport),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_solicited),
		cmocka_unit_test(test_unsignaled_holds_its_slot),
		cmocka_unit_test(test_full_receive_queue),
		cmocka_unit_test(test_no_queue),
		cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_destroy_with_work_outstanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
