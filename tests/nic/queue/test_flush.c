/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outstanding requests at an error (IBTA 10.3.1.7, 10.7.3). The failed request completes with the
 * error. Requests before it complete with their own result. Requests after it are flushed, signaled
 * or not. All complete in posting order, each once. The same holds for receive requests.
 */
#include "../engine/harness.h"
#include "nic/queue/srq.h"

#define REQUESTS 8
#define LEN	 8192

struct bed {
	struct options o;
	struct net *net;
	struct end *a, *b;
	struct region *ra, *rb;
	struct adv_ah ah;
	unsigned lost; /* number of responses still to drop */
};

static void lose_responses(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	if (w->from == 1 && bed->lost) {
		bed->lost--;
		w->copies = 0;
	}
}

static bool is_connected(const struct bed *bed)
{
	return bed->o.type != IBV_QPT_UD && bed->o.type != IBV_QPT_UC;
}

static void bed_open(struct bed *bed, enum ibv_qp_type type)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 5);
	bed->net->hook = lose_responses;
	bed->net->arg = bed;
	bed->o = options_default(type);
	bed->o.sig_all = false;
	pair_open(bed->net, &bed->o, &bed->a, &bed->b);
	bed->ra = region_open(&bed->net->node[0], LEN, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], LEN, ALL_ACCESS);
	memcpy(attr.grh.dgid.raw, bed->net->node[1].gid[0].raw, 16);
	assert_int_equal(adv_qp_path_from_attr(bed->net->node[0].e, &attr, 0, 0, &bed->ah.path), 0);
	bed->ah.pd = bed->net->node[0].pd;
	/* There is a receive request for each message, and two more. */
	for (uint64_t i = 0; i < REQUESTS + 2; i++)
		end_recv(bed->b, i, bed->rb, 0, 2048);
	if (type != IBV_QPT_XRC_SEND)
		for (uint64_t i = 0; i < 3; i++)
			end_recv(bed->a, 100 + i, bed->ra, 0, 64);
}

/* Posts a request. `id` selects one of the kinds of the transport in turn. The request is signaled
 * if its bit is set. */
static void post(struct bed *bed, uint64_t id, unsigned signaled, int bad_lkey, int bad_rkey)
{
	static const int kinds[] = {
		IBV_WR_RDMA_WRITE,	     IBV_WR_RDMA_READ,		 IBV_WR_SEND,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};
	int opcode = kinds[id % 6];
	struct wr wr;

	if (bed->o.type == IBV_QPT_UD)
		opcode = IBV_WR_SEND;
	else if (bed->o.type == IBV_QPT_UC && id % 2)
		opcode = IBV_WR_SEND;
	if ((int)id == bad_rkey)
		opcode = IBV_WR_RDMA_WRITE;
	wr_make(&wr, opcode, id, signaled >> id & 1 ? IBV_SEND_SIGNALED : 0);
	wr_sge(&wr, bed->ra, 0, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 1500);
	if (opcode != IBV_WR_SEND)
		wr_remote(&wr, bed->rb, 0);
	if (bed->o.type == IBV_QPT_UD) {
		wr.w.wr.ud.ah = &bed->ah.ibv;
		wr.w.wr.ud.remote_qpn = adv_qp_num(bed->b->qp);
		wr.w.wr.ud.remote_qkey = bed->o.qkey;
	}
	if ((int)id == bad_lkey)
		wr.sge[0].lkey ^= 0x100;
	if ((int)id == bad_rkey)
		wr.w.wr.rdma.rkey ^= 0x100;
	assert_int_equal(end_send(bed->a, &wr), 0);
}

/* Checks the completions: signaled requests before `failed` succeed, `failed` has the status, and
 * all requests after it are flushed. */
static void expect_sends(const struct bed *bed, unsigned signaled, unsigned failed,
			 enum ibv_wc_status status)
{
	unsigned n = 0;

	for (unsigned id = 0; id < REQUESTS; id++) {
		if (id < failed && !(signaled >> id & 1))
			continue;
		expect_send(bed->a, n++, id,
			    id < failed	   ? IBV_WC_SUCCESS
			    : id == failed ? status
					   : IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(bed->a->send_count, n);
}

/* Checks the requester's own receive requests: flushed with RC, else still posted. */
static void expect_own_recvs(const struct bed *bed)
{
	if (!is_connected(bed) || bed->o.type == IBV_QPT_XRC_SEND) {
		assert_int_equal(bed->a->recv_count, 0);
		return;
	}
	assert_int_equal(bed->a->recv_count, 3);
	for (unsigned i = 0; i < 3; i++)
		expect_recv(bed->a, i, 100 + i, IBV_WC_WR_FLUSH_ERR);
}

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND};

#define EACH(i, table) (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++)

/* The requester detects an error, with any outstanding requests, and with lost responses. */
static void test_local_error(void **state)
{
	for
		EACH(t, types)
		{
			for (int failed = 0; failed < REQUESTS; failed++) {
				for (unsigned lost = 0; lost < 4; lost++) {
					unsigned signaled = 0x5a >> lost;
					struct bed bed;

					bed_open(&bed, types[t]);
					bed.lost = lost;
					for (uint64_t id = 0; id < REQUESTS; id++)
						post(&bed, id, signaled, failed, -1);
					net_run(bed.net, SEC);
					expect_sends(&bed, signaled, (unsigned)failed,
						     IBV_WC_LOC_PROT_ERR);
					expect_own_recvs(&bed);
					assert_int_equal(end_state(bed.a), is_connected(&bed)
										   ? IBV_QPS_ERR
										   : IBV_QPS_SQE);
					net_abandon(bed.net);
				}
			}
		}
}

/* The responder detects an error. */
static void test_remote_error(void **state)
{
	for (int xrc = 0; xrc < 2; xrc++) {
		for (int failed = 0; failed < REQUESTS; failed++) {
			unsigned signaled = 0xa5 >> xrc, done;
			struct bed bed;

			bed_open(&bed, xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC);
			for (uint64_t id = 0; id < REQUESTS; id++)
				post(&bed, id, signaled, -1, failed);
			net_run(bed.net, SEC);
			expect_sends(&bed, signaled, (unsigned)failed, IBV_WC_REM_ACCESS_ERR);
			expect_own_recvs(&bed);
			/* At the responder, earlier messages complete and the other receive
			 * requests are flushed. Receive requests of an SRQ stay posted. */
			done = 0;
			while (done < bed.b->recv_count &&
			       bed.b->recvs[done].wc.status == IBV_WC_SUCCESS)
				done++;
			assert_int_equal(bed.b->recv_count, xrc ? done : REQUESTS + 2);
			for (unsigned i = 0; i < bed.b->recv_count; i++)
				expect_recv(bed.b, i, i,
					    i < done ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(
				net_count_events(&bed.net->node[1], IBV_EVENT_QP_LAST_WQE_REACHED),
				xrc);
			net_abandon(bed.net);
		}
	}
}

/* If the peer does not answer, the oldest request fails, whatever its kind. */
static void test_no_answer(void **state)
{
	for (int xrc = 0; xrc < 2; xrc++) {
		for (unsigned first = 0; first < 6; first++) {
			struct bed bed;

			bed_open(&bed, xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC);
			bed.lost = UINT32_MAX;
			for (uint64_t id = first; id < first + 4; id++)
				post(&bed, id, 0, -1, -1);
			net_run(bed.net, 10 * SEC);
			for (unsigned i = 0; i < 4; i++)
				expect_send(bed.a, i, first + i,
					    i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
			assert_int_equal(bed.a->send_count, 4);
			expect_own_recvs(&bed);
			net_abandon(bed.net);
		}
	}
}

/* If the application moves the QP to ERR at any moment, no request fails: all unfinished requests
 * are flushed. */
static void test_to_error(void **state)
{
	for
		EACH(t, types)
		{
			for (unsigned steps = 0; steps < 24; steps++) {
				unsigned done = 0;
				struct bed bed;

				bed_open(&bed, types[t]);
				for (uint64_t id = 0; id < REQUESTS; id++)
					post(&bed, id, 0xff, -1, -1);
				for (unsigned i = 0; i < steps; i++)
					net_step(bed.net, bed.net->now + MS);
				assert_int_equal(end_to_state(bed.a, IBV_QPS_ERR), 0);
				net_run(bed.net, SEC);
				while (done < REQUESTS &&
				       bed.a->sends[done].wc.status == IBV_WC_SUCCESS)
					done++;
				expect_sends(&bed, 0xff, done, IBV_WC_WR_FLUSH_ERR);
				assert_int_equal(bed.net->node[0].event_count, 0);
				if (types[t] != IBV_QPT_XRC_SEND)
					for (unsigned i = 0; i < 3; i++)
						expect_recv(bed.a, i, 100 + i, IBV_WC_WR_FLUSH_ERR);
				net_abandon(bed.net);
			}
		}
}

/* If the responder's QP enters ERR in the middle of a message, the receive request in use is
 * flushed first. The other requests of the SRQ stay posted. */
static void test_receiver_to_error(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct ibv_srq_attr attr = {.max_wr = 8, .max_sge = 1};
		struct options o = options_default(IBV_QPT_RC);
		struct net *net = net_open(2, 5);
		struct region *ra, *rb;
		struct end *a, *b;

		if (srq)
			o.srq = adv_srq_create(net->node[1].e, net->node[1].pd, &attr, NULL);
		pair_open(net, &o, &a, &b);
		ra = region_open(&net->node[0], LEN, ALL_ACCESS);
		rb = region_open(&net->node[1], LEN, ALL_ACCESS);
		for (uint64_t i = 0; i < 4; i++)
			end_recv(b, i, rb, 0, LEN);
		end_op(a, IBV_WR_SEND, 1, ra, 0, 8, NULL, 0);
		end_op(a, IBV_WR_SEND, 2, ra, 0, LEN, NULL, 0);
		while (!b->qp->resp.recv)
			assert_true(net_step(net, net->now + SEC));
		assert_int_equal(end_to_state(b, IBV_QPS_ERR), 0);
		net_run(net, 10 * SEC);
		assert_int_equal(b->recv_count, srq ? 2 : 4);
		for (unsigned i = 0; i < b->recv_count; i++)
			expect_recv(b, i, i, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
		if (srq)
			assert_int_equal(o.srq->free_count, o.srq->max_wr - 2);
		assert_int_equal(net_count_events(&net->node[1], IBV_EVENT_QP_LAST_WQE_REACHED),
				 srq);
		/* The acknowledgement of the first message was not sent, so the requester cannot
		 * know that it was received. */
		expect_send(a, 0, 1, IBV_WC_RETRY_EXC_ERR);
		expect_send(a, 1, 2, IBV_WC_WR_FLUSH_ERR);
		net_abandon(net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_error),	  cmocka_unit_test(test_remote_error),
		cmocka_unit_test(test_no_answer),	  cmocka_unit_test(test_to_error),
		cmocka_unit_test(test_receiver_to_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
