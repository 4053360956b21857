/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows, and the requests that bind and invalidate them. */
#include <stdlib.h>

#include "base/array.h"
#include "../engine/harness.h"

#define LEN    8192
#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* a is the requester, b has the windows. b2 is another QP of b's node, with the peer a2. */
struct world {
	struct net *net;
	struct end *a, *b, *a2, *b2;
	struct region *from, *to;
	struct adv_mw *mw;
	uint32_t rkey; /* key of the window now, or after the next binding */
	struct ibv_mw ibv;
	struct ibv_mr ibv_mr;
	uint64_t binds; /* bind requests posted by b */
};

static void open_world(struct world *w, enum ibv_mw_type type)
{
	struct options o = options_default(IBV_QPT_RC);

	memset(w, 0, sizeof(*w));
	w->net = net_open(2, 1);
	pair_open(w->net, &o, &w->a, &w->b);
	pair_open(w->net, &o, &w->a2, &w->b2);
	w->from = region_open(&w->net->node[0], LEN, ALL_ACCESS);
	w->to = region_open(&w->net->node[1], LEN, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	region_fill(w->from, 1);
	region_fill(w->to, 2);
	w->mw = adv_mw_create(w->net->node[1].pd, type);
	assert_non_null(w->mw);
	w->rkey = adv_mw_rkey(w->mw);
	w->ibv.type = type;
	w->ibv_mr.lkey = w->to->key;
}

static struct wr *bind_wr(struct world *w, struct wr *wr, uint64_t offset, uint64_t length,
			  unsigned access)
{
	int opcode = w->ibv.type == IBV_MW_TYPE_2 ? IBV_WR_BIND_MW : (int)ADV_WR_BIND_TYPE_1;

	wr_make(wr, opcode, 1000 + w->binds, 0);
	w->ibv.rkey = w->rkey;
	w->rkey = (w->rkey & ~0xffu) | ((w->rkey + 1) & 0xff);
	wr->w.bind_mw.mw = &w->ibv;
	wr->w.bind_mw.rkey = w->rkey;
	wr->w.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = &w->ibv_mr,
		.addr = w->to->iova + offset,
		.length = length,
		.mw_access_flags = access,
	};
	return wr;
}

static void expect_done(struct world *w, enum ibv_wc_status status)
{
	struct completion *c;

	net_run(w->net, SEC);
	assert_int_equal(w->b->send_count, ++w->binds);
	c = &w->b->sends[w->binds - 1];
	assert_int_equal(c->wc.status, status);
	if (status == IBV_WC_SUCCESS)
		assert_true(c->wc.opcode == IBV_WC_BIND_MW || c->wc.opcode == IBV_WC_LOCAL_INV);
}

static void bind_it(struct world *w, uint64_t offset, uint64_t length, unsigned access)
{
	struct wr wr;

	assert_int_equal(end_send(w->b, bind_wr(w, &wr, offset, length, access)), 0);
	expect_done(w, IBV_WC_SUCCESS);
	assert_int_equal(adv_mw_rkey(w->mw), w->rkey);
}

static void invalidate(struct world *w, uint32_t rkey, enum ibv_wc_status status)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_LOCAL_INV, 1000 + w->binds, 0);
	wr.w.invalidate_rkey = rkey;
	assert_int_equal(end_send(w->b, &wr), 0);
	expect_done(w, status);
}

/* Accesses the memory from the end, and returns the status. A refused access ends the
 * connection. */
static enum ibv_wc_status access_from(struct world *w, struct end *end, int opcode, uint32_t rkey,
				      uint64_t va, uint32_t length)
{
	unsigned n = end->send_count;
	struct wr wr;

	wr_make(&wr, opcode, 1, 0);
	wr_sge(&wr, w->from, 0, length);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.w.wr.atomic.remote_addr = va;
		wr.w.wr.atomic.rkey = rkey;
	} else {
		wr.w.wr.rdma.remote_addr = va;
		wr.w.wr.rdma.rkey = rkey;
	}
	assert_int_equal(end_send(end, &wr), 0);
	net_run(w->net, SEC);
	assert_int_equal(end->send_count, n + 1);
	return end->sends[n].wc.status;
}

#define OK	IBV_WC_SUCCESS
#define REFUSED IBV_WC_REM_ACCESS_ERR

static void close_world(struct world *w)
{
	net_run(w->net, SEC);
	adv_mw_destroy(w->mw);
	region_deregister(w->to);
	net_close(w->net);
}

static void test_create(void **state)
{
	struct net *net = net_open(1, 1);
	struct adv_pd *pd = adv_pd_create(net->node[0].e);
	struct adv_mw *one, *two;

	errno = 0;
	assert_null(adv_mw_create(pd, (enum ibv_mw_type)0));
	assert_int_equal(errno, EINVAL);
	one = adv_mw_create(pd, IBV_MW_TYPE_1);
	two = adv_mw_create(pd, IBV_MW_TYPE_2);
	assert_true(one && two && adv_mw_rkey(one) != adv_mw_rkey(two));
	assert_int_equal(adv_pd_destroy(pd), EBUSY);
	adv_mw_destroy(one);
	adv_mw_destroy(two);
	assert_int_equal(adv_pd_destroy(pd), 0);
	/* A window that is not destroyed is freed with the engine. */
	assert_non_null(adv_mw_create(net->node[0].pd, IBV_MW_TYPE_1));
	net_close(net);
}

/* For both types, the binding defines the range, the rights and the key. */
static void test_access(void **state)
{
	static const struct {
		int opcode;
		uint64_t offset;
		uint32_t length;
		unsigned access;
		enum ibv_wc_status status;
	} cases[] = {
		{IBV_WR_RDMA_WRITE, 1000, 3000, REMOTE, OK},
		{IBV_WR_RDMA_WRITE, 1000, 3000, IBV_ACCESS_REMOTE_READ, REFUSED},
		{IBV_WR_RDMA_WRITE, 999, 100, REMOTE, REFUSED},
		{IBV_WR_RDMA_WRITE, 3900, 101, REMOTE, REFUSED},
		{IBV_WR_RDMA_READ, 1000, 3000, IBV_ACCESS_REMOTE_READ, OK},
		{IBV_WR_RDMA_READ, 1000, 3001, IBV_ACCESS_REMOTE_READ, REFUSED},
		{IBV_WR_RDMA_READ, 1000, 1, IBV_ACCESS_REMOTE_WRITE, REFUSED},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 1024, 8, IBV_ACCESS_REMOTE_ATOMIC, OK},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 1024, 8, IBV_ACCESS_REMOTE_WRITE, REFUSED},
		{IBV_WR_RDMA_READ, 0, 1, 0, REFUSED},
	};

	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
			struct world w;

			open_world(&w, (enum ibv_mw_type)type);
			bind_it(&w, 1000, 3000, cases[i].access);
			assert_int_equal(adv_mr_deregister(w.to->mr), EBUSY);
			assert_int_equal(access_from(&w, w.a, cases[i].opcode, w.rkey,
						     w.to->iova + cases[i].offset, cases[i].length),
					 cases[i].status);
			if (i == 0)
				expect_pattern(w.to, 1000, 3000, 1, 0);
			if (i == 4)
				expect_pattern(w.from, 0, 3000, 2, 1000);
			close_world(&w);
		}
	}
}

static void test_unbound(void **state)
{
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct world w;

		open_world(&w, (enum ibv_mw_type)type);
		assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_READ, w.rkey, w.to->iova, 1),
				 REFUSED);
		close_world(&w);
	}
}

static void test_zero_based(void **state)
{
	struct world w;

	open_world(&w, IBV_MW_TYPE_2);
	bind_it(&w, 1000, 3000, REMOTE | IBV_ACCESS_ZERO_BASED);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, w.rkey, 5, 100), OK);
	expect_pattern(w.to, 1005, 100, 1, 0);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova + 1000, 1),
			 REFUSED);
	close_world(&w);
}

/* A binding of a type 1 window replaces the previous binding, or unbinds the window. The old key
 * becomes invalid each time. */
static void test_type_1_again(void **state)
{
	struct world w;
	uint32_t old;

	open_world(&w, IBV_MW_TYPE_1);
	bind_it(&w, 0, 100, REMOTE);
	old = w.rkey;
	bind_it(&w, 1000, 100, REMOTE);
	assert_int_equal(w.to->mr->windows, 1);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova + 1000, 100),
			 OK);
	/* Another QP has access, too. */
	assert_int_equal(access_from(&w, w.a2, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova + 1000, 100),
			 OK);
	bind_it(&w, 0, 0, 0);
	assert_int_equal(w.to->mr->windows, 0);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, old, w.to->iova, 1), REFUSED);
	assert_int_equal(access_from(&w, w.a2, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova + 1000, 1),
			 REFUSED);
	close_world(&w);
}

/* A type 2 window belongs to one QP, and must be invalidated before it is bound again. */
static void test_type_2_again(void **state)
{
	struct world w;
	uint32_t old;

	open_world(&w, IBV_MW_TYPE_2);
	bind_it(&w, 0, 100, REMOTE);
	old = w.rkey;
	assert_int_equal(access_from(&w, w.a2, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova, 1), REFUSED);
	invalidate(&w, w.rkey, IBV_WC_SUCCESS);
	assert_int_equal(w.to->mr->windows, 0);
	bind_it(&w, 1000, 100, REMOTE);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova + 1000, 100),
			 OK);
	assert_int_equal(access_from(&w, w.a, IBV_WR_RDMA_WRITE, old, w.to->iova + 1000, 1),
			 REFUSED);
	close_world(&w);
}

/* A QP with a window of its own has no access through the window of another QP. */
static void test_type_2_of_another(void **state)
{
	struct world w, other;

	open_world(&w, IBV_MW_TYPE_2);
	bind_it(&w, 0, 100, REMOTE);
	other = w;
	other.a = w.a2;
	other.b = w.b2;
	other.binds = 0;
	other.mw = adv_mw_create(w.net->node[1].pd, IBV_MW_TYPE_2);
	assert_non_null(other.mw);
	other.rkey = adv_mw_rkey(other.mw);
	bind_it(&other, 1000, 100, REMOTE);
	assert_int_equal(access_from(&w, w.a2, IBV_WR_RDMA_WRITE, other.rkey, w.to->iova + 1000, 1),
			 OK);
	assert_int_equal(access_from(&w, w.a2, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova, 1), REFUSED);
	adv_mw_destroy(other.mw);
	close_world(&w);
}

static void test_bad_binds(void **state)
{
	enum { RANGE, WRAP, ACCESS, LKEY, NO_BIND, NO_LOCAL_WRITE, ZERO, SAME_KEY, BOUND, CASES };
	static const enum adv_vendor_err reasons[CASES] = {
		[RANGE] = ADV_ERR_BIND_BOUNDS,	 [WRAP] = ADV_ERR_BIND_BOUNDS,
		[ACCESS] = ADV_ERR_BIND_ACCESS,	 [LKEY] = ADV_ERR_BIND_LKEY,
		[NO_BIND] = ADV_ERR_BIND_ACCESS, [NO_LOCAL_WRITE] = ADV_ERR_BIND_ACCESS,
		[ZERO] = ADV_ERR_WINDOW_LENGTH,	 [SAME_KEY] = ADV_ERR_WINDOW_KEY,
		[BOUND] = ADV_ERR_WINDOW_BOUND,
	};

	for (int i = 0; i < CASES; i++) {
		struct region *other = NULL;
		struct world w;
		struct wr wr;

		open_world(&w, IBV_MW_TYPE_2);
		if (i == BOUND)
			bind_it(&w, 0, 10, REMOTE);
		bind_wr(&w, &wr, 0, 100, REMOTE);
		switch (i) {
		case RANGE:
			wr.w.bind_mw.bind_info.length = LEN + 1;
			break;
		case WRAP:
			wr.w.bind_mw.bind_info.addr--;
			break;
		case ACCESS:
			wr.w.bind_mw.bind_info.mw_access_flags |= IBV_ACCESS_MW_BIND;
			break;
		case LKEY:
			w.ibv_mr.lkey ^= 1;
			break;
		case NO_BIND:
			other = region_open(&w.net->node[1], LEN, ALL_ACCESS);
			break;
		case NO_LOCAL_WRITE:
			other = region_open(&w.net->node[1], LEN, IBV_ACCESS_MW_BIND);
			break;
		case ZERO:
			wr.w.bind_mw.bind_info.length = 0;
			break;
		case SAME_KEY:
			wr.w.bind_mw.rkey = adv_mw_rkey(w.mw);
			break;
		}
		if (other) {
			w.ibv_mr.lkey = other->key;
			wr.w.bind_mw.bind_info.addr = other->iova;
		}
		assert_int_equal(end_send(w.b, &wr), 0);
		expect_done(&w, IBV_WC_MW_BIND_ERR);
		assert_int_equal(w.b->sends[w.binds - 1].wc.vendor_err, reasons[i]);
		assert_int_equal(end_state(w.b), IBV_QPS_ERR);
		close_world(&w);
	}
}

/* Invalid bind and invalidate requests cannot be posted. */
static void test_bad_posts(void **state)
{
	struct world w;
	struct wr wr;

	open_world(&w, IBV_MW_TYPE_2);
	bind_wr(&w, &wr, 0, 100, REMOTE);
	wr.w.bind_mw.mw = NULL;
	assert_int_equal(end_send(w.b, &wr), EINVAL);
	bind_wr(&w, &wr, 0, 100, REMOTE);
	wr.w.bind_mw.bind_info.mr = NULL;
	assert_int_equal(end_send(w.b, &wr), EINVAL);
	bind_wr(&w, &wr, 0, 100, REMOTE);
	wr.w.bind_mw.rkey ^= 0x100;
	assert_int_equal(end_send(w.b, &wr), EINVAL);
	bind_wr(&w, &wr, 0, 100, REMOTE);
	wr.w.send_flags = IBV_SEND_INLINE;
	assert_int_equal(end_send(w.b, &wr), EINVAL);
	bind_wr(&w, &wr, 0, 100, REMOTE);
	w.ibv.type = IBV_MW_TYPE_1;
	assert_int_equal(end_send(w.b, &wr), EINVAL);
	close_world(&w);
}

static void test_bad_invalidations(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct world w;
		uint32_t rkey;

		open_world(&w, i == 3 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		if (i)
			bind_it(&w, 0, 100, REMOTE);
		rkey = i == 1 ? w.rkey ^ 1 : i == 2 ? w.to->key : i == 4 ? 0 : w.rkey;
		invalidate(&w, rkey, IBV_WC_MW_BIND_ERR);
		assert_int_equal(end_state(w.b), IBV_QPS_ERR);
		close_world(&w);
	}
}

/* A window's key is never an L_Key. */
static void test_not_for_local_requests(void **state)
{
	for (int recv = 0; recv < 2; recv++) {
		struct ibv_sge sge = {.length = 10};
		struct world w;
		struct wr wr;

		open_world(&w, IBV_MW_TYPE_1);
		bind_it(&w, 0, 100, REMOTE | IBV_ACCESS_LOCAL_WRITE);
		sge.addr = w.to->iova;
		sge.lkey = w.rkey;
		if (recv) {
			assert_int_equal(end_recv_sges(w.b, 1, &sge, 1), 0);
			end_op(w.a, IBV_WR_SEND, 1, w.from, 0, 10, NULL, 0);
			net_run(w.net, SEC);
			expect_recv(w.b, 0, 1, IBV_WC_LOC_PROT_ERR);
		} else {
			wr_make(&wr, IBV_WR_SEND, 1000 + w.binds, 0);
			wr_sge(&wr, w.to, 0, 10);
			wr.sge[0] = sge;
			assert_int_equal(end_send(w.b, &wr), 0);
			expect_done(&w, IBV_WC_LOC_PROT_ERR);
		}
		close_world(&w);
	}
}

/* A QP that is destroyed or reset unbinds its windows. */
static void test_qp_goes(void **state)
{
	for (int reset = 0; reset < 2; reset++) {
		struct world w;

		open_world(&w, IBV_MW_TYPE_2);
		bind_it(&w, 0, 100, REMOTE);
		if (reset)
			assert_int_equal(end_to_state(w.b, IBV_QPS_RESET), 0);
		else
			end_close(w.b);
		assert_int_equal(w.to->mr->windows, 0);
		close_world(&w);
	}
}

static void send_inv(struct end *end, uint64_t id, const struct region *r, uint32_t length,
		     uint32_t rkey)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_SEND_WITH_INV, id, 0);
	wr_sge(&wr, r, 0, length);
	wr.w.invalidate_rkey = rkey;
	assert_int_equal(end_send(end, &wr), 0);
}

static void test_send_with_inv(void **state)
{
	static const uint32_t lengths[] = {1, 1024, 5000};

	for (int i = 0; i < 3; i++) {
		struct world w;

		open_world(&w, IBV_MW_TYPE_2);
		bind_it(&w, 6000, 100, REMOTE);
		end_recv(w.b, 1, w.to, 0, 6000);
		send_inv(w.a, 1, w.from, lengths[i], w.rkey);
		net_until(w.net, w.b, 0, 1, SEC);
		expect_recv(w.b, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(w.b->recvs[0].wc.wc_flags, IBV_WC_WITH_INV);
		assert_int_equal(w.b->recvs[0].wc.invalidated_rkey, w.rkey);
		assert_int_equal(w.b->recvs[0].wc.byte_len, lengths[i]);
		expect_pattern(w.to, 0, lengths[i], 1, 0);
		assert_int_equal(w.to->mr->windows, 0);
		net_until(w.net, w.a, 1, 0, SEC);
		expect_send(w.a, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(w.a->sends[0].wc.opcode, IBV_WC_SEND);
		assert_int_equal(
			access_from(&w, w.a, IBV_WR_RDMA_READ, w.rkey, w.to->iova + 6000, 1),
			REFUSED);
		close_world(&w);
	}
}

/* If a SEND with invalidate names no window of the receiving QP, both sides report an error. */
static void test_send_with_bad_inv(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct world w;

		open_world(&w, IBV_MW_TYPE_2);
		bind_it(&w, 6000, 100, REMOTE);
		end_recv(i == 2 ? w.b2 : w.b, 1, w.to, 0, 6000);
		send_inv(i == 2 ? w.a2 : w.a, 1, w.from, 2000,
			 i == 0	  ? w.to->key
			 : i == 1 ? w.rkey ^ 1
				  : w.rkey);
		net_run(w.net, SEC);
		expect_send(i == 2 ? w.a2 : w.a, 0, 1, IBV_WC_REM_ACCESS_ERR);
		expect_recv(i == 2 ? w.b2 : w.b, 0, 1, IBV_WC_LOC_ACCESS_ERR);
		assert_int_equal(w.to->mr->windows, 1);
		close_world(&w);
	}
}

static void lose_one(struct net *net, struct wire *p)
{
	const uint64_t *victim = net->arg;

	p->copies = p->number == *victim ? 0 : p->number % 3 == 0 ? 2 : 1;
}

/* Local requests between other requests are executed in order, once each, with any loss. */
static void test_order_under_loss(void **state)
{
	for (uint64_t victim = 0; victim < 24; victim++) {
		uint32_t first, second;
		struct world w;
		struct wr wr;

		open_world(&w, IBV_MW_TYPE_2);
		w.net->hook = lose_one;
		w.net->arg = &victim;
		for (unsigned i = 0; i < 3; i++)
			end_recv(w.a, i, w.from, 0, LEN);
		end_op(w.b, IBV_WR_SEND, 1, w.to, 0, 3000, NULL, 0);
		assert_int_equal(end_send(w.b, bind_wr(&w, &wr, 0, 100, REMOTE)), 0);
		first = w.rkey;
		end_op(w.b, IBV_WR_RDMA_READ, 2, w.to, 4000, 3000, w.from, 4000);
		wr_make(&wr, IBV_WR_LOCAL_INV, 3, IBV_SEND_FENCE);
		wr.w.invalidate_rkey = first;
		assert_int_equal(end_send(w.b, &wr), 0);
		w.binds = 1;
		assert_int_equal(end_send(w.b, bind_wr(&w, &wr, 200, 100, REMOTE)), 0);
		second = w.rkey;
		end_op(w.b, IBV_WR_SEND, 4, w.to, 0, 2000, NULL, 0);
		net_run(w.net, 20 * SEC);
		assert_int_equal(w.b->send_count, 6);
		expect_send(w.b, 0, 1, IBV_WC_SUCCESS);
		expect_send(w.b, 1, 1000, IBV_WC_SUCCESS);
		expect_send(w.b, 2, 2, IBV_WC_SUCCESS);
		expect_send(w.b, 3, 3, IBV_WC_SUCCESS);
		expect_send(w.b, 4, 1001, IBV_WC_SUCCESS);
		expect_send(w.b, 5, 4, IBV_WC_SUCCESS);
		assert_int_equal(adv_mw_rkey(w.mw), second);
		assert_int_equal(w.to->mr->windows, 1);
		close_world(&w);
	}
}

/* Windows work with UC, too. A flushed request binds nothing. */
static void test_uc_and_flush(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct end *a, *b;
	struct world w;
	struct wr wr;

	open_world(&w, IBV_MW_TYPE_2);
	pair_open(w.net, &o, &a, &b);
	assert_int_equal(end_send(b, bind_wr(&w, &wr, 0, 100, REMOTE)), 0);
	net_run(w.net, MS);
	expect_send(b, 0, 1000, IBV_WC_SUCCESS);
	assert_int_equal(access_from(&w, a, IBV_WR_RDMA_WRITE, w.rkey, w.to->iova, 100), OK);
	expect_pattern(w.to, 0, 100, 1, 0);
	wr_make(&wr, IBV_WR_LOCAL_INV, 2, 0);
	wr.w.invalidate_rkey = w.rkey;
	assert_int_equal(end_send(b, &wr), 0);
	net_run(w.net, MS);
	assert_int_equal(w.to->mr->windows, 0);
	assert_int_equal(end_to_state(b, IBV_QPS_ERR), 0);
	assert_int_equal(end_send(b, bind_wr(&w, &wr, 0, 100, REMOTE)), 0);
	net_run(w.net, MS);
	expect_send(b, 2, 1000, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(w.to->mr->windows, 0);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_unbound),
		cmocka_unit_test(test_zero_based),
		cmocka_unit_test(test_type_1_again),
		cmocka_unit_test(test_type_2_again),
		cmocka_unit_test(test_type_2_of_another),
		cmocka_unit_test(test_bad_binds),
		cmocka_unit_test(test_bad_posts),
		cmocka_unit_test(test_bad_invalidations),
		cmocka_unit_test(test_not_for_local_requests),
		cmocka_unit_test(test_qp_goes),
		cmocka_unit_test(test_send_with_inv),
		cmocka_unit_test(test_send_with_bad_inv),
		cmocka_unit_test(test_order_under_loss),
		cmocka_unit_test(test_uc_and_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
