/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fast path: it serves what is usual, leaves the rest, and has the results of the general
 * path. */
#include "../requester/requester_bed.h"
#include "nic/fast/unusual.h"

#define MTU 1024

/* Most tests begin with queue pairs that have completed no request. */
static uint32_t unusual(const struct end *end)
{
	return end->qp->unusual & ~(uint32_t)ADV_UNUSUAL_FIRST;
}

static void check_summary(const struct end *end)
{
	assert_int_equal(end->qp->unusual, adv_qp_unusual(end->qp));
}

/* Posts a request that completes, so that all regions are remembered, and waits for it. */
static void warm_up(struct bed *bed)
{
	unsigned sends = bed->a->send_count, recvs = bed->b->recv_count;

	end_recv(bed->b, 100, bed->rb, 0, 64);
	end_op(bed->a, IBV_WR_RDMA_WRITE, 101, bed->ra, 0, 8, bed->rb, 128);
	end_op(bed->a, IBV_WR_SEND, 102, bed->ra, 0, 8, NULL, 0);
	net_until(bed->net, bed->a, sends + 2, 0, SEC);
	net_until(bed->net, bed->b, 0, recvs + 1, SEC);
	expect_send(bed->a, sends + 1, 102, IBV_WC_SUCCESS);
}

/* ---- the summary word ---- */

static void test_nothing_is_unusual(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	assert_int_equal(unusual(bed.a) | unusual(bed.b), 0);
	warm_up(&bed);
	assert_int_equal(unusual(bed.a) | unusual(bed.b), 0);
	bed_close(&bed);
}

/* The general path handles the first ACK, and makes the histogram. */
static void test_first(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	assert_int_equal(bed.a->qp->unusual, ADV_UNUSUAL_FIRST);
	warm_up(&bed);
	assert_int_equal(bed.a->qp->unusual, 0);
	assert_int_equal(bed.b->qp->unusual, ADV_UNUSUAL_FIRST);
	check_summary(bed.a);
	check_summary(bed.b);
	bed_close(&bed);
}

static void test_other_kinds(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .no_fast_path = true};
	struct options o = options_default(IBV_QPT_UC);
	struct bed bed;

	bed_open(&bed, &o);
	assert_int_equal(unusual(bed.a), ADV_UNUSUAL_KIND);
	bed_close(&bed);
	o = options_default(IBV_QPT_RC);
	bed_open_config(&bed, &o, &c);
	assert_int_equal(unusual(bed.a), ADV_UNUSUAL_KIND);
	warm_up(&bed);
	bed_close(&bed);
}

static void test_states(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_SQD), 0);
	assert_int_equal(unusual(bed.a), ADV_UNUSUAL_STATE);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	net_run(bed.net, MS);
	assert_int_equal(bed.a->send_count, 0);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RTS), 0);
	assert_int_equal(unusual(bed.a), 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_ERR), 0);
	assert_true(unusual(bed.a) & ADV_UNUSUAL_STATE);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 8, bed.rb, 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	expect_send(bed.a, 1, 2, IBV_WC_WR_FLUSH_ERR);
	bed_close(&bed);
}

static uint32_t no_fault(void *user, enum adv_injection what, const struct adv_work *work)
{
	return 0;
}

static void test_injector(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	bed_open(&bed, &o);
	adv_engine_set_injector(bed.net->node[0].e, no_fault, NULL);
	assert_int_equal(unusual(bed.a), ADV_UNUSUAL_FAULTS);
	assert_int_equal(unusual(bed.b), 0);
	adv_engine_set_injector(bed.net->node[0].e, NULL, NULL);
	assert_int_equal(unusual(bed.a), 0);
	bed_close(&bed);
}

static bool lose_third(const struct wire *w)
{
	return w->number == 2;
}

/* While a QP waits for an RNR NAK timer or for lost packets, and until an ACK arrives, it is
 * unusual. New requests wait for the old ones. */
static void test_rnr_and_loss(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.min_rnr_timer = 14; /* 1 ms */
	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 8, NULL, 0);
	net_run(bed.net, 100 * US);
	assert_true(unusual(bed.a) & ADV_UNUSUAL_RNR);
	assert_true(unusual(bed.a) & ADV_UNUSUAL_LOSS);
	end_recv(bed.b, 1, bed.rb, 0, 64);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 8, bed.rb, 0);
	net_run(bed.net, 100 * US);
	assert_int_equal(bed.a->send_count, 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	assert_int_equal(unusual(bed.a), 0);
	bed_close(&bed);

	bed_open(&bed, &o);
	bed.log.lose = lose_third;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8 * MTU, bed.rb, 0);
	net_run(bed.net, 3 * NET_DELAY - 1);
	check_summary(bed.a);
	assert_true(unusual(bed.a) & ADV_UNUSUAL_LOSS);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(unusual(bed.a), 0);
	expect_pattern(bed.rb, 0, 8 * MTU, 1, 0);
	bed_close(&bed);
}

static void test_reads(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct wr wr;
	struct bed bed;

	bed_open(&bed, &o);
	region_fill(bed.rb, 7);
	end_op(bed.a, IBV_WR_RDMA_READ, 1, bed.ra, 4096, 8, bed.rb, 0);
	net_step(bed.net, bed.net->now);
	assert_int_equal(unusual(bed.a), ADV_UNUSUAL_READS);
	/* The fence makes the WRITE wait for the READ's response. */
	wr_make(&wr, IBV_WR_RDMA_WRITE, 2, IBV_SEND_FENCE);
	wr_sge(&wr, bed.ra, 4096, 8);
	wr_remote(&wr, bed.rb, 512);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	assert_int_equal(unusual(bed.a) | unusual(bed.b), 0);
	expect_pattern(bed.rb, 512, 8, 7, 0);
	bed_close(&bed);
}

/* ---- packets ---- */

/* Every 16th packet and the last one of the queue request an ACK. */
static void test_requests_for_acks(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned packets = 0;
	struct bed bed;

	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 20 * MTU, bed.rb, 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 20 * MTU, bed.rb, 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	for (unsigned i = 0; i < bed.log.count; i++) {
		const struct wire *w = &bed.log.w[i];

		if (w->from != 0)
			continue;
		packets++;
		assert_int_equal(w->h.bth.ackreq, packets % 16 == 0 || packets == 40);
		assert_int_equal(w->h.bth.psn, o.psn[0] + packets - 1);
	}
	assert_int_equal(packets, 40);
	bed_close(&bed);
}

/* The ACKs carry the number of messages so far. */
static void test_msn(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned acks = 0;
	struct bed bed;

	bed_open(&bed, &o);
	for (unsigned i = 1; i <= 3; i++) {
		end_op(bed.a, IBV_WR_RDMA_WRITE, i, bed.ra, 0, 2 * MTU, bed.rb, 0);
		net_until(bed.net, bed.a, i, 0, SEC);
	}
	for (unsigned i = 0; i < bed.log.count; i++)
		if (bed.log.w[i].from == 1)
			assert_int_equal(bed.log.w[i].h.aeth.msn, ++acks);
	assert_int_equal(acks, 3);
	bed_close(&bed);
}

/* A QP that is connected again sends to its new peer. */
static void test_new_destination(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct end *other;
	struct bed bed;

	bed_open(&bed, &o);
	warm_up(&bed);
	other = end_open(&bed.net->node[1], &o, NULL);
	assert_int_equal(end_to_state(bed.a, IBV_QPS_RESET), 0);
	ends_connect(bed.a, other, &o);
	end_recv(other, 1, bed.rb, 1024, 64);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 64, NULL, 0);
	net_until(bed.net, other, 0, 1, SEC);
	expect_pattern(bed.rb, 1024, 64, 1, 0);
	bed_close(&bed);
}

/* An ACK for a PSN that was not sent yet completes nothing. */
static void test_ack_from_the_future(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {.bth = {.opcode = ADV_OP_ACKNOWLEDGE, .pkey = ADV_PKEY_DEFAULT}};
	struct bed bed;

	bed_open(&bed, &o);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 8, bed.rb, 0);
	net_step(bed.net, bed.net->now);
	h.bth.dest_qpn = adv_qp_num(bed.a->qp);
	h.bth.psn = o.psn[0] + 1;
	h.aeth.syndrome = ADV_AETH_NO_CREDITS;
	net_inject_packet(bed.net, 1, 0, &h, 0);
	net_run(bed.net, NET_DELAY);
	assert_int_equal(bed.a->send_count, 0);
	assert_int_equal(bed.a->qp->req.una_psn, o.psn[0]);
	net_until(bed.net, bed.a, 1, 0, SEC);
	bed_close(&bed);
}

/* Packets that only the general path may judge are counted as there, and change nothing. */
static void test_bad_packets(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {.bth = {.opcode = ADV_OP_SEND_ONLY, .pkey = ADV_PKEY_DEFAULT}};
	struct bed bed;

	bed_open(&bed, &o);
	end_recv(bed.b, 1, bed.rb, 0, 64);
	h.bth.dest_qpn = adv_qp_num(bed.b->qp);
	h.bth.psn = o.psn[0];
	h.bth.pkey = 0x1234;
	net_inject_packet(bed.net, 0, 1, &h, 8);
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.version = 1;
	net_inject_packet(bed.net, 0, 1, &h, 8);
	h.bth.version = 0;
	net_inject_packet(bed.net, 0, 1, &h, 7); /* no multiple of 4 */
	h.bth.opcode = ADV_SERVICE_UC | ADV_OP_SEND_ONLY;
	net_inject_packet(bed.net, 0, 1, &h, 8);
	net_run(bed.net, MS);
	assert_int_equal(counters(&bed, 1)->rx_bad_pkey, 1);
	assert_int_equal(counters(&bed, 1)->rx_malformed, 2);
	assert_int_equal(counters(&bed, 1)->rx_no_qp, 1);
	assert_int_equal(counters(&bed, 1)->rx_packets, 4);
	assert_int_equal(bed.b->recv_count, 0);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 64, NULL, 0);
	net_until(bed.net, bed.b, 0, 1, SEC);
	bed_close(&bed);
}

/* ---- messages and completions ---- */

/* The completion of a message in several packets has the length of the message, its immediate data
 * and its sender. */
static void test_completion(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	const struct ibv_wc *wc;
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	end_recv(bed.b, 1, bed.rb, 0, 8 * MTU);
	end_recv(bed.b, 2, bed.rb, 0, 8);
	wr_make(&wr, IBV_WR_SEND_WITH_IMM, 1, 0);
	wr.w.imm_data = 0x12345678;
	wr_sge(&wr, bed.ra, 0, 3 * MTU + 5);
	assert_int_equal(end_send(bed.a, &wr), 0);
	wr_make(&wr, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 0);
	wr.w.imm_data = 0x9abcdef0;
	wr_sge(&wr, bed.ra, 0, 2 * MTU);
	wr_remote(&wr, bed.rb, 16384);
	assert_int_equal(end_send(bed.a, &wr), 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	assert_int_equal(bed.b->recv_count, 2);
	wc = &bed.b->recvs[0].wc;
	assert_int_equal(wc->byte_len, 3 * MTU + 5);
	assert_int_equal(wc->opcode, IBV_WC_RECV);
	assert_int_equal(wc->wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc->imm_data, 0x12345678);
	assert_int_equal(wc->src_qp, adv_qp_num(bed.a->qp));
	assert_int_equal(wc->qp_num, adv_qp_num(bed.b->qp));
	wc = &bed.b->recvs[1].wc;
	assert_int_equal(wc->byte_len, 2 * MTU);
	assert_int_equal(wc->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc->imm_data, 0x9abcdef0);
	expect_pattern(bed.rb, 0, 3 * MTU + 5, 1, 0);
	expect_pattern(bed.rb, 16384, 2 * MTU, 1, 0);
	bed_close(&bed);
}

/* A CQ that is armed for solicited events gets one at the end of a solicited message only. */
static void test_solicited(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	struct wr wr;

	bed_open(&bed, &o);
	adv_cq_arm(bed.b->rcq, true);
	for (unsigned i = 0; i < 2; i++) {
		end_recv(bed.b, i, bed.rb, 0, 4 * MTU);
		wr_make(&wr, IBV_WR_SEND, i, i ? IBV_SEND_SOLICITED : 0);
		wr_sge(&wr, bed.ra, 0, 2 * MTU);
		assert_int_equal(end_send(bed.a, &wr), 0);
		net_until(bed.net, bed.b, 0, i + 1, SEC);
		assert_int_equal(net_count_completion_events(&bed.net->node[1], bed.b->rcq), i);
	}
	bed_close(&bed);
}

/* A full CQ overruns as in the general path, and overwrites no completion. */
static void test_full_cq(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.cqe = 2;
	bed_open(&bed, &o);
	bed.b->no_poll = true;
	for (unsigned i = 0; i < 3; i++) {
		end_recv(bed.b, i, bed.rb, 0, 64);
		end_op(bed.a, IBV_WR_SEND, i, bed.ra, 0, 8, NULL, 0);
		net_run(bed.net, 100 * US);
	}
	assert_int_equal(adv_cq_count(bed.b->rcq), 2);
	assert_int_equal(adv_cq_peek(bed.b->rcq)->wc.wr_id, 0);
	assert_int_equal(net_count_events(&bed.net->node[1], IBV_EVENT_CQ_ERR), 1);
	assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
	net_abandon(bed.net);
	free(bed.log.w);
}

/* A WRITE whose packets have more bytes than its RETH says is refused before they are written. */
static void test_write_too_long(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {.bth = {.opcode = ADV_OP_WRITE_FIRST, .pkey = ADV_PKEY_DEFAULT}};
	struct bed bed;

	bed_open(&bed, &o);
	region_fill(bed.rb, 9);
	h.bth.dest_qpn = adv_qp_num(bed.b->qp);
	h.bth.psn = o.psn[0];
	h.reth.va = bed.rb->iova;
	h.reth.rkey = bed.rb->key;
	h.reth.length = MTU + 8;
	net_inject_packet(bed.net, 0, 1, &h, MTU);
	h.bth.opcode = ADV_OP_WRITE_MIDDLE;
	h.bth.psn++;
	net_inject_packet(bed.net, 0, 1, &h, MTU);
	net_run(bed.net, MS);
	assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
	expect_pattern(bed.rb, MTU, MTU, 9, MTU);
	bed_close(&bed);
}

/* A packet as long as the MTU, part of which is padding, is refused if it does not end its message.
 */
static void test_write_padded(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {
		.bth = {.opcode = ADV_OP_WRITE_FIRST, .pkey = ADV_PKEY_DEFAULT, .pad = 1}};
	struct bed bed;

	bed_open(&bed, &o);
	region_fill(bed.rb, 9);
	h.bth.dest_qpn = adv_qp_num(bed.b->qp);
	h.bth.psn = o.psn[0];
	h.reth.va = bed.rb->iova;
	h.reth.rkey = bed.rb->key;
	h.reth.length = 2 * MTU;
	net_inject_packet(bed.net, 0, 1, &h, MTU - 1);
	net_run(bed.net, MS);
	assert_int_equal(end_state(bed.b), IBV_QPS_ERR);
	expect_pattern(bed.rb, 0, MTU, 9, 0);
	bed_close(&bed);
}

/* ---- regions ---- */

static void check_refusal(struct bed *bed, int opcode, enum ibv_wc_status status)
{
	unsigned n = bed->a->send_count;

	end_op(bed->a, opcode, 1, bed->ra, 0, 8, opcode == IBV_WR_SEND ? NULL : bed->rb, 128);
	net_until(bed->net, bed->a, n + 1, 0, SEC);
	expect_send(bed->a, n, 1, status);
}

/* A region that was used before is deregistered: of requests, of receive requests, of the peer's
 * WRITEs. */
static void test_deregistered(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	uint64_t generation;

	bed_open(&bed, &o);
	warm_up(&bed);
	generation = bed.a->qp->engine->mr_generation;
	region_deregister(bed.ra);
	/* The freed memory may keep its contents, so that a memo of it still seems to be right. */
	assert_int_not_equal(bed.a->qp->engine->mr_generation, generation);
	check_refusal(&bed, IBV_WR_RDMA_WRITE, IBV_WC_LOC_PROT_ERR);
	bed_close(&bed);

	bed_open(&bed, &o);
	warm_up(&bed);
	region_deregister(bed.rb);
	check_refusal(&bed, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	bed_close(&bed);

	bed_open(&bed, &o);
	warm_up(&bed);
	end_recv(bed.b, 2, bed.rb, 0, 64);
	region_deregister(bed.rb);
	check_refusal(&bed, IBV_WR_SEND, IBV_WC_REM_OP_ERR);
	bed_close(&bed);
}

/* A region that was used before loses an access right, or moves to another PD. */
static void test_reregistered(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_pd *pd;
	struct bed bed;

	bed_open(&bed, &o);
	warm_up(&bed);
	assert_int_equal(adv_mr_reregister(bed.rb->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0,
					   IBV_ACCESS_LOCAL_WRITE),
			 0);
	check_refusal(&bed, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	bed_close(&bed);

	bed_open(&bed, &o);
	warm_up(&bed);
	pd = adv_pd_create(bed.net->node[1].e);
	assert_int_equal(adv_mr_reregister(bed.rb->mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0, 0),
			 0);
	check_refusal(&bed, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	bed_close(&bed);
}

/* The table of keys grows: what was remembered before it is not taken for valid again. */
static void test_table_grows(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_pd *pd;
	struct bed bed;

	bed_open(&bed, &o);
	warm_up(&bed);
	pd = adv_pd_create(bed.net->node[1].e);
	assert_int_equal(adv_mr_reregister(bed.rb->mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0, 0),
			 0);
	for (unsigned i = 0; i < 64; i++)
		region_open(&bed.net->node[1], 64, ALL_ACCESS);
	check_refusal(&bed, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	bed_close(&bed);
}

/* ---- both paths ---- */

/* Posts requests of all shapes and runs. */
static void run_all(struct bed *bed)
{
	static const uint32_t lengths[] = {0, 1, 8, MTU, MTU + 1, 5 * MTU - 3, 40 * MTU};
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_SEND_WITH_IMM,
				      IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};
	unsigned n = 0;

	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < 5; k++) {
			end_recv(bed->b, n, bed->rb, 0, 64 * MTU);
			end_op(bed->a, opcodes[k], ++n, bed->ra, 0, lengths[i],
			       opcodes[k] == IBV_WR_SEND || opcodes[k] == IBV_WR_SEND_WITH_IMM
				       ? NULL
				       : bed->rb,
			       100 * MTU);
			if (n % 3 == 0)
				net_until(bed->net, bed->a, n, 0, SEC);
		}
	net_until(bed->net, bed->a, n, 0, SEC);
}

static void check_same_packets(const struct bed *fast, const struct bed *general)
{
	assert_int_equal(fast->log.count, general->log.count);
	for (unsigned i = 0; i < fast->log.count; i++) {
		const struct wire *a = &fast->log.w[i], *b = &general->log.w[i];

		assert_int_equal(a->from, b->from);
		assert_int_equal(a->sent, b->sent);
		assert_int_equal(a->len, b->len);
		assert_int_equal(a->h.bth.opcode, b->h.bth.opcode);
		assert_int_equal(a->h.bth.dest_qpn, b->h.bth.dest_qpn);
		assert_int_equal(a->h.bth.psn, b->h.bth.psn);
		assert_int_equal(a->h.bth.ackreq, b->h.bth.ackreq);
		assert_int_equal(a->h.bth.pad, b->h.bth.pad);
	}
	for (unsigned i = 0; i < 2; i++)
		assert_memory_equal(counters(fast, i), counters(general, i),
				    sizeof(struct adv_engine_counters));
}

#define PAIRS 8

/* Many QPs share a small window. READs of several packets wait for room in the window, while small
 * WRITEs still find room. Each WRITE makes the waiting READs try again, and so decides which QP
 * sends next. */
static void run_many(struct bed *bed, bool no_fast_path)
{
	struct adv_engine_config c = {
		.seed = {1}, .window = 8, .total_window = 7, .no_fast_path = no_fast_path};
	struct options o = options_default(IBV_QPT_RC);
	struct end *from[PAIRS], *to;
	uint32_t draw = 1;

	bed_open_config(bed, &o, &c);
	from[0] = bed->a;
	for (unsigned i = 1; i < PAIRS; i++)
		pair_open(bed->net, &o, &from[i], &to);
	for (unsigned i = 0; i < 400; i++) {
		struct end *end;

		draw = draw * 1664525 + 1013904223;
		end = from[(draw >> 16) % PAIRS];
		end_op(end, draw >> 24 & 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, i, bed->ra, 0,
		       (draw >> 20) % 4 * MTU + 1, bed->rb, 0);
		if (draw >> 28 & 1)
			net_step(bed->net, bed->net->now + NET_DELAY);
		if (i % 32 == 31)
			net_run(bed->net, 100 * US);
	}
	net_run(bed->net, MS);
}

static void test_same_order(void **state)
{
	struct bed fast, general;

	run_many(&fast, false);
	run_many(&general, true);
	check_same_packets(&fast, &general);
	bed_close(&fast);
	bed_close(&general);
}

static void test_same_packets(void **state)
{
	struct adv_engine_config c = {.seed = {1}};
	struct options o = options_default(IBV_QPT_RC);
	struct bed fast, general;

	bed_open_config(&fast, &o, &c);
	run_all(&fast);
	c.no_fast_path = true;
	bed_open_config(&general, &o, &c);
	run_all(&general);
	check_same_packets(&fast, &general);
	assert_int_equal(fast.b->recv_count, general.b->recv_count);
	bed_close(&fast);
	bed_close(&general);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_unusual),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_injector),
		cmocka_unit_test(test_rnr_and_loss),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_requests_for_acks),
		cmocka_unit_test(test_msn),
		cmocka_unit_test(test_new_destination),
		cmocka_unit_test(test_ack_from_the_future),
		cmocka_unit_test(test_bad_packets),
		cmocka_unit_test(test_completion),
		cmocka_unit_test(test_solicited),
		cmocka_unit_test(test_full_cq),
		cmocka_unit_test(test_write_too_long),
		cmocka_unit_test(test_write_padded),
		cmocka_unit_test(test_deregistered),
		cmocka_unit_test(test_reregistered),
		cmocka_unit_test(test_table_grows),
		cmocka_unit_test(test_same_packets),
		cmocka_unit_test(test_same_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
