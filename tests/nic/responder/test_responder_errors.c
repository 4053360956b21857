/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests each error of a request, with its status at both ends. */
#include <stdlib.h>

#include "base/array.h"
#include "responder_bed.h"

#define NO_EVENT ((enum ibv_event_type) - 1)

/* ---- errors, at both ends ---- */

struct fault {
	int opcode;
	void (*arrange)(struct bed *bed, struct wr *wr);
	enum ibv_wc_status here; /* status at the requester */
	enum adv_vendor_err why;
	enum ibv_event_type event; /* event at the responder */
	enum ibv_wc_status there;  /* status of the receive request; SUCCESS: the request was still
				      posted and is flushed */
	bool peer_lives;	   /* the responder did not notice the error */
};

static void short_receive(struct bed *bed, struct wr *wr)
{
	wr->sge[0].length = 2001;
}

static void too_long(struct bed *bed, struct wr *wr)
{
	wr->sge[0].length = 0x7fffffff;
	wr->sge[1] = (struct ibv_sge){.addr = bed->ra->iova, .length = 2, .lkey = bed->ra->key};
	wr->w.num_sge = 2;
}

static void bad_lkey(struct bed *bed, struct wr *wr)
{
	wr->sge[0].lkey ^= 0x10;
}

static void foreign_lkey(struct bed *bed, struct wr *wr)
{
	struct adv_pd *pd = adv_pd_create(bed->net->node[0].e);
	struct region *r = region_open_at(&bed->net->node[0], pd, 4096, 0, ALL_ACCESS);

	wr->sge[0].lkey = r->key;
	wr->sge[0].addr = r->iova;
}

static void local_bounds(struct bed *bed, struct wr *wr)
{
	wr->sge[0].addr = bed->ra->iova + bed->ra->len - wr->sge[0].length + 1;
}

static void local_read_only(struct bed *bed, struct wr *wr)
{
	struct region *r = region_open(&bed->net->node[0], 4096, IBV_ACCESS_REMOTE_READ);

	wr->sge[0].lkey = r->key;
	wr->sge[0].addr = r->iova;
}

/* Sets the remote address and key, which have other places in requests for atomics. */
static void set_remote(struct wr *wr, uint64_t va, uint32_t rkey)
{
	bool atomic = wr->w.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		      (int)wr->w.opcode == ADV_WR_ATOMIC_WRITE || (int)wr->w.opcode == ADV_WR_FLUSH;

	if (atomic) {
		wr->w.wr.atomic.remote_addr = va;
		wr->w.wr.atomic.rkey = rkey;
	} else {
		wr->w.wr.rdma.remote_addr = va;
		wr->w.wr.rdma.rkey = rkey;
	}
}

static void bad_rkey(struct bed *bed, struct wr *wr)
{
	set_remote(wr, bed->rb->iova, bed->rb->key ^ 0x10);
}

static void foreign_rkey(struct bed *bed, struct wr *wr)
{
	struct adv_pd *pd = adv_pd_create(bed->net->node[1].e);
	struct region *r = region_open_at(&bed->net->node[1], pd, 4096, 0, ALL_ACCESS);

	set_remote(wr, r->iova, r->key);
}

static void behind_the_end(struct bed *bed, struct wr *wr)
{
	set_remote(wr, bed->rb->iova + bed->rb->len, bed->rb->key);
}

static void over_the_end(struct bed *bed, struct wr *wr)
{
	set_remote(wr, bed->rb->iova + bed->rb->len - 1992, bed->rb->key);
}

static void before_the_start(struct bed *bed, struct wr *wr)
{
	set_remote(wr, bed->rb->iova - 8, bed->rb->key);
}

static void round_the_world(struct bed *bed, struct wr *wr)
{
	set_remote(wr, UINT64_MAX - 7, bed->rb->key);
}

static void region_without(struct bed *bed, struct wr *wr, int missing)
{
	struct region *r = region_open(&bed->net->node[1], 4096, ALL_ACCESS & ~missing);

	set_remote(wr, (r->iova + 7) & ~7ull, r->key);
}

static void no_remote_write(struct bed *bed, struct wr *wr)
{
	region_without(bed, wr, IBV_ACCESS_REMOTE_WRITE);
}

static void no_remote_read(struct bed *bed, struct wr *wr)
{
	region_without(bed, wr, IBV_ACCESS_REMOTE_READ);
}

static void no_remote_atomic(struct bed *bed, struct wr *wr)
{
	region_without(bed, wr, IBV_ACCESS_REMOTE_ATOMIC);
}

static void no_flush(struct bed *bed, struct wr *wr)
{
	region_without(bed, wr, FLUSH_ACCESS);
	wr->w.wr.atomic.swap = 1;
}

static void deregistered(struct bed *bed, struct wr *wr)
{
	struct region *r = region_open(&bed->net->node[1], 4096, ALL_ACCESS);

	set_remote(wr, r->iova, r->key);
	region_deregister(r);
}

static void qp_without(struct bed *bed, unsigned missing)
{
	struct ibv_qp_attr a = {.qp_access_flags = ALL_ACCESS & ~missing};

	assert_int_equal(adv_qp_modify(bed->b->qp, bed->net->now, &a, IBV_QP_ACCESS_FLAGS), 0);
}

static void qp_no_write(struct bed *bed, struct wr *wr)
{
	qp_without(bed, IBV_ACCESS_REMOTE_WRITE);
}

static void qp_no_read(struct bed *bed, struct wr *wr)
{
	qp_without(bed, IBV_ACCESS_REMOTE_READ);
}

static void qp_no_atomic(struct bed *bed, struct wr *wr)
{
	qp_without(bed, IBV_ACCESS_REMOTE_ATOMIC);
}

static void misaligned(struct bed *bed, struct wr *wr)
{
	set_remote(wr, bed->rb->iova + 4, bed->rb->key);
}

static void atomic_result_too_small(struct bed *bed, struct wr *wr)
{
	wr->sge[0].length = 7;
}

static void receive_with_bad_key(struct bed *bed, struct wr *wr)
{
	region_deregister(bed->rb);
}

static void flush_of_nothing(struct bed *bed, struct wr *wr)
{
	wr->w.wr.atomic.swap = 0;
}

#define LOCAL NO_EVENT, IBV_WC_SUCCESS, true
#define ACCESS                                                                                     \
	IBV_WC_REM_ACCESS_ERR, ADV_ERR_NAK_ACCESS, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_SUCCESS, false
#define INVALID                                                                                    \
	IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR, IBV_WC_SUCCESS, \
		false

static const struct fault faults[] = {
	{IBV_WR_SEND, short_receive, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST, NO_EVENT,
	 IBV_WC_LOC_LEN_ERR, false},
	{IBV_WR_SEND_WITH_IMM, short_receive, IBV_WC_REM_INV_REQ_ERR, ADV_ERR_NAK_INVALID_REQUEST,
	 NO_EVENT, IBV_WC_LOC_LEN_ERR, false},
	{IBV_WR_SEND, receive_with_bad_key, IBV_WC_REM_OP_ERR, ADV_ERR_NAK_OPERATION, NO_EVENT,
	 IBV_WC_LOC_PROT_ERR, false},
	{IBV_WR_SEND, too_long, IBV_WC_LOC_LEN_ERR, ADV_ERR_MESSAGE_TOO_LONG, LOCAL},
	{IBV_WR_RDMA_WRITE, too_long, IBV_WC_LOC_LEN_ERR, ADV_ERR_MESSAGE_TOO_LONG, LOCAL},
	{IBV_WR_RDMA_READ, too_long, IBV_WC_LOC_LEN_ERR, ADV_ERR_MESSAGE_TOO_LONG, LOCAL},
	{IBV_WR_SEND, bad_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY, LOCAL},
	{IBV_WR_RDMA_WRITE, bad_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY, LOCAL},
	{IBV_WR_RDMA_READ, bad_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY, LOCAL},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, bad_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY, LOCAL},
	{IBV_WR_SEND, foreign_lkey, IBV_WC_LOC_PROT_ERR, ADV_ERR_LKEY_PD, LOCAL},
	{IBV_WR_SEND, local_bounds, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_BOUNDS, LOCAL},
	{IBV_WR_RDMA_READ, local_read_only, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_ACCESS, LOCAL},
	{IBV_WR_ATOMIC_CMP_AND_SWP, local_read_only, IBV_WC_LOC_PROT_ERR, ADV_ERR_LOCAL_ACCESS,
	 LOCAL},
	{IBV_WR_ATOMIC_CMP_AND_SWP, atomic_result_too_small, IBV_WC_LOC_LEN_ERR,
	 ADV_ERR_ATOMIC_TOO_SMALL, LOCAL},
	{IBV_WR_RDMA_WRITE, bad_rkey, ACCESS},
	{IBV_WR_RDMA_WRITE_WITH_IMM, bad_rkey, ACCESS},
	{IBV_WR_RDMA_READ, bad_rkey, ACCESS},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, bad_rkey, ACCESS},
	{IBV_WR_ATOMIC_CMP_AND_SWP, bad_rkey, ACCESS},
	{ADV_WR_ATOMIC_WRITE, bad_rkey, ACCESS},
	{IBV_WR_RDMA_WRITE, foreign_rkey, ACCESS},
	{IBV_WR_RDMA_READ, foreign_rkey, ACCESS},
	{IBV_WR_RDMA_WRITE, behind_the_end, ACCESS},
	{IBV_WR_RDMA_READ, behind_the_end, ACCESS},
	{IBV_WR_ATOMIC_CMP_AND_SWP, behind_the_end, ACCESS},
	{ADV_WR_ATOMIC_WRITE, behind_the_end, ACCESS},
	{IBV_WR_RDMA_WRITE, over_the_end, ACCESS},
	{IBV_WR_RDMA_READ, over_the_end, ACCESS},
	{IBV_WR_RDMA_WRITE, before_the_start, ACCESS},
	{IBV_WR_RDMA_READ, before_the_start, ACCESS},
	{IBV_WR_RDMA_WRITE, round_the_world, ACCESS},
	{IBV_WR_RDMA_READ, round_the_world, ACCESS},
	{IBV_WR_RDMA_WRITE, no_remote_write, ACCESS},
	{IBV_WR_RDMA_READ, no_remote_read, ACCESS},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, no_remote_atomic, ACCESS},
	{ADV_WR_ATOMIC_WRITE, no_remote_write, ACCESS},
	{ADV_WR_FLUSH, no_flush, ACCESS},
	{IBV_WR_RDMA_WRITE, deregistered, ACCESS},
	{IBV_WR_RDMA_READ, deregistered, ACCESS},
	{IBV_WR_RDMA_WRITE, qp_no_write, INVALID},
	{ADV_WR_ATOMIC_WRITE, qp_no_write, INVALID},
	{IBV_WR_RDMA_READ, qp_no_read, INVALID},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, qp_no_atomic, INVALID},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, misaligned, INVALID},
	{IBV_WR_ATOMIC_CMP_AND_SWP, misaligned, INVALID},
	{ADV_WR_ATOMIC_WRITE, misaligned, INVALID},
	{ADV_WR_FLUSH, flush_of_nothing, INVALID},
};

static bool is_atomic(int opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void expect_requester(const struct bed *bed, const struct fault *f)
{
	expect_send(bed->a, 0, 1, IBV_WC_SUCCESS);
	expect_send(bed->a, 1, 2, f->here);
	assert_int_equal(bed->a->sends[1].wc.vendor_err, f->why);
	/* Requests after the failed one are flushed in order (IBTA 10.3.1.7), also if they are
	 * posted later. */
	expect_send(bed->a, 2, 3, IBV_WC_WR_FLUSH_ERR);
	expect_send(bed->a, 3, 4, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bed->a->send_count, 4);
	expect_recv(bed->a, 0, 50, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end_state(bed->a), IBV_QPS_ERR);
}

static void expect_responder(const struct bed *bed, const struct fault *f)
{
	const struct node *node = &bed->net->node[1];

	assert_int_equal(net_count_events(node, IBV_EVENT_QP_ACCESS_ERR),
			 f->event == IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(net_count_events(node, IBV_EVENT_QP_REQ_ERR),
			 f->event == IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(net_count_events(node, IBV_EVENT_QP_FATAL), 0);
	if (f->peer_lives) {
		assert_int_equal(end_state(bed->b), IBV_QPS_RTS);
		assert_int_equal(bed->b->recv_count, 0);
		return;
	}
	assert_int_equal(end_state(bed->b), IBV_QPS_ERR);
	expect_recv(bed->b, 0, 60, f->there ? f->there : IBV_WC_WR_FLUSH_ERR);
	expect_recv(bed->b, 1, 61, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bed->b->recv_count, 2);
}

static void one_fault(const struct fault *f)
{
	struct options o = options_default(IBV_QPT_RC);
	uint8_t *before = malloc(16384);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	end_recv(bed.a, 50, bed.ra, 0, 100);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	end_recv(bed.b, 60, bed.rb, 4000, 2000);
	end_recv(bed.b, 61, bed.rb, 4000, 2000);
	memcpy(before, bed.rb->buf, 16384);
	wr_make(&wr, f->opcode, 2, 0);
	if (f->opcode != ADV_WR_FLUSH && f->opcode != ADV_WR_ATOMIC_WRITE)
		wr_sge(&wr, bed.ra, 0, is_atomic(f->opcode) ? 8 : 2000);
	if (f->opcode != IBV_WR_SEND && f->opcode != IBV_WR_SEND_WITH_IMM)
		wr_remote(&wr, bed.rb, 0);
	f->arrange(&bed, &wr);
	assert_int_equal(end_send(bed.a, &wr), 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 3, bed.ra, 0, 8, bed.rb, 8);
	net_run(bed.net, SEC);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 4, bed.ra, 0, 8, bed.rb, 8);
	net_run(bed.net, SEC);
	expect_requester(&bed, f);
	expect_responder(&bed, f);
	/* A refused WRITE writes nothing. A message that is too long fills the receive request. */
	assert_memory_equal(before, bed.rb->buf, 4000);
	assert_memory_equal(before + 6000, bed.rb->buf + 6000, 16384 - 6000);
	free(before);
	bed_close(&bed);
}

static void test_faults(void **state)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(faults); i++)
		one_fault(&faults[i]);
}

/* The address and key of zero bytes are not checked (IBTA 9.7.4.1.4). */
static void test_zero_length_with_bad_key(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	for (int i = 0; i < 2; i++) {
		wr_make(&wr, i ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, (uint64_t)i, 0);
		wr.w.wr.rdma.rkey = 0xbadbad;
		assert_int_equal(end_send(bed.a, &wr), 0);
	}
	net_until(bed.net, bed.a, 2, 0, SEC);
	expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 1, IBV_WC_SUCCESS);
	bed_close(&bed);
}

/* SGEs of the receive request that the message does not reach are not checked. */
static void test_unused_entries(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC};

	for (int t = 0; t < 2; t++) {
		struct options o = options_default(types[t]);
		struct ibv_sge sge[2];
		struct bed bed;

		bed_open(&bed, &o);
		sge[0] = (struct ibv_sge){bed.rb->iova, 8, bed.rb->key};
		sge[1] = (struct ibv_sge){bed.rb->iova, 8, bed.rb->key ^ 0x100};
		assert_int_equal(end_recv_sges(bed.b, 1, sge, 2), 0);
		assert_int_equal(end_recv_sges(bed.b, 2, sge + 1, 1), 0);
		assert_int_equal(end_recv_sges(bed.b, 3, sge, 2), 0);
		end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 8, NULL, 0);
		end_op(bed.a, IBV_WR_SEND, 2, bed.ra, 0, 0, NULL, 0);
		end_op(bed.a, IBV_WR_SEND, 3, bed.ra, 0, 9, NULL, 0);
		net_run(bed.net, SEC);
		expect_recv(bed.b, 0, 1, IBV_WC_SUCCESS);
		expect_recv(bed.b, 1, 2, IBV_WC_SUCCESS);
		expect_recv(bed.b, 2, 3, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(bed.b->recvs[2].wc.vendor_err, ADV_ERR_LKEY);
		bed_close(&bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_zero_length_with_bad_key),
		cmocka_unit_test(test_unused_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
