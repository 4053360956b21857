/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Injected faults: posts that fail, completions with a status, receivers that send RNR NAKs. */
#include "harness.h"

#include "base/array.h"

/* Script of an injector: injects one fault into the matching requests from `first` on, `count`
 * times. */
struct script {
	enum adv_injection what;
	uint32_t value;
	unsigned first; /* first matching request with the fault, from 0 */
	unsigned count; /* number of requests with the fault */
};

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct script script;
	unsigned seen;
	struct adv_work last; /* the newest query */
};

static uint32_t inject(void *user, enum adv_injection what, const struct adv_work *work)
{
	struct bed *bed = user;
	const struct script *s = &bed->script;
	unsigned n;

	if (what != s->what)
		return 0;
	bed->last = *work;
	n = bed->seen++;
	return n >= s->first && n - s->first < s->count ? s->value : 0;
}

/* Opens a pair; the script is the injector of node `at`. */
static void bed_open(struct bed *bed, const struct options *o, unsigned at, struct script script)
{
	bed->net = net_open(2, 1);
	bed->ra = region_open(&bed->net->node[0], 1 << 16, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 1 << 16, ALL_ACCESS);
	region_fill(bed->ra, 1);
	bed->script = script;
	bed->seen = 0;
	pair_open(bed->net, o, &bed->a, &bed->b);
	adv_engine_set_injector(bed->net->node[at].e, inject, bed);
}

/* Delivers the packets in flight, then closes the net. */
static void bed_close(struct bed *bed)
{
	net_run(bed->net, SEC);
	net_close(bed->net);
}

static void test_post_send(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_send_wr *bad;
	struct wr wr[3];
	struct bed bed;

	bed_open(&bed, &o, 0, (struct script){ADV_INJECT_POST, ENOMEM, 1, 1});
	for (unsigned i = 0; i < 3; i++) {
		wr_make(&wr[i], i == 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, i,
			IBV_SEND_SIGNALED);
		wr_sge(&wr[i], bed.ra, 0, 100);
		wr_remote(&wr[i], bed.rb, 0);
		wr[i].w.next = i < 2 ? &wr[i + 1].w : NULL;
	}
	/* The request before the fault is posted. Requests from the fault on are not, and change
	 * nothing. */
	assert_int_equal(adv_qp_post_send(bed.a->qp, bed.net->now, &wr[0].w, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1].w);
	assert_int_equal(bed.last.queue, ADV_WORK_SEND);
	assert_int_equal(bed.last.qpn, adv_qp_num(bed.a->qp));
	assert_int_equal(bed.last.opcode, ADV_OP_READ_REQUEST);
	bed.a->posted[bed.a->posted_head++] = (struct posted){0, true};
	wr[1].w.next = NULL;
	assert_int_equal(end_send(bed.a, &wr[1]), 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 1, IBV_WC_SUCCESS);
	assert_int_equal(bed.seen, 3);
	bed_close(&bed);
}

/* The injector is not called for a post that fails anyway. */
static void test_post_that_fails_anyway(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o, 0, (struct script){ADV_INJECT_POST, EIO, 0, 99});
	wr_make(&wr, 99, 0, IBV_SEND_SIGNALED);
	assert_int_equal(end_send(bed.a, &wr), EINVAL);
	assert_int_equal(bed.seen, 0);
	adv_engine_set_injector(bed.net->node[0].e, NULL, NULL);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 10, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(bed.seen, 0);
	bed_close(&bed);
}

static void test_post_recv(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ibv_recv_wr wr = {.wr_id = 7}, *bad = NULL;
	struct adv_srq *srq;
	struct bed bed;

	bed_open(&bed, &o, 1, (struct script){ADV_INJECT_POST, EFAULT, 0, 2});
	assert_int_equal(end_recv_sges(bed.b, 7, NULL, 0), EFAULT);
	assert_int_equal(bed.last.queue, ADV_WORK_RECV);
	assert_int_equal(bed.last.qpn, adv_qp_num(bed.b->qp));
	srq = adv_srq_create(bed.net->node[1].e, bed.net->node[1].pd, &attr, NULL);
	assert_non_null(srq);
	assert_int_equal(adv_srq_post(srq, &wr, &bad), EFAULT);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(bed.last.queue, ADV_WORK_SHARED);
	assert_int_equal(bed.last.qpn, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(adv_srq_post(srq, &wr, &bad), 0);
	assert_int_equal(adv_srq_post(srq, &wr, &bad), ENOMEM);
	adv_srq_destroy(srq);
	end_recv(bed.b, 8, bed.rb, 0, 100);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 10, NULL, 0);
	net_until(bed.net, bed.b, 0, 1, SEC);
	expect_recv(bed.b, 0, 8, IBV_WC_SUCCESS);
	bed_close(&bed);
}

static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
					     IBV_WR_ATOMIC_FETCH_AND_ADD};

/* A fault in the third of five requests, for each kind: requests before it complete, requests after
 * it are flushed. */
static void test_send_completion(void **state)
{
	for (unsigned k = 0; k < ADV_ARRAY_SIZE(opcodes); k++) {
		struct options o = options_default(IBV_QPT_RC);
		struct bed bed;

		bed_open(&bed, &o, 0,
			 (struct script){ADV_INJECT_COMPLETION, IBV_WC_REM_ACCESS_ERR, 2, 1});
		for (unsigned i = 0; i < 5; i++) {
			end_recv(bed.b, i, bed.rb, 0, 4096);
			end_op(bed.a, opcodes[k], i, bed.ra, 0, 8, bed.rb, 0);
		}
		net_until(bed.net, bed.a, 5, 0, SEC);
		for (unsigned i = 0; i < 5; i++)
			expect_send(bed.a, i, i,
				    i < 2    ? IBV_WC_SUCCESS
				    : i == 2 ? IBV_WC_REM_ACCESS_ERR
					     : IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(bed.a->sends[2].wc.vendor_err, ADV_ERR_INJECTED);
		assert_int_equal(bed.a->sends[3].wc.vendor_err, ADV_ERR_FLUSHED);
		assert_int_equal(end_state(bed.a), IBV_QPS_ERR);
		/* The peer is not affected. */
		assert_int_equal(end_state(bed.b), IBV_QPS_RTS);
		bed_close(&bed);
	}
}

/* A failed request has a completion even if it is unsignaled. */
static void test_unsignaled(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o, 0, (struct script){ADV_INJECT_COMPLETION, IBV_WC_FATAL_ERR, 0, 1});
	wr_make(&wr, IBV_WR_RDMA_WRITE, 5, 0);
	wr_sge(&wr, bed.ra, 0, 100);
	wr_remote(&wr, bed.rb, 0);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	expect_send(bed.a, 0, 5, IBV_WC_FATAL_ERR);
	assert_int_equal(end_state(bed.a), IBV_QPS_ERR);
	bed_close(&bed);
}

/* With UC and UD, an injected completion error only stops sending. */
static void test_unreliable_completion(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct bed bed;

	bed_open(&bed, &o, 0, (struct script){ADV_INJECT_COMPLETION, IBV_WC_LOC_PROT_ERR, 1, 1});
	for (unsigned i = 0; i < 3; i++)
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 3000, bed.rb, 0);
	net_until(bed.net, bed.a, 3, 0, SEC);
	expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
	expect_send(bed.a, 1, 1, IBV_WC_LOC_PROT_ERR);
	expect_send(bed.a, 2, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(end_state(bed.a), IBV_QPS_SQE);
	bed_close(&bed);
}

static const struct {
	enum ibv_wc_status injected;
	enum ibv_wc_status peer;
} refusals[] = {
	{IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR},
	{IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
	{IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR},
	{IBV_WC_FATAL_ERR, IBV_WC_REM_OP_ERR},
};

/* If a fault fails a receive request, the message is refused as with that status. */
static void test_recv_completion(void **state)
{
	for (unsigned k = 0; k < 8; k++) {
		struct options o = options_default(IBV_QPT_RC);
		int opcode = k % 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;
		struct bed bed;

		bed_open(&bed, &o, 1,
			 (struct script){ADV_INJECT_COMPLETION, refusals[k / 2].injected, 1, 1});
		for (unsigned i = 0; i < 3; i++) {
			end_recv(bed.b, i, bed.rb, 0, 4096);
			end_op(bed.a, opcode, i, bed.ra, 0, 3000, bed.rb, 0);
		}
		net_until(bed.net, bed.b, 0, 3, SEC);
		net_until(bed.net, bed.a, 3, 0, SEC);
		expect_recv(bed.b, 0, 0, IBV_WC_SUCCESS);
		expect_recv(bed.b, 1, 1, refusals[k / 2].injected);
		expect_recv(bed.b, 2, 2, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(bed.b->recvs[1].wc.vendor_err, ADV_ERR_INJECTED);
		expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
		expect_send(bed.a, 1, 1, refusals[k / 2].peer);
		expect_send(bed.a, 2, 2, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(bed.last.queue, ADV_WORK_RECV);
		bed_close(&bed);
	}
}

static void test_unreliable_recv(void **state)
{
	struct options o = options_default(IBV_QPT_UC);

	for (unsigned k = 0; k < 2; k++) {
		int opcode = k ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;
		struct bed bed;

		bed_open(&bed, &o, 1,
			 (struct script){ADV_INJECT_COMPLETION, IBV_WC_GENERAL_ERR, 1, 1});
		for (unsigned i = 0; i < 3; i++) {
			end_recv(bed.b, i, bed.rb, 0, 4096);
			end_op(bed.a, opcode, i, bed.ra, 0, 3000, bed.rb, 0);
		}
		net_until(bed.net, bed.b, 0, 3, SEC);
		expect_recv(bed.b, 0, 0, IBV_WC_SUCCESS);
		expect_recv(bed.b, 1, 1, IBV_WC_GENERAL_ERR);
		expect_recv(bed.b, 2, 2, IBV_WC_WR_FLUSH_ERR);
		net_run(bed.net, SEC);
		bed_close(&bed);
	}
}

/* A receive request is posted, but the responder sends RNR NAKs as often as injected. */
static void test_not_ready(void **state)
{
	for (unsigned k = 0; k < 2; k++) {
		struct options o = options_default(IBV_QPT_RC);
		int opcode = k ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;
		struct bed bed;

		o.rnr_retry = 6;
		o.min_rnr_timer = 1;
		bed_open(&bed, &o, 1, (struct script){ADV_INJECT_NOT_READY, 1, 1, 5});
		for (unsigned i = 0; i < 3; i++) {
			end_recv(bed.b, i, bed.rb, 0, 4096);
			end_op(bed.a, opcode, i, bed.ra, 0, 3000, bed.rb, 0);
		}
		net_until(bed.net, bed.a, 3, 0, SEC);
		for (unsigned i = 0; i < 3; i++) {
			expect_send(bed.a, i, i, IBV_WC_SUCCESS);
			expect_recv(bed.b, i, i, IBV_WC_SUCCESS);
		}
		expect_pattern(bed.rb, 0, 3000, 1, 0);
		assert_int_equal(adv_engine_counters(bed.net->node[1].e)->rnr_nak_sent, 5);
		assert_int_equal(bed.seen, 8);
		bed_close(&bed);
	}
}

/* Notes which bytes of a torn payload of 3000 bytes are placed in between. */
static uint32_t inject_tear(void *user, enum adv_injection what, const struct adv_work *work)
{
	struct bed *bed = user;
	const struct region *r = work->queue == ADV_WORK_SEND ? bed->ra : bed->rb;

	if (what == ADV_INJECT_TEAR)
		bed->last = *work;
	if (what == ADV_INJECT_TORN) {
		bed->seen++;
		assert_int_equal(r->buf[2991], 0);
		assert_int_not_equal(r->buf[2992], 0);
		assert_int_not_equal(r->buf[2999], 0);
	}
	return what == ADV_INJECT_TEAR;
}

/* The end of a packet's payload becomes visible before the rest. */
static void test_tear(void **state)
{
	static const int torn[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND};

	for (unsigned k = 0; k < 3; k++) {
		struct options o = options_default(k ? IBV_QPT_RC : IBV_QPT_UC);
		const bool reads = torn[k] == IBV_WR_RDMA_READ;
		struct bed bed;

		o.mtu = IBV_MTU_4096;
		bed_open(&bed, &o, reads ? 0 : 1, (struct script){ADV_INJECT_TEAR, 1, 0, 1});
		adv_engine_set_injector(bed.net->node[!reads].e, inject_tear, &bed);
		if (reads) {
			region_fill(bed.rb, 1);
			memset(bed.ra->buf, 0, 4096);
		}
		end_recv(bed.b, 0, bed.rb, 0, 4096);
		end_op(bed.a, torn[k], 0, bed.ra, 0, 3000, bed.rb, 0);
		net_until(bed.net, bed.a, 1, 0, SEC);
		expect_send(bed.a, 0, 0, IBV_WC_SUCCESS);
		net_run(bed.net, SEC);
		expect_pattern(reads ? bed.ra : bed.rb, 0, 3000, 1, 0);
		/* A SEND has a completion, so it is not torn. */
		assert_int_equal(bed.seen, k < 2);
		if (k < 2)
			assert_int_equal(bed.last.queue, reads ? ADV_WORK_SEND : ADV_WORK_RECV);
		bed_close(&bed);
	}
}

/* The receiver is not ready for longer than the sender's RNR retries. */
static void test_not_ready_too_long(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.rnr_retry = 2;
	bed_open(&bed, &o, 1, (struct script){ADV_INJECT_NOT_READY, 1, 0, 99});
	end_recv(bed.b, 1, bed.rb, 0, 4096);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 10, NULL, 0);
	net_until(bed.net, bed.a, 1, 0, 100 * SEC);
	expect_send(bed.a, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(bed.a->sends[0].wc.vendor_err, ADV_ERR_RNR_RETRIES);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_post_send),
		cmocka_unit_test(test_post_that_fails_anyway),
		cmocka_unit_test(test_post_recv),
		cmocka_unit_test(test_send_completion),
		cmocka_unit_test(test_unsignaled),
		cmocka_unit_test(test_unreliable_completion),
		cmocka_unit_test(test_recv_completion),
		cmocka_unit_test(test_unreliable_recv),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_tear),
		cmocka_unit_test(test_not_ready_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
