/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that all objects of an engine are described, each once, with its current state. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "nic/engine/resources.h"
#include "nic/queue/srq.h"

#define QPS  700
#define MRS  5000
#define ROOM 64

struct fixture {
	struct adv_engine *e;
	struct adv_pd *pd;
	struct adv_cq *cq;
	struct adv_object got[MRS];
	const void *owner[MRS];
};

static int setup(void **state)
{
	struct adv_engine_config c = {.seed = {1, 2, 3, 4}, .qpn_first = 4096, .qpn_count = 1024};
	struct fixture *f = calloc(1, sizeof(*f));

	f->e = adv_engine_create(&c);
	f->pd = adv_pd_create(f->e);
	f->cq = adv_cq_create(f->e, 100, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	adv_engine_destroy(f->e);
	free(f);
	return 0;
}

/* Lists all objects of a kind, `room` for each call. */
static unsigned ask(struct fixture *f, enum adv_resource_kind kind, unsigned room)
{
	uint64_t from = 0, before;
	unsigned count = 0;

	do {
		before = from;
		assert_true(count + room <= MRS);
		count += adv_engine_resources(f->e, kind, &from, &f->got[count], &f->owner[count],
					      room);
		assert_true(from > before);
	} while (from != ADV_RESOURCES_END);
	return count;
}

static uint32_t sum_of(struct fixture *f, enum adv_resource_kind kind)
{
	unsigned n = ask(f, ADV_RESOURCE_SUMMARY, ROOM);

	for (unsigned i = 0; i < n; i++)
		if (f->got[i].type == kind)
			return f->got[i].users;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct adv_object *one = a, *two = b;

	return one->number < two->number ? -1 : one->number > two->number;
}

static void expect_distinct(struct fixture *f, unsigned count)
{
	qsort(f->got, count, sizeof(f->got[0]), by_number);
	for (unsigned i = 1; i < count; i++)
		assert_true(f->got[i - 1].number < f->got[i].number);
}

static void tells_qps(void **state)
{
	struct fixture *f = *state;
	struct adv_qp_config c = {.type = IBV_QPT_RC,
				  .pd = f->pd,
				  .send_cq = f->cq,
				  .recv_cq = f->cq,
				  .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct adv_qp *qp[QPS];

	assert_int_equal(ask(f, ADV_RESOURCE_QP, ROOM), 0);
	for (unsigned i = 0; i < QPS; i++) {
		qp[i] = adv_qp_create(f->e, &c);
		assert_non_null(qp[i]);
	}
	assert_int_equal(
		adv_qp_modify(qp[0], 0, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(ask(f, ADV_RESOURCE_QP, ROOM), QPS);
	assert_int_equal(f->got[0].number, adv_qp_num(qp[0]));
	assert_int_equal(f->got[0].state, IBV_QPS_INIT);
	assert_int_equal(f->got[0].port, 1);
	assert_int_equal(f->got[1].state, IBV_QPS_RESET);
	assert_int_equal(f->got[1].port, 0);
	assert_int_equal(f->got[1].type, IBV_QPT_RC);
	assert_int_not_equal(f->got[1].pd, 0);
	assert_int_not_equal(f->got[1].qp.send_cq, 0);
	assert_int_equal(f->got[1].qp.srq, 0);
	expect_distinct(f, QPS);
	assert_int_equal(sum_of(f, ADV_RESOURCE_QP), QPS);
	for (unsigned i = 0; i < QPS; i++)
		assert_int_equal(adv_qp_destroy(qp[i]), 0);
	assert_int_equal(ask(f, ADV_RESOURCE_QP, ROOM), 0);
}

static void tells_regions_without_windows(void **state)
{
	static uint8_t memory[4096];
	struct fixture *f = *state;
	struct adv_mr *mr[MRS / 2];
	struct adv_mw *mw = adv_mw_create(f->pd, IBV_MW_TYPE_1);

	for (unsigned i = 0; i < MRS / 2; i++) {
		mr[i] = adv_mr_register(f->pd, memory, i + 1, 0x1000, 0);
		assert_non_null(mr[i]);
	}
	assert_int_equal(ask(f, ADV_RESOURCE_MR, ROOM), MRS / 2);
	expect_distinct(f, MRS / 2);
	for (unsigned i = 0; i < MRS / 2; i++) {
		assert_true(f->got[i].mr.length >= 1 && f->got[i].mr.length <= MRS / 2);
		assert_int_equal(f->got[i].mr.lkey >> 8, f->got[i].number);
		assert_int_equal(f->got[i].mr.iova, 0x1000);
	}
	assert_int_equal(sum_of(f, ADV_RESOURCE_MR), MRS / 2);
	adv_mw_destroy(mw);
	assert_int_equal(sum_of(f, ADV_RESOURCE_MR), MRS / 2);
	for (unsigned i = 0; i < MRS / 2; i++)
		assert_int_equal(adv_mr_deregister(mr[i]), 0);
	assert_int_equal(ask(f, ADV_RESOURCE_MR, ROOM), 0);
	assert_int_equal(sum_of(f, ADV_RESOURCE_MR), 0);
}

static void tells_the_rest(void **state)
{
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	struct fixture *f = *state;
	struct adv_srq *srq = adv_srq_create(f->e, f->pd, &attr, NULL);
	uint32_t pd;

	assert_int_equal(ask(f, ADV_RESOURCE_PD, ROOM), 1);
	pd = f->got[0].number;
	assert_int_equal(f->got[0].users, 1);
	assert_int_equal(ask(f, ADV_RESOURCE_SRQ, ROOM), 1);
	assert_int_equal(f->got[0].pd, pd);
	assert_int_equal(f->got[0].type, IBV_SRQT_BASIC);
	assert_int_equal(ask(f, ADV_RESOURCE_CQ, ROOM), 1);
	assert_true(f->got[0].cq.cqe >= 100);
	assert_int_equal(ask(f, ADV_RESOURCE_CTX, ROOM), 0);
	assert_int_equal(ask(f, ADV_RESOURCE_CM_ID, ROOM), 0);
	assert_int_equal(sum_of(f, ADV_RESOURCE_SRQ), 1);
	assert_int_equal(adv_srq_destroy(srq), 0);
}

static void tells_owners(void **state)
{
	struct fixture *f = *state;
	struct adv_pd *pd;
	struct adv_cq *cq;

	assert_int_equal(ask(f, ADV_RESOURCE_PD, ROOM), 1);
	assert_null(f->owner[0]);
	adv_engine_set_owner(f->e, f);
	pd = adv_pd_create(f->e);
	cq = adv_cq_create(f->e, 1, NULL);
	assert_int_equal(ask(f, ADV_RESOURCE_PD, ROOM), 2);
	assert_ptr_equal(f->owner[1], f);
	assert_int_equal(ask(f, ADV_RESOURCE_CQ, 1), 2);
	assert_null(f->owner[0]);
	assert_ptr_equal(f->owner[1], f);
	assert_int_equal(adv_pd_destroy(pd), 0);
	assert_int_equal(adv_cq_destroy(cq), 0);
}

/* If objects are destroyed between two calls, the list ends correctly. */
static void stands_changes(void **state)
{
	struct fixture *f = *state;
	struct adv_pd *pd[20];
	uint64_t from = 0;
	unsigned n;

	for (unsigned i = 0; i < 20; i++)
		pd[i] = adv_pd_create(f->e);
	assert_int_equal(adv_engine_resources(f->e, ADV_RESOURCE_PD, &from, f->got, f->owner, 15),
			 15);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(adv_pd_destroy(pd[i]), 0);
	n = adv_engine_resources(f->e, ADV_RESOURCE_PD, &from, f->got, f->owner, 15);
	assert_int_equal(n, 0);
	assert_true(from == ADV_RESOURCES_END);
	/* Any position that a caller passes is safe. */
	for (int kind = 0; kind <= ADV_RESOURCE_SUMMARY; kind++) {
		from = UINT64_MAX - 1;
		assert_int_equal(adv_engine_resources(f->e, (enum adv_resource_kind)kind, &from,
						      f->got, f->owner, 15),
				 0);
		assert_true(from == ADV_RESOURCES_END);
	}
}

static void mute(struct net *net, struct wire *w)
{
	w->copies = 0;
}

/* Describes the QP of an end. */
static void describe(struct end *end, struct adv_object *out)
{
	const void *owner;
	uint64_t from = 0;

	assert_int_equal(adv_engine_resources(end->node->e, ADV_RESOURCE_QP, &from, out, &owner, 1),
			 1);
	assert_int_equal(out->number, adv_qp_num(end->qp));
}

static uint32_t share_of(const struct adv_object *o, size_t offset)
{
	return o->qp.share[offset / sizeof(uint64_t)];
}

/* A request without an answer: outstanding, then retried, then failed. */
static void tells_a_silent_peer(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 5);
	struct adv_object seen;
	struct region *from;
	struct end *a, *b;

	pair_open(net, &o, &a, &b);
	from = region_open(&net->node[0], 8192, ALL_ACCESS);
	net->hook = mute;
	describe(a, &seen);
	assert_int_equal(seen.qp.remote, adv_qp_num(b->qp));
	assert_memory_equal(seen.qp.dgid, a->qp->path.dgid.raw, 16);
	assert_int_equal(seen.qp.mtu, a->qp->mtu);
	assert_int_equal(seen.qp.send_posted - seen.qp.send_done, 0);
	assert_int_equal(seen.qp.error_kind, ADV_QP_ERROR_NONE);
	end_op(a, IBV_WR_SEND, 77, from, 0, 3000, NULL, 0);
	net_run(net, 100 * US);
	describe(a, &seen);
	assert_int_equal(seen.qp.send_posted - seen.qp.send_done, 1);
	assert_int_equal(seen.qp.request, IBV_WR_SEND);
	assert_int_equal(seen.qp.request_length, 3000);
	assert_int_equal(seen.qp.in_flight, (3000 + a->qp->mtu - 1) / a->qp->mtu);
	assert_int_equal(seen.qp.retry_left, seen.qp.retry_cnt);
	assert_false(seen.qp.flags & ADV_QP_UNANSWERED);
	end_op(a, IBV_WR_SEND, 78, from, 0, 1, NULL, 0); /* it is flushed, which is no error */
	net_run(net, 100 * SEC);
	describe(a, &seen);
	assert_int_equal(seen.state, IBV_QPS_ERR);
	assert_int_equal(seen.qp.retry_left, 0);
	assert_int_equal(seen.qp.error_kind, ADV_QP_ERROR_SEND);
	assert_int_equal(seen.qp.error_status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(seen.qp.error_cause, ADV_ERR_TIMEOUT);
	assert_int_equal(seen.qp.error_opcode, IBV_WR_SEND);
	assert_int_equal(seen.qp.error_wr_id, 77);
	assert_true(seen.qp.error_at > 0 && seen.qp.error_at <= net->now);
	assert_true(share_of(&seen, offsetof(struct adv_engine_counters, local_ack_timeout_err)) >
		    seen.qp.retry_cnt);
	assert_int_equal(share_of(&seen, offsetof(struct adv_engine_counters,
						  req_transport_retries_exceeded)),
			 1);
	assert_int_equal(share_of(&seen, offsetof(struct adv_engine_counters, rnr_nak_retry_err)),
			 0);
	net_abandon(net);
}

/* A queue of unsignaled requests stays full after they have ended, until a completion is polled. */
static void tells_slots_that_are_held(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 5);
	struct region *from, *to;
	struct adv_object seen;
	struct end *a, *b;
	struct wr wr;

	o.sig_all = false;
	pair_open(net, &o, &a, &b);
	from = region_open(&net->node[0], 64, ALL_ACCESS);
	to = region_open(&net->node[1], 64, ALL_ACCESS);
	for (uint32_t i = 0; i < 3; i++) {
		wr_make(&wr, IBV_WR_RDMA_WRITE, i, 0);
		wr_sge(&wr, from, 0, 8);
		wr_remote(&wr, to, 0);
		assert_int_equal(end_send(a, &wr), 0);
	}
	net_run(net, MS);
	end_poll(a);
	describe(a, &seen);
	assert_int_equal(seen.qp.send_posted - seen.qp.send_done, 0);
	assert_int_equal(seen.qp.send_held, 3);
	wr_make(&wr, IBV_WR_RDMA_WRITE, 3, IBV_SEND_SIGNALED);
	wr_sge(&wr, from, 0, 8);
	wr_remote(&wr, to, 0);
	assert_int_equal(end_send(a, &wr), 0);
	net_run(net, MS);
	end_poll(a);
	describe(a, &seen);
	assert_int_equal(seen.qp.send_held, 0);
	net_abandon(net);
}

/* Both ends know the memory to which the responder has refused access. */
static void tells_refused_memory(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 5);
	struct region *from, *to;
	struct adv_object seen;
	struct end *end[2];

	pair_open(net, &o, &end[0], &end[1]);
	from = region_open(&net->node[0], 64, ALL_ACCESS);
	to = region_open(&net->node[1], 64, ALL_ACCESS);
	end_op(end[0], IBV_WR_RDMA_WRITE, 1, from, 0, 40, to, 32);
	net_run(net, MS);
	for (unsigned i = 0; i < 2; i++) {
		describe(end[i], &seen);
		assert_int_equal(seen.qp.error_cause,
				 i ? ADV_ERR_REMOTE_BOUNDS : ADV_ERR_NAK_ACCESS);
		assert_true(seen.qp.flags & ADV_QP_ERROR_MEMORY);
		assert_int_equal(seen.qp.error_rkey, to->key);
		assert_true(seen.qp.error_va == to->iova + 32);
		assert_int_equal(seen.qp.error_length, 40);
	}
	net_abandon(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tells_qps, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_regions_without_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(stands_changes, setup, teardown),
		cmocka_unit_test(tells_a_silent_peer),
		cmocka_unit_test(tells_slots_that_are_held),
		cmocka_unit_test(tells_refused_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
