/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMAP streams with random requests in both directions, over a connection that cuts, stalls and
 * sometimes ends. Each request has memory of its own at both ends. A completed request has moved
 * its bytes (a WRITE or SEND: once the peer has received everything), and no other memory changes.
 * The harness checks the order of completions. End 0 is the initiator: it sends a message of some
 * kind first, offers none and the responder begins after some time, or either end begins at once.
 * Time passes, so the first message is repeated. The argument is the number of seeds, then the
 * first one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "stream_bed.h"

#define REQUESTS   40
#define SLOT	   20000
#define SEEDS	   60
#define MOST_STEPS 2000000u
#define STEP_NS	   3000000u /* most time between two steps */
#define ACK_STEPS  200u	    /* until the start-up reply is acknowledged, at most */

enum kind { SEND, WRITE, READ };

struct request {
	enum kind kind;
	uint32_t len;
	bool posted;
};

/* What one end posts, with its memory: a slot for each request of its own, and one for each request
 * of the peer. */
struct side {
	struct request request[REQUESTS];
	struct region *own;
	struct region *peers; /* receives, targets of WRITEs, sources of READs */
	unsigned posted;
	unsigned received; /* receives posted */
};

struct world {
	struct bed *b;
	struct side side[2];
	struct adv_rng rng;
	unsigned acknowledged_at; /* the step */
};

static uint32_t random_length(struct adv_rng *rng)
{
	switch (adv_rng_below(rng, 4)) {
	case 0:
		return (uint32_t)adv_rng_below(rng, 4);
	case 1:
		return (uint32_t)adv_rng_below(rng, 200);
	case 2:
		return (uint32_t)adv_rng_below(rng, 3000);
	default:
		return (uint32_t)adv_rng_below(rng, SLOT);
	}
}

static uint8_t own_seed(unsigned side)
{
	return (uint8_t)(17 + side);
}

static uint8_t peers_seed(unsigned side)
{
	return (uint8_t)(91 + side);
}

/* Returns the agreement of each end. */
static void choose_config(struct adv_rng *rng, struct adv_rdmap_config c[2])
{
	static const enum adv_rdmap_first first[][2] = {
		{ADV_RDMAP_FIRST_ANY, ADV_RDMAP_FIRST_ANY},
		{ADV_RDMAP_FIRST_ANY, ADV_RDMAP_FIRST_HOPED},
		{ADV_RDMAP_FIRST_WRITE, ADV_RDMAP_FIRST_OF_PEER},
		{ADV_RDMAP_FIRST_EMPTY, ADV_RDMAP_FIRST_OF_PEER},
	};
	unsigned k = (unsigned)adv_rng_below(rng, ADV_ARRAY_SIZE(first));

	c[0] = (struct adv_rdmap_config){.crc = adv_rng_below(rng, 2)};
	c[0].rx_markers = c[0].tx_markers = adv_rng_below(rng, 3) == 0;
	c[0].ird = c[0].ord = 1 + (uint32_t)adv_rng_below(rng, 6);
	c[0].segment = adv_rng_below(rng, 2) ? 1 + (uint32_t)adv_rng_below(rng, 3000) : 0;
	c[1] = c[0];
	c[0].first = first[k][0];
	c[1].first = first[k][1];
}

static void world_open(struct world *w, uint64_t seed)
{
	struct adv_rdmap_config c[2];
	unsigned i, k;

	adv_rng_seed(&w->rng, seed);
	choose_config(&w->rng, c);
	w->acknowledged_at = (unsigned)adv_rng_below(&w->rng, ACK_STEPS);
	w->b = bed_open_ends(c, seed);
	w->b->piece = (size_t)1 << adv_rng_below(&w->rng, 16);
	for (i = 0; i < 2; i++) {
		struct side *s = &w->side[i];

		memset(s, 0, sizeof(*s));
		s->own = region_open(&w->b->net->node[i], REQUESTS * SLOT, ALL_ACCESS);
		s->peers = region_open(&w->b->net->node[i], REQUESTS * SLOT, ALL_ACCESS);
		region_fill(s->own, own_seed(i));
		region_fill(s->peers, peers_seed(i));
		for (k = 0; k < REQUESTS; k++)
			s->request[k] =
				(struct request){.kind = (enum kind)adv_rng_below(&w->rng, 3),
						 .len = random_length(&w->rng)};
	}
}

/* Posts the receives for the SENDs of the peer, before it posts them. */
static void post_receives(struct world *w, unsigned i)
{
	struct side *s = &w->side[i];
	const struct side *peer = &w->side[!i];

	for (; s->received < REQUESTS &&
	       w->b->end[i]->qp->rq.head - w->b->end[i]->qp->rq.freed < w->b->end[i]->qp->rq.size;
	     s->received++)
		if (peer->request[s->received].kind == SEND)
			end_recv(w->b->end[i], s->received, s->peers, SLOT * s->received, SLOT);
}

static void post_one(struct world *w, unsigned i)
{
	static const int opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
	struct side *s = &w->side[i], *peer = &w->side[!i];
	struct request *r = &s->request[s->posted];
	uint64_t at = SLOT * s->posted;

	if (s->posted == REQUESTS || peer->received <= s->posted ||
	    end_state(w->b->end[i]) != IBV_QPS_RTS)
		return;
	end_op(w->b->end[i], opcodes[r->kind], s->posted, s->own, at, r->len,
	       r->kind == SEND ? NULL : peer->peers, at);
	r->posted = true;
	s->posted++;
}

static bool done(const struct world *w)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		if (end_state(w->b->end[i]) != IBV_QPS_ERR && w->b->end[i]->send_count < REQUESTS)
			return false;
	return true;
}

/* Checks a slot: the first len bytes have the pattern of the other slot, or their own; the rest is
 * unchanged. */
static void check_slot(const struct region *r, unsigned k, uint32_t len, bool moved, uint8_t seed,
		       uint8_t other_seed)
{
	uint64_t at = (uint64_t)SLOT * k;

	if (moved)
		expect_pattern(r, at, len, other_seed, at);
	expect_pattern(r, at + len, SLOT - len, seed, at + len);
}

static void check_side(const struct world *w, unsigned i, bool ended)
{
	const struct side *s = &w->side[i], *peer = &w->side[!i];
	unsigned k, completed = 0;

	for (k = 0; k < w->b->end[i]->send_count; k++)
		completed += w->b->end[i]->sends[k].wc.status == IBV_WC_SUCCESS;
	for (k = 0; k < REQUESTS; k++) {
		const struct request *r = &s->request[k];
		bool good = k < completed;

		check_slot(s->own, k, r->kind == READ ? r->len : 0, good && r->kind == READ,
			   own_seed(i), peers_seed(!i));
		check_slot(peer->peers, k, r->kind == READ ? 0 : r->len,
			   good && r->kind != READ && !ended, peers_seed(!i), own_seed(i));
	}
	if (!ended)
		assert_int_equal(completed, REQUESTS);
	assert_int_equal(w->b->end[i]->send_count, s->posted);
}

/* Lets time pass, and moves bytes of an end. */
static void step(struct world *w, unsigned i, unsigned steps)
{
	struct net *net = w->b->net;

	net->now += adv_rng_below(&w->rng, STEP_NS);
	adv_engine_expire(net->node[i].e, net->now);
	if (i == 1 && adv_rdmap_hopes(w->b->stream[1]))
		adv_rdmap_reply_seen(w->b->stream[1], net->now, steps >= w->acknowledged_at);
	bed_step(w->b, i);
}

static void run_seed(uint64_t seed)
{
	static struct world w;
	unsigned steps = 0, end_at;
	bool ended;

	world_open(&w, seed);
	end_at = adv_rng_below(&w.rng, 3) ? MOST_STEPS : 1 + (unsigned)adv_rng_below(&w.rng, 400);
	while (!done(&w)) {
		unsigned i = (unsigned)adv_rng_below(&w.rng, 2);

		assert_in_range(++steps, 0, MOST_STEPS);
		post_receives(&w, 0);
		post_receives(&w, 1);
		if (adv_rng_below(&w.rng, 3) == 0)
			post_one(&w, i);
		step(&w, i, steps);
		if (steps == end_at)
			w.b->pipe[0].ended = w.b->pipe[1].ended = true;
	}
	bed_run(w.b);
	ended = w.b->pipe[0].ended;
	check_side(&w, 0, ended);
	check_side(&w, 1, ended);
	bed_close(w.b);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : SEEDS;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, seed;

	for (seed = first; seed < first + count; seed++) {
		if (argc > 1)
			printf("seed %llu\n", (unsigned long long)seed);
		fflush(stdout);
		run_seed(seed);
	}
	printf("%llu seeds\n", (unsigned long long)count);
	return 0;
}
