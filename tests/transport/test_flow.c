/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Marks, CNPs and rates of queue pairs, in virtual time. */
#include "harness.h"
#include "base/array.h"
#include "transport/flow.h"
#include "wire/slot.h"

#define SIZE	(1 << 20)
#define TIMES	4096
#define FRAME	66 /* Ethernet, IPv6 and UDP around the BTH and what follows up to the ICRC */
#define DATA	1  /* what is marked, and looked at */
#define REPLIES 2

struct bed {
	struct net *net;
	struct end *end[2];
	struct region *region[2];
	/* What the hook does and sees. */
	unsigned mark; /* DATA of node 0, REPLIES of node 1 */
	uint8_t ecn;   /* of the newest packet that is no CNP, as it was sent */
	unsigned cnps;
	struct wire cnp; /* the newest */
	uint64_t cnp_time[TIMES];
	unsigned watched; /* node whose packets with payload are counted */
	unsigned packets;
	uint64_t time[TIMES];
	uint32_t bytes[TIMES];
	unsigned acks;
	uint64_t ack_time;
};

static void hook(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	if (w->h.bth.opcode == ADV_OPCODE_CNP) {
		bed->cnp = *w;
		bed->cnp_time[bed->cnps++ % TIMES] = net->now;
		return;
	}
	bed->ecn = w->meta.tclass & ADV_ECN_MASK;
	if (bed->mark & (w->from == 0 ? DATA : REPLIES))
		w->meta.tclass |= ADV_ECN_CE;
	if (w->from == bed->watched && w->payload_len) {
		bed->time[bed->packets % TIMES] = net->now;
		bed->bytes[bed->packets++ % TIMES] = w->len + 4 + FRAME;
	}
	if ((w->h.bth.opcode & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE) {
		bed->acks++;
		bed->ack_time = net->now;
	}
}

static void open_with(struct bed *bed, const struct options *o, uint32_t burst,
		      const struct adv_cc_config *cc)
{
	struct adv_engine_config c = {.seed = {1}, .pace_burst = burst, .cc = cc};

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open_config(2, &c);
	bed->net->hook = hook;
	bed->net->arg = bed;
	pair_open(bed->net, o, &bed->end[0], &bed->end[1]);
	for (unsigned i = 0; i < 2; i++) {
		bed->region[i] = region_open(&bed->net->node[i], SIZE, ALL_ACCESS);
		region_fill(bed->region[i], (uint8_t)(i + 1));
	}
}

static void open_bed(struct bed *bed, enum ibv_qp_type type)
{
	struct options o = options_default(type);

	open_with(bed, &o, 0, NULL);
}

static const struct adv_engine_counters *counters(const struct bed *bed, unsigned node)
{
	return adv_engine_counters(bed->net->node[node].e);
}

/* As net_run(), and time passes where nothing happens. */
static void pass(struct net *net, uint64_t ns)
{
	uint64_t end = net->now + ns;

	net_run(net, ns);
	net->now = end;
}

static uint32_t limit(const struct bed *bed, unsigned i)
{
	return adv_qp_rate_limit(bed->end[i]->qp, bed->net->now);
}

/* n bytes from node 0 to node 1, or back. */
static void post_write(struct bed *bed, unsigned from, uint32_t n)
{
	end_op(bed->end[from], IBV_WR_RDMA_WRITE, 1, bed->region[from], 0, n, bed->region[1 - from],
	       0);
}

static void give_cnp(struct bed *bed, unsigned to)
{
	struct adv_headers h = {.bth = {.opcode = ADV_OPCODE_CNP,
					.pkey = ADV_PKEY_DEFAULT,
					.becn = true,
					.dest_qpn = adv_qp_num(bed->end[to]->qp)}};

	net_inject_packet(bed->net, 1 - to, to, &h, 0);
}

/* ---- notification point ---- */

static void check_cnp(const struct bed *bed)
{
	static const uint8_t zeros[16];
	const struct wire *w = &bed->cnp;

	assert_int_equal(w->from, 1);
	assert_int_equal(w->len, 28);
	assert_int_equal(w->h.bth.dest_qpn, adv_qp_num(bed->end[0]->qp));
	assert_int_equal(w->h.bth.psn, 0);
	assert_true(w->h.bth.becn);
	assert_false(w->h.bth.fecn || w->h.bth.ackreq || w->h.bth.migreq || w->h.bth.solicited);
	assert_memory_equal(w->data + 12, zeros, 16);
	/* DSCP 48, and not ECN-capable. */
	assert_int_equal(w->meta.tclass, 48 << 2);
}

/* One CNP at once, then one for each 50 us in which marks come; none without. */
static void test_cnps(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND};

	for (unsigned t = 0; t < 3; t++) {
		struct bed bed;
		uint64_t start;

		open_bed(&bed, types[t]);
		post_write(&bed, 0, 4096);
		net_run(bed.net, MS);
		assert_int_equal(bed.cnps, 0);
		bed.mark = DATA;
		start = bed.net->now;
		post_write(&bed, 0, SIZE);
		net_run(bed.net, 120 * MS);
		assert_int_equal(bed.ecn, ADV_ECN_ECT0);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1024);
		assert_int_equal(bed.cnps, counters(&bed, 1)->np_cnp_sent);
		assert_int_equal(bed.cnps, counters(&bed, 0)->rp_cnp_handled);
		/* UC has sent everything before the first CNP came. */
		assert_true(bed.cnps >= (types[t] == IBV_QPT_UC ? 1 : 20));
		assert_int_equal(bed.cnp_time[0], start + NET_DELAY);
		for (unsigned i = 1; i < bed.cnps; i++)
			assert_true(bed.cnp_time[i] - bed.cnp_time[i - 1] >= 50 * US);
		check_cnp(&bed);
		assert_true(limit(&bed, 0) > 0);
		assert_int_equal(limit(&bed, 1), 0);
		net_abandon(bed.net);
	}
}

/* The interval and the DSCP are parameters. A mark just before its end says nothing more. */
static void test_interval(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	cc.params.min_time_between_cnps = 7;
	cc.params.cnp_dscp = 3;
	open_with(&bed, &o, 0, &cc);
	bed.mark = DATA;
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t at[] = {0, 7 * US - 1, 7 * US};
		static const unsigned cnps[] = {1, 1, 2};
		pass(bed.net, SEC + MS + at[i] - bed.net->now);
		adv_flow_free(bed.end[0]->qp);
		post_write(&bed, 0, 8);
		net_run(bed.net, 2500);
		assert_int_equal(bed.cnps, cnps[i]);
	}
	assert_int_equal(bed.cnp.meta.tclass, 3 << 2);
	assert_int_equal(bed.end[1]->qp->flow->cnp_path.sl, 6);
	net_abandon(bed.net);
}

/* Marks on datagrams are counted only; on CNPs, on garbage and on guesses, they call for none. */
/* A queue pair whose priority is paused sends its CNPs, which have another: the first, and the next
 * one while an acknowledgement waits. */
static void test_cnps_of_the_held(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = DATA;
	adv_engine_hold(bed.net->node[1].e, 1 << 0);
	post_write(&bed, 0, 2000);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.cnps, 1);
	post_write(&bed, 0, 2000);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.cnps, 2);
	assert_int_equal(bed.acks, 0);
	assert_int_equal(bed.end[0]->send_count, 0);
	adv_engine_hold(bed.net->node[1].e, 0);
	pass(bed.net, 60 * US);
	assert_int_equal(bed.end[0]->send_count, 2);
	net_close(bed.net);
}

static void test_marks_without_cnp(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_headers h = {.bth = {.pkey = ADV_PKEY_DEFAULT}};
	struct adv_rx_meta meta = {.tclass = ADV_ECN_CE};
	struct adv_rx_packet pkt = {.meta = &meta};
	uint8_t data[64];
	struct bed bed;
	static const struct {
		uint8_t opcode;
		int psn; /* from the one expected of requests */
		bool other_qp, other_address, other_pkey;
		bool answered;
	} cases[] = {
		{.opcode = ADV_OPCODE_CNP},
		{.opcode = ADV_SERVICE_UC | ADV_OP_SEND_ONLY},
		{.opcode = 0x1f},
		{.opcode = ADV_OP_SEND_ONLY, .psn = 1 << 15},
		{.opcode = ADV_OP_SEND_ONLY, .psn = -(1 << 15) - 1},
		{.opcode = ADV_OP_SEND_ONLY, .other_qp = true},
		{.opcode = ADV_OP_SEND_ONLY, .other_address = true},
		{.opcode = ADV_OP_SEND_ONLY, .other_pkey = true},
		{.opcode = ADV_OP_ACKNOWLEDGE},
		{.opcode = ADV_OP_SEND_ONLY, .answered = true},
		{.opcode = ADV_OP_SEND_ONLY, .psn = (1 << 15) - 1, .answered = true},
		{.opcode = ADV_OP_SEND_ONLY, .psn = -(1 << 15), .answered = true},
		{.opcode = ADV_OP_ACKNOWLEDGE, .psn = 0x8ff000, .answered = true},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		unsigned wanted = cases[i].answered;

		o.psn[1] = 0x900000; /* node 1 sends, and expects 0x1000 */
		open_with(&bed, &o, 0, NULL);
		h.bth.opcode = cases[i].opcode == 0x1f ? 0 : cases[i].opcode;
		h.bth.dest_qpn = adv_qp_num(bed.end[1]->qp) + cases[i].other_qp;
		h.bth.pkey = cases[i].other_pkey ? 0x1234 : ADV_PKEY_DEFAULT;
		h.bth.psn = (0x1000u + (uint32_t)cases[i].psn) & ADV_PSN_MASK;
		pkt.len = (uint32_t)adv_headers_encode(&h, data);
		pkt.data = data;
		data[0] = cases[i].opcode;
		meta.sgid = bed.net->node[0].gid[cases[i].other_address];
		meta.dgid = bed.net->node[1].gid[0];
		adv_engine_rx(bed.net->node[1].e, bed.net->now, &pkt);
		net_run(bed.net, 10 * US);
		if (bed.cnps != wanted)
			fail_msg("case %u: %u CNPs", i, bed.cnps);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
		net_abandon(bed.net);
	}
}

/* What has left the states in which it receives says no more. */
static void test_cnp_of_the_dead(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = DATA;
	post_write(&bed, 0, 8);
	assert_true(net_step(bed.net, bed.net->now + MS)); /* it leaves, */
	assert_true(net_step(bed.net, bed.net->now + MS)); /* and arrives */
	assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_ERR), 0);
	net_run(bed.net, 10 * US);
	assert_int_equal(bed.cnps, 0);
	assert_int_equal(counters(&bed, 1)->np_cnp_sent, 0);
	net_abandon(bed.net);
}

/* ---- who is believed ---- */

static void test_forged_cnps(void **state)
{
	struct adv_headers h = {.bth = {.opcode = ADV_OPCODE_CNP, .becn = true}};
	static _Atomic uint16_t port[ADV_PREFIXES];
	static _Atomic uint16_t home[ADV_PREFIXES];
	const struct adv_engine_counters *c;
	struct adv_engine_gid gids[4];
	uint8_t data[64] = {0};
	struct adv_rx_meta meta;
	struct adv_rx_packet pkt = {.meta = &meta, .data = data, .len = 28};
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	c = counters(&bed, 0);
	memset(&meta, 0, sizeof(meta));
	meta.sgid = bed.net->node[1].gid[0];
	meta.dgid = bed.net->node[0].gid[0];
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.dest_qpn = adv_qp_num(bed.end[0]->qp);
#define SEND() (adv_headers_encode(&h, data), adv_engine_rx(bed.net->node[0].e, bed.net->now, &pkt))
	h.bth.dest_qpn++;
	SEND();
	assert_int_equal(c->rx_no_qp, 1);
	h.bth.dest_qpn--;
	h.bth.pkey = 0x1234;
	SEND();
	assert_int_equal(c->rx_bad_pkey, 1);
	h.bth.pkey = ADV_PKEY_DEFAULT;
	meta.sgid.raw[15] ^= 1;
	SEND();
	meta.sgid.raw[15] ^= 1;
	meta.dgid = bed.net->node[0].gid[1];
	SEND();
	meta.dgid = bed.net->node[0].gid[0];
	assert_int_equal(c->rx_bad_address, 2);
	pkt.len = 32;
	SEND();
	pkt.len = 27;
	SEND();
	pkt.len = 28;
	assert_int_equal(c->rx_malformed, 2);
	/* The peer is on this machine: not from its port. */
	for (unsigned i = 0; i < 4; i++) {
		gids[i].gid = bed.net->node[i / 2].gid[i % 2];
		gids[i].mtu = 4096;
	}
	assert_int_equal(adv_engine_set_gids(bed.net->node[0].e, gids, 4), 0);
	port[0] = 4000;
	adv_engine_set_senders(bed.net->node[0].e, port, home);
	meta.sport = 4001;
	SEND();
	assert_int_equal(c->rx_bad_sender, 1);
	assert_int_equal(c->rp_cnp_handled, 0);
	assert_null(bed.end[0]->qp->flow);
	assert_int_equal(limit(&bed, 0), 0);
	meta.sport = 4000;
	SEND();
	assert_int_equal(c->rp_cnp_handled, 1);
	assert_int_equal(limit(&bed, 0), 20000);
	assert_int_equal(c->rp_cnp_ignored, 0);
#undef SEND
	net_abandon(bed.net);
}

/* However many come: the least rate, 1 packet of 1 KiB each 92 us, and it is over soon after. */
static void test_flood_of_cnps(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	post_write(&bed, 0, SIZE);
	for (unsigned i = 0; i < 1000; i++) {
		give_cnp(&bed, 0);
		pass(bed.net, US);
		assert_true(limit(&bed, 0) >= 100);
	}
	bed.packets = 0;
	for (unsigned i = 0; i < 1000; i++) {
		give_cnp(&bed, 0);
		pass(bed.net, US);
	}
	assert_in_range(bed.packets, 10, 12);
	net_until(bed.net, bed.end[0], 1, 0, 60 * MS);
	expect_send(bed.end[0], 0, 1, IBV_WC_SUCCESS);
	pass(bed.net, 70 * MS);
	assert_int_equal(limit(&bed, 0), 0);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	net_close(bed.net);
}

static void test_datagrams_and_none(void **state)
{
	struct options o = options_default(IBV_QPT_UD);
	struct adv_cc_config cc = {.algorithm = ADV_CC_NONE, .params = adv_cc_default().params};
	struct bed bed;

	open_with(&bed, &o, 0, NULL);
	give_cnp(&bed, 0);
	assert_int_equal(counters(&bed, 0)->rx_no_qp, 1);
	net_close(bed.net);

	o = options_default(IBV_QPT_RC);
	open_with(&bed, &o, 0, &cc);
	bed.mark = DATA | REPLIES;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * MS);
	give_cnp(&bed, 0);
	assert_int_equal(bed.ecn, ADV_ECN_NOT_ECT);
	assert_int_equal(bed.cnps, 0);
	assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1024);
	assert_int_equal(counters(&bed, 0)->rp_cnp_handled, 0);
	assert_int_equal(counters(&bed, 0)->rp_cnp_ignored, 1);
	assert_null(bed.end[0]->qp->flow);
	assert_null(bed.end[1]->qp->flow);
	net_close(bed.net);
}

/* ---- the rate on the wire ---- */

/*
 * Every packet leaves at the ns that the rate says, through all changes of the rate: computed here
 * bit by bit, as the integral of a rate that another instance of the algorithm tells.
 */
struct integral {
	struct adv_cc_params p;
	struct adv_dcqcn d;
	uint64_t now;
	uint64_t cnp_at; /* a second one */
};

/* To the next change of the rate, not past `end`. */
static void move(struct integral *in, uint64_t end)
{
	uint64_t next = adv_dcqcn_next(&in->d);

	if (in->cnp_at < next && in->cnp_at <= end) {
		in->now = in->cnp_at;
		in->cnp_at = ADV_NEVER;
		adv_dcqcn_on_cnp(&in->d, &in->p, 40000000, in->now);
	} else if (next <= end) {
		in->now = next;
		adv_dcqcn_expire(&in->d, &in->p, 40000000, next);
	} else {
		in->now = end;
	}
}

/* Until so many bits have left, or the limit is gone. */
static void leave(struct integral *in, double bits)
{
	while (bits > 0 && in->d.rate) {
		uint64_t before = in->now, rate = in->d.rate;
		double ns = bits * 1e6 / (double)rate;

		move(in, before + (uint64_t)ns);
		if (in->now - before >= (uint64_t)ns)
			return;
		bits -= (double)(in->now - before) * (double)rate / 1e6;
	}
}

static void check_times(const struct bed *bed, const struct adv_cc_params *params, uint64_t first,
			uint64_t second)
{
	struct integral in = {.p = *params, .now = first, .cnp_at = second};

	adv_dcqcn_on_cnp(&in.d, &in.p, 40000000, first);
	for (unsigned i = 0; i < bed->packets && in.d.rate; i++) {
		if (bed->time[i] + 4 < in.now || bed->time[i] > in.now + 4)
			fail_msg("packet %u left at %llu, not at %llu", i,
				 (unsigned long long)bed->time[i], (unsigned long long)in.now);
		in.now = bed->time[i];
		adv_dcqcn_on_sent(&in.d, &in.p, 40000000, bed->bytes[i]);
		leave(&in, bed->bytes[i] * 8.0);
	}
	assert_int_equal(in.cnp_at, ADV_NEVER);
}

static void test_exact_times(void **state)
{
	/* The byte counter changes the rate in the middle of things, too. */
	static const uint32_t byte_resets[] = {10000000, 50000};

	for (unsigned i = 0; i < 2; i++) {
		struct options o = options_default(IBV_QPT_UC);
		struct adv_cc_config cc = adv_cc_default();
		struct bed bed;
		uint64_t at;

		cc.params.rpg_byte_reset = byte_resets[i];
		open_with(&bed, &o, 0, &cc);
		at = bed.net->now;
		give_cnp(&bed, 0);
		post_write(&bed, 0, SIZE);
		/* The second one comes while a packet waits. */
		pass(bed.net, 75 * US + 111);
		give_cnp(&bed, 0);
		net_run(bed.net, 10 * MS);
		assert_int_equal(bed.packets, 1024);
		/* 1,024 bytes and headers in 9 kbit at 20 Gb/s. */
		assert_int_equal(bed.bytes[1], 1024 + 12 + 4 + FRAME);
		assert_int_equal(bed.time[1] - bed.time[0], (1024 + 28 + 4 + FRAME) * 8 / 20);
		check_times(&bed, &cc.params, at, at + 75 * US + 111);
		net_close(bed.net);
	}
}

/* READ responses: the responder's queue pair has the rate. */
static void test_read_responses(void **state)
{
	struct bed bed;
	uint64_t at;

	open_bed(&bed, IBV_QPT_RC);
	bed.watched = 1;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], 0, SIZE, bed.region[1], 0);
	pass(bed.net, 1500);
	bed.packets = 0;
	at = bed.net->now;
	give_cnp(&bed, 1);
	for (unsigned i = 0; i < 6; i++) {
		pass(bed.net, 50 * US);
		give_cnp(&bed, 1);
	}
	/* Cuts by half: 20 + 10 + 5 + 2.5 + 1.25 + .625 Gb/s for 50 us each are 246 kB. */
	assert_true(bed.net->now - at >= 300 * US);
	assert_in_range(bed.packets, 200, 236);
	net_until(bed.net, bed.end[0], 1, 0, 40 * MS);
	expect_send(bed.end[0], 0, 1, IBV_WC_SUCCESS);
	expect_pattern(bed.region[0], 0, SIZE, 2, 0);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	assert_int_equal(counters(&bed, 1)->rp_cnp_handled, 7);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* Marked READ responses make the requester send CNPs, which reach the responder. */
static void test_marked_responses(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	bed.mark = REPLIES;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], 0, SIZE, bed.region[1], 0);
	net_run(bed.net, 300 * US);
	assert_true(counters(&bed, 0)->np_cnp_sent >= 5);
	assert_int_equal(counters(&bed, 1)->rp_cnp_handled, counters(&bed, 0)->np_cnp_sent);
	assert_true(limit(&bed, 1) > 0 && limit(&bed, 1) < 2000);
	assert_int_equal(limit(&bed, 0), 0);
	net_abandon(bed.net);
}

/* Requests and responses of one queue pair share its rate, and neither starves. */
static void test_both_ways(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	for (unsigned i = 0; i < 10; i++) {
		give_cnp(&bed, 1);
		pass(bed.net, 50 * US);
	}
	bed.watched = 1;
	end_op(bed.end[0], IBV_WR_RDMA_READ, 1, bed.region[0], SIZE / 2, SIZE / 2, bed.region[1],
	       SIZE / 2);
	post_write(&bed, 1, SIZE / 2);
	net_run(bed.net, 4 * MS);
	/* Both are half done, more or less. */
	assert_int_equal(bed.end[0]->send_count + bed.end[1]->send_count, 0);
	assert_int_equal(bed.region[0]->buf[SIZE / 2 + 1024], region_byte(SIZE / 2 + 1024, 2));
	assert_int_equal(bed.region[0]->buf[1024], region_byte(1024, 2));
	net_until(bed.net, bed.end[0], 1, 0, 40 * MS);
	net_until(bed.net, bed.end[1], 1, 0, 40 * MS);
	expect_pattern(bed.region[0], 0, SIZE, 2, 0);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* A queue pair that may send nothing for long still acknowledges at once. */
static void test_acks_do_not_wait(void **state)
{
	struct bed bed;
	uint64_t start;

	open_bed(&bed, IBV_QPT_RC);
	for (unsigned i = 0; i < 12; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 1);
	post_write(&bed, 1, 64 << 10); /* 5 ms of it */
	net_run(bed.net, 10 * US);
	bed.acks = 0;
	start = bed.net->now;
	post_write(&bed, 0, 8);
	net_run(bed.net, 10 * US);
	assert_int_equal(bed.acks, 1);
	assert_int_equal(bed.ack_time, start + NET_DELAY);
	assert_int_equal(bed.end[0]->send_count, 1);
	assert_int_equal(bed.end[1]->send_count, 0);
	net_abandon(bed.net);
}

/* So slow that 16 packets take longer than the timeout: each is acknowledged, none sent twice. */
static void test_slower_than_the_timeout(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	cc.params.rpg_min_rate = 1;
	cc.params.rpg_time_reset = 10000000; /* nor does it become faster */
	cc.params.rpg_byte_reset = 0;
	o.timeout = 13; /* 34 ms; a packet takes 9 */
	open_with(&bed, &o, 0, &cc);
	for (unsigned i = 0; i < 20; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 1);
	post_write(&bed, 0, 32 << 10);
	net_until(bed.net, bed.end[0], 1, 0, SEC);
	assert_int_equal(bed.packets, 32);
	assert_int_equal(counters(&bed, 0)->local_ack_timeout_err, 0);
	assert_int_equal(bed.acks, 32);
	net_abandon(bed.net);
}

/* ---- what it costs ---- */

/* Runs until the end has completed its request; how often time had to move for an engine. */
static unsigned timers_until_done(struct bed *bed)
{
	struct adv_engine *e = bed->net->node[0].e;
	unsigned timers = 0;

	while (bed->end[0]->send_count == 0) {
		uint64_t before = adv_engine_deadline(e);

		assert_true(net_step(bed->net, bed->net->now + SEC));
		timers += before <= bed->net->now;
	}
	return timers;
}

/* Timers by bursts, or by 100 us, not by packets; and no more than a burst at once. */
static void test_bursts(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	unsigned timers, at_once = 0, most = 0;
	struct bed bed;

	open_with(&bed, &o, 16 << 10, NULL);
	for (unsigned i = 0; i < 6; i++, bed.net->now += 50 * US)
		give_cnp(&bed, 0);
	post_write(&bed, 0, SIZE);
	timers = timers_until_done(&bed);
	assert_int_equal(bed.packets, 1024);
	assert_in_range(timers, 64, 160);
	for (unsigned i = 1; i < bed.packets; i++) {
		at_once = bed.time[i] == bed.time[i - 1] ? at_once + 1 : 0;
		most = at_once > most ? at_once : most;
	}
	assert_in_range(most, 7, 16);
	net_run(bed.net, 100 * MS);
	net_close(bed.net);
}

/* The long-term rate is the rate with bursts, too. */
static void test_rate_with_bursts(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;
	uint64_t start, ns;

	cc.params.rpg_time_reset = 10000000;
	cc.params.rate_to_set_on_first_cnp = 2000;
	open_with(&bed, &o, 64 << 10, &cc);
	give_cnp(&bed, 0);
	start = bed.net->now;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * MS);
	assert_int_equal(bed.packets, 1024);
	/* All but what the first burst was ahead. */
	ns = (1024ull * (1024 + 16 + FRAME) - (64 << 10)) * 8 / 2;
	assert_in_range(bed.time[1023] - start, ns - 110 * US, ns + 110 * US);
	net_close(bed.net);
}

/* A link that takes single packets gets the CNP first, and then all the rest. */
static void test_single_packets(void **state)
{
	for (unsigned limited = 0; limited < 2; limited++) {
		struct adv_engine *e;
		struct bed bed;
		unsigned n = 0;

		open_bed(&bed, IBV_QPT_RC);
		e = bed.net->node[1].e;
		bed.mark = DATA;
		if (limited)
			give_cnp(&bed, 1);
		post_write(&bed, 0, 8);
		assert_true(net_step(bed.net, bed.net->now + MS)); /* it leaves, */
		assert_true(net_step(bed.net, bed.net->now + MS)); /* and arrives */
		post_write(&bed, 1, 10 << 10);
		assert_int_equal(counters(&bed, 1)->np_ecn_marked_roce_packets, 1);
		while (adv_engine_tx_some(e, bed.net->now, &bed.net->batch, 1) == 1 && n < 20) {
			assert_int_equal(bed.net->batch.packet[0].header[0] == ADV_OPCODE_CNP,
					 n == 0);
			n++;
			if (limited && adv_engine_deadline(e) != ADV_NEVER)
				adv_engine_expire(e, bed.net->now += 20 * US);
		}
		assert_int_equal(n, 1 + 10 + 1); /* CNP, data, ACK */
		net_abandon(bed.net);
	}
}

/* An idle queue pair that is limited has no timer; and a full window no endless turns. */
static void test_idle(void **state)
{
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	give_cnp(&bed, 0);
	assert_int_equal(adv_engine_deadline(bed.net->node[0].e), ADV_NEVER);
	assert_false(adv_engine_tx_ready(bed.net->node[0].e));
	post_write(&bed, 0, SIZE);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_ERR), 0); /* it answers nothing */
	net_run(bed.net, 2 * MS);
	assert_int_equal(bed.packets, 64);
	for (unsigned i = 0; i < 100; i++) {
		adv_qp_schedule(bed.end[0]->qp);
		assert_int_equal(adv_engine_tx(bed.net->node[0].e, bed.net->now, &bed.net->batch),
				 0);
		assert_false(adv_engine_tx_ready(bed.net->node[0].e));
	}
	net_abandon(bed.net);
}

static void check_timers(const struct bed *bed)
{
	const struct adv_timer_heap *h = &bed->net->node[0].e->timers;

	for (uint32_t i = 1; i <= h->count; i++)
		assert_int_equal(h->slot[i]->position, i);
}

/* Reset and destroyed in any moment: no timer is left, and the next life begins at full rate. */
static void test_reset(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	uint32_t room;

	open_bed(&bed, IBV_QPT_RC);
	room = bed.net->node[0].e->timers.room;
	bed.mark = DATA | REPLIES;
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 100 * US);
	assert_true(limit(&bed, 0) > 0);
	assert_int_equal(bed.net->node[0].e->timers.count, 2);
	assert_int_equal(bed.net->node[0].e->timers.room, room + 1);
	assert_int_equal(end_to_state(bed.end[0], IBV_QPS_RESET), 0);
	check_timers(&bed);
	assert_int_equal(bed.net->node[0].e->timers.room, room);
	assert_null(bed.end[0]->qp->flow);
	assert_int_equal(end_to_state(bed.end[1], IBV_QPS_RESET), 0);
	bed.mark = 0;
	net_run(bed.net, 10 * MS);
	ends_connect(bed.end[0], bed.end[1], &o);
	assert_int_equal(limit(&bed, 0), 0);
	post_write(&bed, 0, SIZE);
	net_until(bed.net, bed.end[0], 1, 0, MS);
	give_cnp(&bed, 0);
	post_write(&bed, 0, SIZE);
	net_run(bed.net, 10 * US);
	assert_int_equal(adv_qp_destroy(bed.end[0]->qp), 0);
	bed.end[0]->qp = NULL;
	net_run(bed.net, 100 * MS);
	assert_int_equal(adv_engine_deadline(bed.net->node[0].e), ADV_NEVER);
	net_abandon(bed.net);
}

/* The line's rate: a parameter, or what the port has. */
static void test_line(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_cc_config cc = adv_cc_default();
	struct bed bed;

	open_bed(&bed, IBV_QPT_RC);
	adv_engine_set_line_rate(bed.net->node[0].e, 10000);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 5000);
	bed.net->now += 60 * US;
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 3765); /* 3,764,649 kb/s: as test_dcqcn.c has, a quarter */
	net_abandon(bed.net);
	open_bed(&bed, IBV_QPT_RC);
	adv_engine_set_line_rate(bed.net->node[0].e, 0);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 20000);
	net_abandon(bed.net);
	cc.params.rpg_max_rate = 1000;
	open_with(&bed, &o, 0, &cc);
	adv_engine_set_line_rate(bed.net->node[0].e, 10000);
	give_cnp(&bed, 0);
	assert_int_equal(limit(&bed, 0), 500);
	net_abandon(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cnps),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_cnps_of_the_held),
		cmocka_unit_test(test_marks_without_cnp),
		cmocka_unit_test(test_cnp_of_the_dead),
		cmocka_unit_test(test_forged_cnps),
		cmocka_unit_test(test_flood_of_cnps),
		cmocka_unit_test(test_datagrams_and_none),
		cmocka_unit_test(test_exact_times),
		cmocka_unit_test(test_read_responses),
		cmocka_unit_test(test_marked_responses),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_acks_do_not_wait),
		cmocka_unit_test(test_slower_than_the_timeout),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_rate_with_bursts),
		cmocka_unit_test(test_single_packets),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
