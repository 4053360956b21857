/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests XRC requests, which name an SRQ of a domain. */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/memory/domain.h"
#include "nic/queue/srq.h"

#define LEN 20000

struct world {
	struct net *net;
	struct options o;
	struct end *a, *b;	  /* XRC_SEND on node 0, XRC_RECV on node 1 with an SRQ */
	struct region *from, *to; /* ALL_ACCESS, filled with 1 and 2 */
};

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->net = net_open(3, 1);
	w->o = options_default(IBV_QPT_XRC_SEND);
	pair_open(w->net, &w->o, &w->a, &w->b);
	w->from = region_open(&w->net->node[0], LEN, ALL_ACCESS);
	w->to = region_open(&w->net->node[1], LEN, ALL_ACCESS);
	region_fill(w->from, 1);
	region_fill(w->to, 2);
}

/* Opens another SRQ on node 1, and its XRC_RECV QP. */
static struct end *more(struct world *w, struct adv_xrcd *xrcd)
{
	struct options o = w->o;

	o.type = IBV_QPT_XRC_RECV;
	o.xrcd = xrcd;
	return end_open(&w->net->node[1], &o, NULL);
}

static void send_to(struct world *w, uint64_t id, uint32_t srqn, uint32_t len)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_SEND, id, 0);
	wr_sge(&wr, w->from, 0, len);
	wr.w.qp_type.xrc.remote_srqn = srqn;
	assert_int_equal(end_send(w->a, &wr), 0);
}

static unsigned events_of(const struct world *w, enum ibv_event_type type)
{
	return net_count_events(&w->net->node[1], type);
}

static void test_objects(void **state)
{
	struct net *net = net_open(2, 1);
	struct adv_engine *e = net->node[0].e;
	struct ibv_srq_attr attr = {.max_wr = 5, .max_sge = 2};
	struct adv_xrcd *xrcd = adv_xrcd_create(e);
	struct adv_pd *pd = adv_pd_create(e);
	struct adv_cq *cq = adv_cq_create(e, 10, NULL);
	struct adv_qp_config c = {.type = IBV_QPT_XRC_RECV, .cap = {1, 1, 1, 1, 1}};
	struct adv_srq *srq, *basic;
	uint32_t number;
	struct adv_qp *qp;

	srq = adv_srq_create_xrc(pd, xrcd, cq, &attr, net);
	assert_non_null(srq);
	assert_true(attr.max_wr >= 5 && attr.max_sge >= 2);
	assert_ptr_equal(adv_srq_user(srq), net);
	number = adv_srq_number(srq);
	assert_true(number > 0 && number <= 0xffffff);
	assert_int_equal(adv_pd_destroy(pd), EBUSY);
	assert_int_equal(adv_cq_destroy(cq), EBUSY);
	assert_int_equal(adv_xrcd_destroy(xrcd), EBUSY);
	assert_int_equal(adv_srq_destroy(srq), 0);
	/* A released number is not reused at once. */
	srq = adv_srq_create_xrc(pd, xrcd, cq, &attr, NULL);
	assert_int_not_equal(adv_srq_number(srq), number);
	assert_int_equal(adv_srq_destroy(srq), 0);
	assert_int_equal(adv_cq_destroy(cq), 0);
	basic = adv_srq_create(e, pd, &attr, NULL);
	assert_int_equal(adv_srq_number(basic), 0);
	assert_int_equal(adv_srq_destroy(basic), 0);
	assert_int_equal(adv_pd_destroy(pd), 0);

	errno = 0;
	assert_null(adv_qp_create(e, &c));
	assert_int_equal(errno, EINVAL);
	c.xrcd = xrcd;
	qp = adv_qp_create(e, &c);
	assert_non_null(qp);
	assert_int_equal(c.cap.max_send_wr + c.cap.max_recv_wr + c.cap.max_inline_data, 0);
	assert_int_equal(adv_xrcd_destroy(xrcd), EBUSY);
	assert_ptr_equal(adv_xrcd_find_qp(xrcd, adv_qp_num(qp)), qp);
	assert_null(adv_xrcd_find_qp(xrcd, adv_qp_num(qp) + 1));
	assert_null(adv_xrcd_find_qp(net->node[0].xrcd, adv_qp_num(qp)));
	assert_int_equal(adv_qp_destroy(qp), 0);
	assert_int_equal(adv_xrcd_destroy(xrcd), 0);
	net_close(net);
}

/* Checks that each packet is of the XRC service, and that requests carry the SRQ number but
 * responses do not. */
static void check_wire(struct net *net, struct wire *p)
{
	const struct world *w = net->arg;
	const struct adv_opcode_info *info = &adv_opcode_table[p->h.bth.opcode];

	assert_int_equal(p->h.bth.opcode & ADV_SERVICE_MASK, ADV_SERVICE_XRC);
	assert_int_equal(p->from, info->flags & ADV_PKT_REQUEST ? 0 : 1);
	assert_int_equal(!!(info->headers & ADV_HAS_XRCETH), !!(info->flags & ADV_PKT_REQUEST));
	if (info->flags & ADV_PKT_REQUEST)
		assert_int_equal(p->h.xrceth.xrcsrq, adv_srq_number(w->b->srq));
}

static void test_operations(void **state)
{
	static const int opcodes[] = {IBV_WR_SEND,	 IBV_WR_SEND_WITH_IMM,
				      IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
				      IBV_WR_RDMA_READ,	 ADV_WR_ATOMIC_WRITE,
				      ADV_WR_FLUSH};
	static const uint32_t lengths[] = {0, 1, 1023, 1024, 1025, 5000};
	struct world w;
	unsigned sends = 0, recvs = 0;

	open_world(&w);
	w.net->hook = check_wire;
	w.net->arg = &w;
	for (size_t i = 0; i < 7; i++) {
		for (size_t l = 0; l < 6; l++) {
			bool takes = opcodes[i] != IBV_WR_RDMA_READ && i != 2 && i < 5;
			struct wr wr;

			if (takes)
				end_recv(w.b, recvs, w.to, 6000, 6000);
			wr_make(&wr, opcodes[i], sends, 0);
			wr.w.imm_data = sends;
			if (i < 5)
				wr_sge(&wr, w.from, 0, lengths[l]);
			wr_remote(&wr, w.to, 0);
			wr.w.wr.atomic.swap = i == 6;
			assert_int_equal(end_send(w.a, &wr), 0);
			net_until(w.net, w.a, sends + 1, 0, SEC);
			expect_send(w.a, sends, sends, IBV_WC_SUCCESS);
			if (takes) {
				const struct ibv_wc *wc = &w.b->recvs[recvs].wc;

				net_until(w.net, w.b, 0, recvs + 1, SEC);
				expect_recv(w.b, recvs, recvs, IBV_WC_SUCCESS);
				assert_int_equal(wc->byte_len, lengths[l]);
				assert_int_equal(wc->qp_num, adv_qp_num(w.b->qp));
				assert_int_equal(wc->src_qp, adv_qp_num(w.a->qp));
				assert_int_equal(!!(wc->wc_flags & IBV_WC_WITH_IMM), i & 1);
				recvs++;
			}
			sends++;
		}
	}
	expect_pattern(w.to, 6000, 5000, 1, 0);
	net_run(w.net, MS);
	end_close(w.a);
	end_close(w.b);
	net_close(w.net);
}

static void test_atomics(void **state)
{
	struct world w;
	uint64_t *there, *here;
	struct wr wr;

	open_world(&w);
	there = (uint64_t *)(void *)w.to->buf;
	here = (uint64_t *)(void *)w.from->buf;
	*there = 40;
	wr_make(&wr, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	wr_sge(&wr, w.from, 0, 8);
	wr_remote(&wr, w.to, 0);
	wr.w.wr.atomic.compare_add = 2;
	assert_int_equal(end_send(w.a, &wr), 0);
	wr_make(&wr, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 0);
	wr_sge(&wr, w.from, 8, 8);
	wr_remote(&wr, w.to, 0);
	wr.w.wr.atomic.compare_add = 42;
	wr.w.wr.atomic.swap = 7;
	assert_int_equal(end_send(w.a, &wr), 0);
	net_run(w.net, SEC);
	expect_send(w.a, 0, 1, IBV_WC_SUCCESS);
	expect_send(w.a, 1, 2, IBV_WC_SUCCESS);
	assert_true(here[0] == 40 && here[1] == 42 && *there == 7);
	net_close(w.net);
}

/* A QP can reach every SRQ of its domain, and several QPs can reach the same SRQ. */
static void test_many_to_many(void **state)
{
	struct world w;
	struct end *b[3], *a2, *b2;
	struct options recv;

	open_world(&w);
	recv = w.o;
	recv.type = IBV_QPT_XRC_RECV;
	b[0] = w.b;
	b[1] = more(&w, NULL);
	b[2] = more(&w, NULL);
	a2 = end_open(&w.net->node[2], &w.o, NULL);
	b2 = end_open(&w.net->node[1], &recv, NULL);
	ends_connect(a2, b2, &w.o);
	for (unsigned i = 0; i < 30; i++)
		end_recv(b[i % 3], 1000 + i, w.to, 3000 * (i % 3), 3000);
	for (unsigned i = 0; i < 15; i++)
		send_to(&w, i, adv_srq_number(b[i % 3]->srq), 100 * i);
	for (unsigned i = 0; i < 15; i++) {
		struct wr wr;

		wr_make(&wr, IBV_WR_SEND, 100 + i, 0);
		wr.w.qp_type.xrc.remote_srqn = adv_srq_number(b[i % 3]->srq);
		assert_int_equal(end_send(a2, &wr), 0);
	}
	net_run(w.net, SEC);
	assert_int_equal(w.a->send_count, 15);
	assert_int_equal(a2->send_count, 15);
	for (int k = 0; k < 3; k++) {
		unsigned from_a = 0;

		assert_int_equal(b[k]->recv_count, 10);
		for (unsigned i = 0; i < 10; i++) {
			const struct ibv_wc *wc = &b[k]->recvs[i].wc;
			bool first = wc->qp_num == adv_qp_num(w.b->qp);

			assert_int_equal(wc->status, IBV_WC_SUCCESS);
			assert_int_equal(wc->qp_num, adv_qp_num(first ? w.b->qp : b2->qp));
			assert_int_equal(wc->src_qp, adv_qp_num(first ? w.a->qp : a2->qp));
			if (first)
				assert_int_equal(wc->byte_len, 100 * (3 * from_a + k));
			from_a += first;
		}
		assert_int_equal(from_a, 5);
	}
	net_close(w.net);
}

static void expect_refused(struct world *w, uint64_t id)
{
	net_run(w->net, SEC);
	expect_send(w->a, w->a->send_count - 1, id, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(w->a->sends[w->a->send_count - 1].wc.vendor_err,
			 ADV_ERR_NAK_INVALID_REQUEST);
	assert_int_equal(end_state(w->a), IBV_QPS_ERR);
	assert_int_equal(end_state(w->b), IBV_QPS_ERR);
	assert_int_equal(events_of(w, IBV_EVENT_QP_REQ_ERR), 1);
	assert_int_equal(events_of(w, IBV_EVENT_QP_LAST_WQE_REACHED), 1);
	assert_int_equal(w->b->recv_count, 0);
}

/* A request of any kind is refused if its number names no SRQ of the domain. No receive request is
 * used. */
static void test_wrong_number(void **state)
{
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
				      IBV_WR_RDMA_READ};

	for (int i = 0; i < 4; i++) {
		for (int kind = 0; kind < 4; kind++) {
			struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
			struct world w;
			struct end *other;
			struct adv_srq *gone;
			uint32_t number;
			struct wr wr;

			open_world(&w);
			other = more(&w, adv_xrcd_create(w.net->node[1].e));
			end_recv(w.b, 1, w.to, 0, LEN);
			end_recv(other, 2, w.to, 0, LEN);
			gone = adv_srq_create_xrc(w.net->node[1].pd, w.net->node[1].xrcd,
						  other->rcq, &attr, NULL);
			number = kind == 0   ? 0xffffff
				 : kind == 1 ? adv_srq_number(other->srq)
				 : kind == 2 ? adv_srq_number(gone)
					     : 0;
			if (kind == 2)
				adv_srq_destroy(gone);
			wr_make(&wr, opcodes[i], 7, 0);
			wr_sge(&wr, w.from, 0, 3000);
			wr_remote(&wr, w.to, 0);
			wr.w.qp_type.xrc.remote_srqn = number;
			if (kind == 3)
				w.a->remote_srqn = 0;
			assert_int_equal(end_send(w.a, &wr), 0);
			expect_refused(&w, 7);
			assert_int_equal(other->recv_count, 0);
			expect_pattern(w.to, 0, LEN, 2, 0);
			/* The SRQ is unchanged: a message over another connection is received. */
			assert_int_equal(w.b->srq->fifo_head - w.b->srq->fifo_tail, 1);
			net_close(w.net);
		}
	}
}

/* If the SRQ is empty, the peer gets RNR NAKs, even if other SRQs of the domain have receive
 * requests. */
static void test_rnr(void **state)
{
	struct world w;
	struct end *other;

	open_world(&w);
	other = more(&w, NULL);
	end_recv(other, 9, w.to, 0, 1000);
	send_to(&w, 1, adv_srq_number(w.b->srq), 2500);
	net_run(w.net, MS);
	assert_int_equal(w.a->send_count, 0);
	assert_true(w.net->node[1].e->counters.rnr_nak_sent > 0);
	end_recv(w.b, 1, w.to, 0, 5000);
	net_until(w.net, w.a, 1, 0, SEC);
	expect_send(w.a, 0, 1, IBV_WC_SUCCESS);
	expect_recv(w.b, 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(other->recv_count, 0);
	/* A message to the other SRQ arrives after an earlier message that gets RNR NAKs. */
	send_to(&w, 2, adv_srq_number(w.b->srq), 100);
	send_to(&w, 3, adv_srq_number(other->srq), 100);
	net_run(w.net, MS);
	assert_int_equal(other->recv_count, 0);
	end_recv(w.b, 2, w.to, 0, 5000);
	net_until(w.net, w.a, 3, 0, SEC);
	expect_recv(w.b, 1, 2, IBV_WC_SUCCESS);
	expect_recv(other, 0, 9, IBV_WC_SUCCESS);
	net_run(w.net, MS);
	net_close(w.net);
}

static void test_rnr_retries(void **state)
{
	struct world w;

	open_world(&w);
	end_close(w.a);
	w.a = end_open(&w.net->node[0], &w.o, NULL);
	assert_int_equal(end_to_state(w.b, IBV_QPS_RESET), 0);
	w.o.rnr_retry = 2;
	ends_connect(w.a, w.b, &w.o);
	send_to(&w, 1, adv_srq_number(w.b->srq), 1);
	net_run(w.net, SEC);
	expect_send(w.a, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(w.net->node[1].e->counters.rnr_nak_sent, 3);
	assert_int_equal(end_state(w.b), IBV_QPS_RTS);
	net_close(w.net);
}

static struct adv_headers packet(const struct world *w, int op, uint32_t psn, uint32_t srqn)
{
	struct adv_headers h = {.bth = {.opcode = (uint8_t)(ADV_SERVICE_XRC | op),
					.pkey = 0xffff,
					.dest_qpn = adv_qp_num(w->b->qp),
					.ackreq = true,
					.psn = psn}};

	h.xrceth.xrcsrq = srqn;
	return h;
}

/* A message that changes its SRQ is refused, and its receive request completes. */
static void test_change_in_mid_message(void **state)
{
	struct world w;
	struct end *other;
	struct adv_headers h;

	open_world(&w);
	other = more(&w, NULL);
	end_recv(w.b, 1, w.to, 0, 5000);
	end_recv(other, 2, w.to, 0, 5000);
	h = packet(&w, ADV_OP_SEND_FIRST, w.o.psn[0], adv_srq_number(w.b->srq));
	net_inject_packet(w.net, 0, 1, &h, 1024);
	h = packet(&w, ADV_OP_SEND_LAST, w.o.psn[0] + 1, adv_srq_number(other->srq));
	net_inject_packet(w.net, 0, 1, &h, 12);
	net_run(w.net, MS);
	expect_recv(w.b, 0, 1, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(w.b->recvs[0].wc.vendor_err, ADV_ERR_XRC_SRQ_CHANGED);
	assert_int_equal(w.b->srq->free_count, w.b->srq->max_wr);
	assert_int_equal(other->recv_count, 0);
	assert_int_equal(end_state(w.b), IBV_QPS_ERR);
	net_close(w.net);
}

/* If an SRQ is destroyed during a message, the message is refused, and the SRQ's memory is not
 * used. */
static void test_srq_goes(void **state)
{
	for (int op = ADV_OP_SEND_FIRST; op <= ADV_OP_WRITE_FIRST; op += ADV_OP_WRITE_FIRST) {
		struct world w;
		struct end *other;
		struct adv_headers h;
		uint32_t number;

		open_world(&w);
		other = more(&w, NULL);
		number = adv_srq_number(other->srq);
		end_recv(other, 1, w.to, 0, 5000);
		h = packet(&w, op, w.o.psn[0], number);
		h.reth.va = w.to->iova;
		h.reth.rkey = w.to->key;
		h.reth.length = 2000;
		net_inject_packet(w.net, 0, 1, &h, 1024);
		net_run(w.net, MS);
		end_close(other);
		h = packet(&w, op + 1, w.o.psn[0] + 1, number);
		net_inject_packet(w.net, 0, 1, &h, 976);
		net_run(w.net, MS);
		assert_int_equal(end_state(w.b), IBV_QPS_ERR);
		assert_int_equal(events_of(&w, IBV_EVENT_QP_REQ_ERR), 1);
		net_close(w.net);
	}
}

/* If an SRQ is destroyed between messages, messages to other SRQs of the domain continue. */
static void test_srq_goes_between(void **state)
{
	struct world w;
	struct end *other;

	open_world(&w);
	other = more(&w, NULL);
	end_recv(other, 1, w.to, 0, 5000);
	end_recv(w.b, 2, w.to, 0, 5000);
	send_to(&w, 1, adv_srq_number(other->srq), 10);
	net_until(w.net, w.a, 1, 0, SEC);
	net_run(w.net, MS);
	end_close(other);
	send_to(&w, 2, adv_srq_number(w.b->srq), 10);
	net_until(w.net, w.a, 2, 0, SEC);
	expect_recv(w.b, 0, 2, IBV_WC_SUCCESS);
	net_run(w.net, MS);
	net_close(w.net);
}

static void test_limit(void **state)
{
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct world w;

	open_world(&w);
	assert_int_equal(adv_srq_modify(w.b->srq, &attr, IBV_SRQ_LIMIT), 0);
	for (unsigned i = 0; i < 3; i++)
		end_recv(w.b, i, w.to, 0, 100);
	send_to(&w, 1, 0, 1);
	net_until(w.net, w.b, 0, 1, SEC);
	assert_int_equal(events_of(&w, IBV_EVENT_SRQ_LIMIT_REACHED), 0);
	send_to(&w, 2, 0, 1);
	send_to(&w, 3, 0, 1);
	net_until(w.net, w.b, 0, 3, SEC);
	assert_int_equal(events_of(&w, IBV_EVENT_SRQ_LIMIT_REACHED), 1);
	net_run(w.net, MS);
	net_close(w.net);
}

/* Completions in the SRQ's CQ can be polled after the QP is destroyed. */
static void test_completions_outlive_the_qp(void **state)
{
	struct world w;
	struct ibv_wc wc;
	uint32_t qpn;

	open_world(&w);
	w.b->no_poll = true;
	end_recv(w.b, 5, w.to, 0, 100);
	send_to(&w, 1, 0, 1);
	net_until(w.net, w.a, 1, 0, SEC);
	net_run(w.net, MS);
	qpn = adv_qp_num(w.b->qp);
	assert_int_equal(adv_qp_destroy(w.b->qp), 0);
	w.b->qp = NULL;
	assert_int_equal(adv_cq_poll(w.b->rcq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.qp_num, qpn);
	net_close(w.net);
}

/* An XRC_SEND QP cannot receive and an XRC_RECV QP cannot send. Packets of the wrong direction have
 * no effect. */
static void test_one_way(void **state)
{
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv;
	struct adv_engine_counters *c;
	struct adv_headers h;
	struct world w;

	open_world(&w);
	assert_int_equal(adv_qp_post_send(w.b->qp, 0, &send, &bad_send), EINVAL);
	assert_ptr_equal(bad_send, &send);
	assert_int_equal(adv_qp_post_recv(w.b->qp, 0, &recv, &bad_recv), EINVAL);
	assert_int_equal(adv_qp_post_recv(w.a->qp, 0, &recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv);
	/* Tries a request to the sender, a response to the receiver, and RC packets to both. */
	h = packet(&w, ADV_OP_SEND_ONLY, w.o.psn[1], adv_srq_number(w.b->srq));
	h.bth.dest_qpn = adv_qp_num(w.a->qp);
	c = &w.net->node[0].e->counters;
	net_inject_packet(w.net, 1, 0, &h, 12);
	net_run(w.net, MS);
	assert_int_equal(c->rx_no_qp, 1);
	h.bth.psn--; /* a duplicate, too */
	net_inject_packet(w.net, 1, 0, &h, 12);
	h.bth.opcode = ADV_SERVICE_RC | ADV_OP_ACKNOWLEDGE;
	net_inject_packet(w.net, 1, 0, &h, 0);
	net_run(w.net, MS);
	assert_int_equal(c->rx_no_qp, 3);
	c = &w.net->node[1].e->counters;
	h = packet(&w, ADV_OP_ACKNOWLEDGE, w.o.psn[1], 0);
	net_inject_packet(w.net, 0, 1, &h, 0);
	h = packet(&w, ADV_OP_SEND_ONLY, w.o.psn[0], 0);
	h.bth.opcode = ADV_SERVICE_RC | ADV_OP_SEND_ONLY;
	net_inject_packet(w.net, 0, 1, &h, 12);
	net_run(w.net, MS);
	assert_int_equal(c->rx_no_qp, 2);
	assert_int_equal(w.net->sent, 0);
	assert_int_equal(end_state(w.a), IBV_QPS_RTS);
	assert_int_equal(end_state(w.b), IBV_QPS_RTS);
	net_close(w.net);
}

static void post_read(struct world *w, uint64_t id, const struct region *remote, uint32_t srqn,
		      uint64_t offset)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_RDMA_READ, id, 0);
	wr_sge(&wr, w->from, offset, 3000);
	wr_remote(&wr, remote, 0);
	wr.w.qp_type.xrc.remote_srqn = srqn;
	assert_int_equal(end_send(w->a, &wr), 0);
}

static void lose_first_responses(struct net *net, struct wire *p)
{
	unsigned *left = net->arg;

	if (p->from == 1 && *left) {
		p->copies = 0;
		(*left)--;
	}
}

/* Remote access is to the memory of the SRQ's PD. A lost response is repeated from that memory,
 * even if requests for another SRQ arrived since. */
static void test_protection_domain(void **state)
{
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	unsigned lost = 4;
	struct world w;
	struct node *n;
	struct adv_pd *pd;
	struct region *apart;
	struct adv_srq *srq;

	open_world(&w);
	n = &w.net->node[1];
	pd = adv_pd_create(n->e);
	apart = region_open_at(n, pd, LEN, 0x10000, ALL_ACCESS);
	region_fill(apart, 9);
	srq = adv_srq_create_xrc(pd, n->xrcd, w.b->rcq, &attr, NULL);
	w.net->hook = lose_first_responses;
	w.net->arg = &lost;
	post_read(&w, 1, apart, adv_srq_number(srq), 0);
	post_read(&w, 2, w.to, adv_srq_number(w.b->srq), 3000);
	post_read(&w, 3, apart, adv_srq_number(srq), 6000);
	net_until(w.net, w.a, 3, 0, SEC);
	expect_send(w.a, 2, 3, IBV_WC_SUCCESS);
	expect_pattern(w.from, 0, 3000, 9, 0);
	expect_pattern(w.from, 3000, 3000, 2, 0);
	expect_pattern(w.from, 6000, 3000, 9, 0);
	assert_int_equal(lost, 0);
	post_read(&w, 4, apart, adv_srq_number(w.b->srq), 0);
	net_until(w.net, w.a, 4, 0, SEC);
	expect_send(w.a, 3, 4, IBV_WC_REM_ACCESS_ERR);
	net_run(w.net, MS);
	assert_int_equal(events_of(&w, IBV_EVENT_QP_ACCESS_ERR), 1);
	net_close(w.net);
}

/* Tests faults of the receive request, and an overrun of the SRQ's CQ. */
static void test_bad_receives(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		struct ibv_sge sge = {.addr = 1, .length = 100, .lkey = 0x1234567};
		struct world w;

		open_world(&w);
		if (kind == 0)
			assert_int_equal(end_recv_sges(w.b, 1, &sge, 1), 0);
		else
			end_recv(w.b, 1, w.to, 0, 50);
		if (kind == 2) {
			w.b->no_poll = true;
			assert_int_equal(adv_cq_resize(w.b->rcq, 1), 0);
			end_recv(w.b, 2, w.to, 0, 50);
			send_to(&w, 1, 0, 10);
		}
		send_to(&w, 2, 0, kind == 2 ? 10 : 100);
		net_run(w.net, SEC);
		if (kind == 2) {
			assert_int_equal(events_of(&w, IBV_EVENT_CQ_ERR), 1);
			assert_int_equal(events_of(&w, IBV_EVENT_QP_FATAL), 1);
		} else {
			expect_recv(w.b, 0, 1, kind ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR);
			expect_send(w.a, 0, 2, kind ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
			assert_int_equal(events_of(&w, IBV_EVENT_QP_LAST_WQE_REACHED), 1);
		}
		assert_int_equal(end_state(w.b), IBV_QPS_ERR);
		net_close(w.net);
	}
}

/* Drops one packet of the run, and duplicates all other packets. */
static void lose_one_double_all(struct net *net, struct wire *p)
{
	const uint64_t *victim = net->arg;

	p->copies = p->number == *victim ? 0 : 2;
}

static void test_loss_of_each_packet(void **state)
{
	for (uint64_t victim = 0; victim < 20; victim++) {
		struct world w;
		struct end *other;

		open_world(&w);
		other = more(&w, NULL);
		w.net->hook = lose_one_double_all;
		w.net->arg = &victim;
		end_recv(w.b, 1, w.to, 4000, 4000);
		end_recv(other, 2, w.to, 8000, 4000);
		send_to(&w, 1, adv_srq_number(w.b->srq), 2500);
		send_to(&w, 2, adv_srq_number(other->srq), 3500);
		post_read(&w, 3, w.to, adv_srq_number(w.b->srq), 10000);
		net_until(w.net, w.a, 3, 0, 10 * SEC);
		net_run(w.net, 10 * SEC);
		for (unsigned i = 0; i < 3; i++)
			expect_send(w.a, i, i + 1, IBV_WC_SUCCESS);
		assert_int_equal(w.b->recv_count, 1);
		assert_int_equal(other->recv_count, 1);
		expect_pattern(w.to, 4000, 2500, 1, 0);
		expect_pattern(w.to, 8000, 3500, 1, 0);
		expect_pattern(w.from, 10000, 3000, 2, 0);
		net_close(w.net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_many_to_many),
		cmocka_unit_test(test_wrong_number),
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_rnr_retries),
		cmocka_unit_test(test_change_in_mid_message),
		cmocka_unit_test(test_srq_goes),
		cmocka_unit_test(test_srq_goes_between),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_completions_outlive_the_qp),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_protection_domain),
		cmocka_unit_test(test_bad_receives),
		cmocka_unit_test(test_loss_of_each_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
