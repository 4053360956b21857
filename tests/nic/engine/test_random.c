/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random requests in both directions, over RC or XRC, through a network that loses, duplicates and
 * reorders packets. A model checks that each request completes once, in order and with success, and
 * that memory is as after executing the requests one after the other. ADV_TEST_SEED=n replays one
 * seed and prints its packets.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define SEEDS	   410
#define GO_BACK_N  300 /* number of seeds with go-back-N; later seeds use go-back-0 */
#define GO_BACK_0  350 /* seeds after this one use selective retransmission */
#define NO_READS   370 /* seeds after this one have only SENDs and WRITEs, which are not repeated */
#define PER_SIDE   60
#define SPAN	   24576 /* bytes of the slot of each request, at both ends */
#define COUNTERS   4
#define COUNTER(i) (2ull * PER_SIDE * SPAN + 8 * (uint64_t)(i))
#define SPACE	   (COUNTER(COUNTERS))
#define BOUND	   (120 * SEC)

struct op {
	int opcode;
	uint32_t len;
	uint64_t original; /* atomics: value before the operation */
	unsigned counter;
};

struct side {
	struct end *out; /* end that posts requests */
	struct end *in;	 /* end that receives the peer's requests; equal to `out` except for XRC */
	struct region *src; /* source of requests, and destination of READ and atomic results */
	struct region *dst; /* memory that the peer's requests use */
	struct op op[PER_SIDE];
	unsigned posted;
	unsigned recvs;		  /* posted receive requests */
	unsigned recvs_wanted;	  /* receive requests that all requests of the peer need */
	uint64_t model[COUNTERS]; /* model of the peer's counters */
};

struct world {
	struct net *net;
	struct side side[2];
	struct adv_rng rng;
	uint32_t mtu;
	unsigned loss; /* chance of loss, per mille */
	unsigned doubled;
	unsigned late;
	unsigned eager; /* chance of posting sends, and receives, before a step */
	unsigned willing;
	unsigned opcodes; /* number of opcodes to choose from */
};

static bool chance(struct world *w, unsigned per_mille)
{
	return adv_rng_below(&w->rng, 1000) < per_mille;
}

static void bad_network(struct net *net, struct wire *p)
{
	struct world *w = net->arg;

	if (chance(w, w->loss))
		p->copies = 0;
	else if (chance(w, w->doubled))
		p->copies = 2;
	if (chance(w, w->late))
		p->delay += adv_rng_below(&w->rng, 30 * US);
}

static bool takes_recv(int opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(int opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static uint32_t random_length(struct world *w)
{
	switch (adv_rng_below(&w->rng, 5)) {
	case 0:
		return (uint32_t)adv_rng_below(&w->rng, 5);
	case 1:
		return w->mtu - 1 + (uint32_t)adv_rng_below(&w->rng, 3);
	case 2:
		return (uint32_t)adv_rng_below(&w->rng, w->mtu);
	default:
		return (uint32_t)adv_rng_below(&w->rng, SPAN < 6 * w->mtu ? SPAN : 6 * w->mtu);
	}
}

static void choose_ops(struct world *w, struct side *s, struct side *peer)
{
	static const int opcodes[] = {IBV_WR_SEND,
				      IBV_WR_SEND_WITH_IMM,
				      IBV_WR_RDMA_WRITE,
				      IBV_WR_RDMA_WRITE_WITH_IMM,
				      IBV_WR_RDMA_READ,
				      IBV_WR_RDMA_READ,
				      IBV_WR_ATOMIC_FETCH_AND_ADD,
				      IBV_WR_ATOMIC_CMP_AND_SWP,
				      ADV_WR_FLUSH,
				      ADV_WR_ATOMIC_WRITE};

	for (int i = 0; i < PER_SIDE; i++) {
		struct op *op = &s->op[i];

		op->opcode = opcodes[adv_rng_below(&w->rng, w->opcodes)];
		op->len = random_length(w);
		op->counter = (unsigned)adv_rng_below(&w->rng, COUNTERS);
		peer->recvs_wanted += takes_recv(op->opcode);
	}
}

/* Splits len bytes of slot i into up to 32 pieces, some of them empty. */
static int random_sges(struct world *w, struct ibv_sge *sge, const struct region *r, unsigned i,
		       uint32_t len)
{
	int num = 1 + (int)adv_rng_below(&w->rng, chance(w, 300) ? 32 : 3);
	uint64_t at = r->iova + (uint64_t)i * SPAN;

	for (int k = 0; k < num; k++) {
		uint32_t n = k == num - 1 ? len : (uint32_t)adv_rng_below(&w->rng, len / 2 + 1);

		sge[k] = (struct ibv_sge){.addr = at, .length = n, .lkey = r->key};
		at += n;
		len -= n;
	}
	return num;
}

static void fill_atomic(struct side *s, struct wr *wr, struct op *op, const struct region *dst)
{
	uint64_t *counter = &s->model[op->counter];

	wr_remote(wr, dst, COUNTER(op->counter));
	wr->sge[0].length = 8;
	wr->w.num_sge = 1;
	op->original = *counter;
	if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->w.wr.atomic.compare_add = op->len + 1;
		*counter += op->len + 1;
	} else {
		/* Every second comparison succeeds. */
		wr->w.wr.atomic.compare_add = *counter + op->len % 2;
		wr->w.wr.atomic.swap = op->len * 3ull;
		if (op->len % 2 == 0)
			*counter = op->len * 3ull;
	}
}

static bool post_next(struct world *w, struct side *s, const struct side *peer)
{
	unsigned i = s->posted;
	struct op *op = &s->op[i];
	uint64_t before;
	struct wr wr;

	if (i == PER_SIDE)
		return false;
	before = s->model[op->counter];
	wr_make(&wr, op->opcode, i, chance(w, 200) ? IBV_SEND_FENCE : 0);
	wr.w.imm_data = i;
	wr.w.num_sge = random_sges(w, wr.sge, s->src, i, op->len);
	if (is_atomic(op->opcode)) {
		fill_atomic(s, &wr, op, peer->dst);
	} else if (op->opcode == ADV_WR_FLUSH || op->opcode == ADV_WR_ATOMIC_WRITE) {
		wr.w.num_sge = 0;
		wr_remote(&wr, peer->dst, (uint64_t)i * SPAN);
		wr.w.wr.atomic.compare_add = i;
		wr.w.wr.atomic.swap = 1;
	} else {
		wr_remote(&wr, peer->dst, (uint64_t)i * SPAN);
	}
	if (end_send(s->out, &wr)) {
		s->model[op->counter] = before; /* the queue was full */
		return false;
	}
	s->posted++;
	return true;
}

static void post_recv(struct world *w, struct side *s)
{
	struct ibv_sge sge[32];
	int num;

	if (s->recvs == s->recvs_wanted)
		return;
	num = random_sges(w, sge, s->dst, PER_SIDE + s->recvs, SPAN);
	if (end_recv_sges(s->in, s->recvs, sge, num) == 0)
		s->recvs++;
}

static void connect_rc(struct world *w, const struct options *o)
{
	pair_open(w->net, o, &w->side[0].out, &w->side[1].out);
	w->side[0].in = w->side[0].out;
	w->side[1].in = w->side[1].out;
}

/* Opens a connection for each direction. */
static void connect_xrc(struct world *w, struct options *o)
{
	struct options recv = *o;

	o->type = IBV_QPT_XRC_SEND;
	recv.type = IBV_QPT_XRC_RECV;
	for (int i = 0; i < 2; i++) {
		w->side[i].out = end_open(&w->net->node[i], o, NULL);
		w->side[!i].in = end_open(&w->net->node[!i], &recv, NULL);
		ends_connect(w->side[i].out, w->side[!i].in, o);
	}
}

static void open_world(struct world *w, uint64_t seed)
{
	struct adv_engine_config c = {.seed = {seed, 1, 1, 1}};
	struct options o = options_default(IBV_QPT_RC);

	memset(w, 0, sizeof(*w));
	adv_rng_seed(&w->rng, seed);
	c.window = 4 + (uint32_t)adv_rng_below(&w->rng, 80);
	c.go_back_0 = seed > GO_BACK_N && seed <= GO_BACK_0;
	c.selective = seed > GO_BACK_0;
	c.reorder = seed > GO_BACK_0 ? (uint32_t)(seed % 5) * 3 : 0;
	c.rto_low = c.rto_high = seed % 2 ? 100000 : 0;
	w->opcodes = seed > NO_READS ? 4 : 10;
	if (c.go_back_0) /* with go-back-0 a message must fit the window */
		c.window += SPAN / 256;
	o.mtu = (enum ibv_mtu)(IBV_MTU_256 + adv_rng_below(&w->rng, 5));
	o.psn[0] = (uint32_t)adv_rng_next(&w->rng) & ADV_PSN_MASK;
	o.psn[1] = 0xfffff0 + (uint32_t)adv_rng_below(&w->rng, 16);
	o.timeout = 8; /* 1 ms */
	o.max_rd_atomic = 1 + (uint8_t)adv_rng_below(&w->rng, 16);
	o.max_dest_rd_atomic = o.max_rd_atomic;
	o.cap.max_send_wr = 16;
	o.cap.max_recv_wr = 16;
	o.ipv4 = seed & 1;
	w->mtu = adv_mtu_bytes(o.mtu);
	w->loss = seed % 10 ? (unsigned)adv_rng_below(&w->rng, 100) : 0;
	w->doubled = (unsigned)adv_rng_below(&w->rng, 100);
	w->late = (unsigned)adv_rng_below(&w->rng, 100);
	w->eager = 50 + (unsigned)adv_rng_below(&w->rng, 950);
	w->willing = 30 + (unsigned)adv_rng_below(&w->rng, 950);
	w->net = net_open_config(2, &c);
	w->net->hook = bad_network;
	w->net->arg = w;
	if (seed % 3 == 0)
		connect_xrc(w, &o);
	else
		connect_rc(w, &o);
	for (int i = 0; i < 2; i++) {
		struct node *node = &w->net->node[i];

		w->side[i].src = region_open(node, (uint64_t)PER_SIDE * SPAN, ALL_ACCESS);
		/* dst is for the peer's requests, receive requests and counters. */
		w->side[i].dst = region_open(node, SPACE, ALL_ACCESS);
		region_fill(w->side[i].src, (uint8_t)(1 + i));
		region_fill(w->side[i].dst, (uint8_t)(3 + i));
		memset(w->side[i].dst->buf + COUNTER(0), 0, 8 * COUNTERS);
	}
	choose_ops(w, &w->side[0], &w->side[1]);
	choose_ops(w, &w->side[1], &w->side[0]);
}

static bool done(const struct world *w)
{
	for (int i = 0; i < 2; i++)
		if (w->side[i].out->send_count < PER_SIDE ||
		    w->side[i].in->recv_count < w->side[i].recvs_wanted)
			return false;
	return true;
}

static void run(struct world *w)
{
	uint64_t limit = w->net->now + BOUND;

	while (!done(w)) {
		bool moved = false;

		for (int i = 0; i < 2; i++) {
			if (chance(w, w->eager))
				moved |= post_next(w, &w->side[i], &w->side[!i]);
			/* Receive requests are often posted too late, so that the peer gets RNR
			 * NAKs. */
			if (chance(w, w->willing))
				post_recv(w, &w->side[i]);
		}
		if (!net_step(w->net, limit) && !moved && w->net->now >= limit)
			fail_msg("not done in time");
		for (int i = 0; i < 2; i++)
			if (end_state(w->side[i].out) != IBV_QPS_RTS ||
			    end_state(w->side[i].in) != IBV_QPS_RTS)
				fail_msg("a connection broke");
	}
	net_run(w->net, SEC);
}

/* Checks that a receive slot has the bytes of message `i` of the peer. */
static void expect_received(const struct world *w, int me, unsigned i, unsigned *n)
{
	const struct side *s = &w->side[me], *peer = &w->side[!me];
	const struct op *op = &peer->op[i];
	const struct ibv_wc *wc = &s->in->recvs[*n].wc;
	bool write = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	expect_recv(s->in, *n, *n, IBV_WC_SUCCESS);
	assert_int_equal(wc->byte_len, op->len);
	if (op->opcode != IBV_WR_SEND)
		assert_int_equal(wc->imm_data, i);
	if (!write)
		expect_pattern(s->dst, (uint64_t)(PER_SIDE + *n) * SPAN, op->len,
			       (uint8_t)(1 + !me), (uint64_t)i * SPAN);
	(*n)++;
}

static void expect_side(const struct world *w, int me)
{
	const struct side *s = &w->side[me], *peer = &w->side[!me];
	unsigned recvs = 0;

	assert_int_equal(s->out->send_count, PER_SIDE);
	for (unsigned i = 0; i < PER_SIDE; i++) {
		const struct op *op = &s->op[i];
		uint64_t at = (uint64_t)i * SPAN, v;

		expect_send(s->out, i, i, IBV_WC_SUCCESS);
		if (op->opcode == IBV_WR_RDMA_READ)
			expect_pattern(s->src, at, op->len, (uint8_t)(3 + !me), at);
		if (op->opcode == IBV_WR_RDMA_WRITE || op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			expect_pattern(peer->dst, at, op->len, (uint8_t)(1 + me), at);
		memcpy(&v, s->src->buf + at, sizeof(v));
		if (is_atomic(op->opcode) && v != op->original)
			fail_msg("atomic %u found %llu, not %llu", i, (unsigned long long)v,
				 (unsigned long long)op->original);
		if (takes_recv(peer->op[i].opcode))
			expect_received(w, me, i, &recvs);
	}
	assert_int_equal(s->in->recv_count, recvs);
	assert_memory_equal(peer->dst->buf + COUNTER(0), s->model, sizeof(s->model));
}

static void one_seed(uint64_t seed, bool trace)
{
	struct world w;

	open_world(&w, seed);
	w.net->trace |= trace;
	run(&w);
	expect_side(&w, 0);
	expect_side(&w, 1);
	for (int i = 0; i < 2; i++) {
		end_close(w.side[i].out);
		if (w.side[i].in != w.side[i].out)
			end_close(w.side[i].in);
	}
	net_close(w.net);
}

static void test_seed(void **state)
{
	const uint64_t *seed = *state;

	one_seed(*seed, false);
}

static int replay(const char *chosen)
{
	one_seed(strtoull(chosen, NULL, 0), true);
	return 0;
}

int main(void)
{
	static struct CMUnitTest tests[SEEDS];
	static uint64_t seed[SEEDS];
	static char name[SEEDS][16];
	const char *chosen = getenv("ADV_TEST_SEED");

	if (chosen)
		return replay(chosen);
	for (unsigned i = 0; i < SEEDS; i++) {
		seed[i] = i + 1;
		snprintf(name[i], sizeof(name[i]), "seed %u", i + 1);
		tests[i].name = name[i];
		tests[i].test_func = test_seed;
		tests[i].initial_state = &seed[i];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
