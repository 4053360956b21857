/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets that are malformed, or for another receiver, change nothing and are counted. QPs share
 * the link fairly. */
#include <stdlib.h>

#include "harness.h"
#include "nic/engine/affiliated.h"
#include "nic/wire/slot.h"

#define MANY 16

struct bed {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
};

static void bed_open(struct bed *bed, enum ibv_qp_type type)
{
	struct options o = options_default(type);

	memset(bed, 0, sizeof(*bed));
	bed->net = net_open(2, 3);
	bed->ra = region_open(&bed->net->node[0], 8192, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 8192, ALL_ACCESS);
	region_fill(bed->rb, 2);
	pair_open(bed->net, &o, &bed->a, &bed->b);
	for (unsigned i = 0; i < 8; i++)
		end_recv(bed->b, i, bed->rb, 4096, 4096);
}

/* Returns the headers of a well-formed request for the second end, with its expected PSN. */
static struct adv_headers good_headers(const struct bed *bed, uint8_t opcode)
{
	struct adv_headers h;

	memset(&h, 0, sizeof(h));
	h.bth.opcode = opcode;
	h.bth.pkey = ADV_PKEY_DEFAULT;
	h.bth.dest_qpn = adv_qp_num(bed->b->qp);
	h.bth.ackreq = true;
	h.bth.psn = 0x1000;
	h.deth.qkey = 0x11111111;
	h.reth.va = h.atomiceth.va = bed->rb->iova;
	h.reth.rkey = h.atomiceth.rkey = bed->rb->key;
	h.feth.placement = 1;
	return h;
}

static uint32_t payload_of(uint8_t opcode)
{
	uint16_t flags = adv_opcode_table[opcode].flags;

	if (!(flags & ADV_PKT_PAYLOAD))
		return 0;
	if (opcode == ADV_OP_ATOMIC_WRITE)
		return 8;
	return flags & ADV_PKT_END ? 20 : 1024;
}

static uint32_t build(const struct bed *bed, uint8_t opcode, uint8_t *data)
{
	struct adv_headers h = good_headers(bed, opcode);
	uint32_t payload = payload_of(opcode);
	size_t len;

	h.reth.length = payload;
	len = adv_headers_encode(&h, data);
	memset(data + len, 0x5a, payload);
	return (uint32_t)len + payload;
}

/* A copy of the second end's QP and of its memory. */
struct picture {
	struct adv_qp qp;
	struct adv_engine_counters counters;
	uint8_t memory[8192];
};

static void picture_of(const struct bed *bed, struct picture *p)
{
	memcpy(&p->qp, bed->b->qp, sizeof(p->qp));
	memcpy(&p->counters, adv_engine_counters(bed->net->node[1].e), sizeof(p->counters));
	memcpy(p->memory, bed->rb->buf, 8192);
}

/* Passes the packet to the engine. Only rx_packets and the counter at `offset` change. */
static void expect_counted(struct bed *bed, const uint8_t *data, uint32_t len, size_t offset)
{
	static struct picture before, after;
	uint64_t n;

	picture_of(bed, &before);
	net_inject(bed->net, 0, 1, data, len);
	picture_of(bed, &after);
	memcpy(&n, (uint8_t *)&before.counters + offset, sizeof(n));
	n++;
	memcpy((uint8_t *)&before.counters + offset, &n, sizeof(n));
	before.counters.rx_packets++;
	/* Of refused P_Keys the queue pair has its share. */
	before.qp.share[offset / sizeof(n)] +=
		offset == offsetof(struct adv_engine_counters, rx_bad_pkey);
	assert_memory_equal(&before, &after, sizeof(before));
}

#define COUNTED(bed, data, len, counter)                                                           \
	expect_counted(bed, data, len, offsetof(struct adv_engine_counters, counter))

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
static const uint8_t services[] = {ADV_SERVICE_RC, ADV_SERVICE_UC, ADV_SERVICE_UD};

/* Packets that end inside the headers, or whose length is no multiple of four, are counted as
 * malformed. */
static void test_truncated(void **state)
{
	for (int t = 0; t < 3; t++) {
		struct bed bed;

		bed_open(&bed, types[t]);
		for (unsigned op = 0; op < 32; op++) {
			uint8_t opcode = services[t] | op, data[PACKET_MAX];
			const struct adv_opcode_info *info = &adv_opcode_table[opcode];
			uint32_t len;

			if (!info->name)
				continue;
			len = build(&bed, opcode, data);
			for (uint32_t cut = 0; cut < len; cut++)
				if (cut < info->length || (cut & 3))
					COUNTED(&bed, data, cut, rx_malformed);
			/* More padding than payload; a version other than 0. */
			if (len - info->length < 3) {
				data[1] |= 0x30;
				COUNTED(&bed, data, len, rx_malformed);
				data[1] &= 0xcf;
			}
			data[1] |= 1;
			COUNTED(&bed, data, len, rx_malformed);
			data[1] &= 0xf0;
			/* Payload with an opcode that has none. */
			if (!(info->flags & ADV_PKT_PAYLOAD)) {
				memset(data + len, 0, 4);
				COUNTED(&bed, data, len + 4, rx_malformed);
			}
		}
		net_abandon(bed.net);
	}
}

static void test_unknown_opcodes(void **state)
{
	struct bed bed;

	bed_open(&bed, IBV_QPT_RC);
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		uint8_t data[PACKET_MAX];
		uint32_t len = build(&bed, ADV_OP_SEND_ONLY, data);

		if (adv_opcode_table[opcode].name)
			continue;
		data[0] = (uint8_t)opcode;
		COUNTED(&bed, data, len, rx_malformed);
	}
	net_abandon(bed.net);
}

static void with(struct bed *bed, uint8_t *data, uint32_t *len, uint8_t opcode,
		 const struct adv_headers *h)
{
	size_t n = adv_headers_encode(h, data);

	memset(data + n, 0, 1024);
	*len = (uint32_t)n + payload_of(opcode);
}

static void test_not_for_us(void **state)
{
	for (int t = 0; t < 3; t++) {
		uint8_t data[PACKET_MAX], opcode = services[t] | ADV_OP_SEND_ONLY;
		struct adv_headers h;
		struct bed bed;
		uint32_t len;

		bed_open(&bed, types[t]);
		h = good_headers(&bed, opcode);
		h.bth.dest_qpn = 0x2ff; /* unused */
		with(&bed, data, &len, opcode, &h);
		COUNTED(&bed, data, len, rx_no_qp);
		h.bth.dest_qpn = 0x999; /* not a number of this engine */
		with(&bed, data, &len, opcode, &h);
		COUNTED(&bed, data, len, rx_no_qp);
		h = good_headers(&bed, opcode);
		for (int other = 0; other < 3; other++) {
			h.bth.opcode = services[other] | ADV_OP_SEND_ONLY;
			with(&bed, data, &len, opcode, &h);
			if (other != t)
				COUNTED(&bed, data, len, rx_no_qp);
		}
		h = good_headers(&bed, opcode);
		h.bth.pkey = 0x1234;
		with(&bed, data, &len, opcode, &h);
		COUNTED(&bed, data, len, rx_bad_pkey);
		h.bth.pkey = ADV_PKEY_DEFAULT;
		h.deth.qkey = 1;
		with(&bed, data, &len, opcode, &h);
		if (types[t] == IBV_QPT_UD)
			COUNTED(&bed, data, len, rx_bad_qkey);
		net_abandon(bed.net);
	}
}

/* A QP receives only in RTR, RTS, SQD and SQE. */
static void test_states(void **state)
{
	static const enum ibv_qp_state deaf[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_ERR};

	for (int t = 0; t < 3; t++) {
		struct options o = options_default(types[t]);
		struct bed bed;

		bed_open(&bed, types[t]);
		for (int s = 0; s < 3; s++) {
			uint8_t data[PACKET_MAX];
			uint32_t len = build(&bed, services[t] | ADV_OP_SEND_ONLY, data);

			assert_int_equal(end_to_state(bed.b, IBV_QPS_RESET), 0);
			if (deaf[s] == IBV_QPS_INIT)
				assert_int_equal(end_to_init(bed.b, &o), 0);
			if (deaf[s] == IBV_QPS_ERR)
				assert_int_equal(end_to_state(bed.b, IBV_QPS_ERR), 0);
			COUNTED(&bed, data, len, rx_no_qp);
		}
		net_abandon(bed.net);
	}
}

/* A packet is refused if its source is not the peer's address or its destination is not the QP's
 * address. */
static void test_addresses(void **state)
{
	for (int t = 0; t < 3; t++) {
		uint8_t data[PACKET_MAX];
		struct bed bed;
		uint32_t len;

		bed_open(&bed, types[t]);
		len = build(&bed, services[t] | ADV_OP_SEND_ONLY, data);
		for (int k = 0; k < 4; k++) {
			struct adv_gid strange = {{0xfd, 9, 9, 9}};
			struct adv_rx_meta meta = {.sgid = bed.net->node[0].gid[0],
						   .dgid = bed.net->node[1].gid[0]};
			struct adv_rx_packet pkt = {.meta = &meta, .data = data, .len = len};
			static struct picture before, after;

			if (k == 0)
				meta.sgid = strange;
			if (k == 1)
				meta.dgid = strange;
			if (k == 2)
				meta.sgid = bed.net->node[0].gid[1];
			if (k == 3)
				meta.dgid = bed.net->node[1].gid[1];
			if (types[t] == IBV_QPT_UD && k != 1)
				continue; /* UD: any peer and any address of the node */
			picture_of(&bed, &before);
			adv_engine_rx(bed.net->node[1].e, bed.net->now, &pkt);
			picture_of(&bed, &after);
			before.counters.rx_packets++;
			before.counters.rx_bad_address++;
			assert_memory_equal(&before, &after, sizeof(before));
		}
		net_abandon(bed.net);
	}
}

/* Sends the packet from this source port, or through a slot's memory. Returns true if it is only
 * counted in rx_bad_sender. */
static bool is_forgery(struct bed *bed, const uint8_t *data, uint32_t len, uint16_t sport,
		       uint16_t slot)
{
	struct adv_rx_meta meta = {.sgid = bed->net->node[0].gid[0],
				   .dgid = bed->net->node[1].gid[0],
				   .sport = sport,
				   .slot = slot};
	struct adv_rx_packet pkt = {.meta = &meta, .data = data, .len = len};
	static struct picture before, after;

	picture_of(bed, &before);
	adv_engine_rx(bed->net->node[1].e, bed->net->now, &pkt);
	picture_of(bed, &after);
	if (after.counters.rx_bad_sender == before.counters.rx_bad_sender)
		return false;
	before.counters.rx_packets++;
	before.counters.rx_bad_sender++;
	assert_memory_equal(&before, &after, sizeof(before));
	return true;
}

/* Within a machine, packets of a QP's peer are accepted only from the port of the peer's process. A
 * new GID table changes the set of addresses within the machine. */
static void test_senders(void **state)
{
	static _Atomic uint16_t port[ADV_PREFIXES];
	static _Atomic uint16_t home[ADV_PREFIXES];

	for (int t = 0; t < 3; t++) {
		uint8_t data[PACKET_MAX];
		struct adv_engine_gid gids[4];
		struct bed bed;
		uint32_t len;

		bed_open(&bed, types[t]);
		adv_engine_set_senders(bed.net->node[1].e, port, home);
		for (unsigned i = 0; i < 4; i++)
			gids[i] = (struct adv_engine_gid){bed.net->node[i / 2].gid[i % 2], 4096,
							  false};
		assert_int_equal(adv_engine_set_gids(bed.net->node[1].e, gids, 4), 0);
		len = build(&bed, services[t] | ADV_OP_SEND_ONLY, data);
		port[0] = 50000; /* all QP numbers of this test belong to slot 0 */
		port[1] = 50001;
		assert_true(is_forgery(&bed, data, len, 49999, 0));
		assert_true(is_forgery(&bed, data, len, 50001, 0));
		assert_true(is_forgery(&bed, data, len, 0, 0));
		port[0] = 0; /* no process */
		assert_true(is_forgery(&bed, data, len, 50000, 0));
		assert_true(is_forgery(&bed, data, len, 0, 0));
		assert_true(is_forgery(&bed, data, len, 50000, 2)); /* slot 1's memory */
		port[0] = 50002;
		assert_true(is_forgery(&bed, data, len, 50002, 2));
		assert_false(is_forgery(&bed, data, len, 50002, 0));
		assert_false(is_forgery(&bed, data, len, 0, 1));
		home[0] = 1; /* the numbers belong to the process of slot 1 */
		assert_true(is_forgery(&bed, data, len, 0, 1));
		assert_false(is_forgery(&bed, data, len, 0, 2));
		home[0] = 0;
		assert_int_equal(adv_engine_set_gids(bed.net->node[1].e, &gids[2], 2), 0);
		len = build(&bed, services[t] | ADV_OP_SEND_ONLY, data);
		assert_false(is_forgery(&bed, data, len, 1, 0));
		net_abandon(bed.net);
	}
}

/* Valid packets with flipped bits touch no byte outside the regions. */
static void test_mutations(void **state)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, 11);
	for (int round = 0; round < 600; round++) {
		int t = round % 3;
		struct bed bed;

		bed_open(&bed, types[t]);
		end_op(bed.b, types[t] == IBV_QPT_RC ? IBV_WR_RDMA_READ : IBV_WR_SEND, 1, bed.rb, 0,
		       types[t] == IBV_QPT_UD ? 0 : 2000, bed.ra, 0);
		bed.b->no_poll = true;
		for (int k = 0; k < 40 && types[t] != IBV_QPT_UD; k++) {
			uint8_t data[PACKET_MAX], opcode;
			uint32_t len;

			do
				opcode = services[t] | (uint8_t)adv_rng_below(&rng, 32);
			while (!adv_opcode_table[opcode].name);
			len = build(&bed, opcode, data);
			for (uint64_t n = adv_rng_below(&rng, 3); n > 0; n--) {
				uint32_t end = len < 48 ? len : 48;
				uint32_t at = (uint32_t)adv_rng_below(&rng, end);

				data[at] ^= (uint8_t)(1u << adv_rng_below(&rng, 8));
			}
			/* Most of these packets have the expected PSN. */
			data[10] = (uint8_t)(bed.b->qp->resp.epsn >> 8);
			data[11] = (uint8_t)bed.b->qp->resp.epsn;
			net_inject(bed.net, 0, 1, data, len);
			net_step(bed.net, bed.net->now + US);
		}
		net_abandon(bed.net);
	}
}

/* ---- sharing ---- */

struct share {
	uint32_t count[0x300];
	uint32_t ahead; /* largest lead of one QP over another while all had work */
	uint64_t total;
};

static void count_shares(struct net *net, struct wire *w)
{
	struct share *s = net->arg;
	uint32_t least = UINT32_MAX, most = 0;

	if (w->from != 0)
		return;
	s->count[w->h.bth.dest_qpn]++;
	if (++s->total > MANY * 150)
		return;
	for (unsigned i = 0; i < MANY; i++) {
		uint32_t n = s->count[adv_qp_num(net->ends[2 * i + 1]->qp)];

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	if (most - least > s->ahead)
		s->ahead = most - least;
}

static void test_fair_sharing(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct net *net = net_open(2, 1);
	struct region *ra = region_open(&net->node[0], 300 * 1024, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 300 * 1024, ALL_ACCESS);
	struct share share = {.ahead = 0};
	struct end *a[MANY], *b[MANY];

	for (int i = 0; i < MANY; i++)
		pair_open(net, &o, &a[i], &b[i]);
	net->hook = count_shares;
	net->arg = &share;
	for (int i = 0; i < MANY; i++)
		end_op(a[i], IBV_WR_RDMA_WRITE, 1, ra, 0, 300 * 1024, rb, 0);
	net_run(net, 10 * SEC);
	for (int i = 0; i < MANY; i++)
		expect_send(a[i], 0, 1, IBV_WC_SUCCESS);
	/* The lead is at most two turns of 32 packets. */
	assert_in_range(share.ahead, 1, 64);
	net_close(net);
}

static void lose_all(struct net *net, struct wire *w)
{
	w->copies = 0;
}

/* A QP whose DSCP is held sends nothing, and continues unchanged afterwards. A QP that is destroyed
 * while held leaves no entry in the engine. */
static void test_held_by_dscp(void **state)
{
	struct bed bed;

	bed_open(&bed, IBV_QPT_RC);
	adv_engine_hold(bed.net->node[0].e, 1 << 0);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 3000, NULL, 0);
	net_run(bed.net, MS);
	assert_int_equal(adv_engine_counters(bed.net->node[0].e)->tx_packets, 0);
	assert_false(adv_engine_tx_ready(bed.net->node[0].e));
	adv_engine_hold(bed.net->node[0].e, ~1ull);
	net_until(bed.net, bed.a, 1, 0, MS);
	expect_send(bed.a, 0, 1, IBV_WC_SUCCESS);
	assert_int_equal(adv_engine_counters(bed.net->node[0].e)->tx_packets, 3);
	adv_engine_hold(bed.net->node[0].e, 1 << 0);
	end_op(bed.a, IBV_WR_SEND, 2, bed.ra, 0, 3000, NULL, 0);
	net_run(bed.net, MS);
	end_close(bed.a);
	adv_engine_hold(bed.net->node[0].e, 0);
	net_run(bed.net, MS);
	assert_int_equal(adv_engine_counters(bed.net->node[0].e)->tx_packets, 3);
	net_close(bed.net);
}

/* Each call of adv_engine_tx_some() returns at most the requested number of packets. Repeated calls
 * return all packets of a message. */
static void test_few_at_a_time(void **state)
{
	struct adv_tx_batch *batch = calloc(1, sizeof(*batch));
	struct adv_engine *e;
	unsigned sum = 0, n;
	struct bed bed;

	assert_non_null(batch);
	bed_open(&bed, IBV_QPT_RC);
	e = bed.net->node[0].e;
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 8192, NULL, 0);
	assert_int_equal(adv_engine_tx_some(e, bed.net->now, batch, 3), 3);
	for (sum = 3; (n = adv_engine_tx_some(e, bed.net->now, batch, 1)) != 0; sum += n)
		assert_int_equal(n, 1);
	assert_int_equal(sum, 8);
	assert_false(adv_engine_tx_ready(e));
	net_abandon(bed.net);
	free(batch);
}

/* If a QP that uses the whole window is destroyed, the QPs that wait for the window continue. */
static void test_window_freed_by_destruction(void **state)
{
	for (int how = 0; how < 3; how++) {
		struct adv_engine_config c = {.seed = {1}, .window = 8, .total_window = 8};
		struct options o = options_default(IBV_QPT_RC);
		struct net *net = net_open_config(2, &c);
		struct region *ra = region_open(&net->node[0], 65536, ALL_ACCESS);
		struct region *rb = region_open(&net->node[1], 65536, ALL_ACCESS);
		struct end *a1, *b1, *a2, *b2;

		o.timeout = 0;
		pair_open(net, &o, &a1, &b1);
		pair_open(net, &o, &a2, &b2);
		net->hook = lose_all;
		end_op(a1, IBV_WR_RDMA_WRITE, 1, ra, 0, 60000, rb, 0);
		net_run(net, MS);
		net->hook = NULL;
		end_op(a2, IBV_WR_RDMA_WRITE, 2, ra, 0, 60000, rb, 0);
		net_run(net, SEC);
		assert_int_equal(a2->send_count, 0);
		if (how == 0)
			end_close(a1);
		else
			assert_int_equal(end_to_state(a1, how == 1 ? IBV_QPS_RESET : IBV_QPS_ERR),
					 0);
		net_run(net, SEC);
		assert_int_equal(a2->send_count, 1);
		expect_send(a2, 0, 2, IBV_WC_SUCCESS);
		net_close(net);
	}
}

/* ---- further cases ---- */

static void test_create_refused(void **state)
{
	struct adv_engine_config c = {.qpn_first = 0, .qpn_count = 0};
	struct adv_engine_gid *gids = calloc(ADV_MAX_GIDS + 1, sizeof(*gids));
	struct adv_engine *e;

	errno = 0;
	assert_null(adv_engine_create(&c));
	assert_int_equal(errno, EINVAL);
	c.seed[3] = 1;
	assert_null(adv_engine_create(&c));
	assert_int_equal(errno, EINVAL);
	c.qpn_first = 1;
	c.qpn_count = 1;
	c.seed[3] = 0;
	errno = 0;
	assert_null(adv_engine_create(&c));
	assert_int_equal(errno, EINVAL);
	c.seed[3] = 1;
	e = adv_engine_create(&c);
	assert_int_equal(adv_engine_set_gids(e, gids, ADV_MAX_GIDS + 1), EINVAL);
	assert_int_equal(adv_engine_set_gids(e, gids, ADV_MAX_GIDS), 0);
	assert_int_equal(adv_engine_set_gids(e, gids, 0), 0);
	assert_true(adv_engine_deadline(e) == ADV_NEVER);
	adv_engine_destroy(e);
	free(gids);
}

/* Events of destroyed objects do not arrive. */
static void test_events_of_the_dead(void **state)
{
	struct adv_event ev;
	struct bed bed;

	bed_open(&bed, IBV_QPT_RC);
	adv_affiliated_raise(bed.net->node[1].e, &bed.b->qp->events, IBV_EVENT_QP_FATAL,
			     ADV_ERR_CQ_OVERRUN);
	adv_affiliated_raise(bed.net->node[1].e, &bed.b->qp->events, IBV_EVENT_QP_FATAL,
			     ADV_ERR_CQ_OVERRUN);
	assert_true(adv_engine_event(bed.net->node[1].e, &ev));
	assert_ptr_equal(ev.qp, bed.b->qp);
	assert_false(adv_engine_event(bed.net->node[1].e, &ev));
	adv_affiliated_raise(bed.net->node[1].e, &bed.b->qp->events, IBV_EVENT_QP_FATAL,
			     ADV_ERR_CQ_OVERRUN);
	end_close(bed.b);
	assert_false(adv_engine_event(bed.net->node[1].e, &ev));
	/* Events that are still pending are freed with the engine. */
	adv_affiliated_raise(bed.net->node[0].e, &bed.a->qp->events, IBV_EVENT_QP_FATAL,
			     ADV_ERR_CQ_OVERRUN);
	net_abandon(bed.net);
}

/* The device's limits of objects can be reached. A destroyed object makes room for another. */
static void test_most_objects(void **state)
{
	struct net *net = net_open(1, 1);
	struct adv_engine *e = net->node[0].e;
	struct ibv_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	struct adv_pd *pd;
	struct adv_cq *cq;
	struct adv_srq *srq;
	struct adv_xrcd *xrcd;

	e->tpt->pd_count += ADV_MAX_PD - 2;
	e->cq_count += ADV_MAX_CQ - 1;
	e->srq_count += ADV_MAX_SRQ - 1;
	e->xrcd_count += ADV_MAX_PD - 2;
	for (unsigned i = 0; i < 2; i++) {
		pd = adv_pd_create(e);
		cq = adv_cq_create(e, 1, NULL);
		srq = adv_srq_create(e, pd, &attr, NULL);
		xrcd = adv_xrcd_create(e);
		assert_true(pd && cq && srq && xrcd);
		errno = 0;
		assert_null(adv_pd_create(e));
		assert_int_equal(errno, ENOMEM);
		errno = 0;
		assert_null(adv_cq_create(e, 1, NULL));
		assert_int_equal(errno, ENOMEM);
		errno = 0;
		assert_null(adv_srq_create(e, pd, &attr, NULL));
		assert_int_equal(errno, ENOMEM);
		errno = 0;
		assert_null(adv_xrcd_create(e));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(adv_srq_destroy(srq), 0);
		assert_int_equal(adv_cq_destroy(cq), 0);
		assert_int_equal(adv_pd_destroy(pd), 0);
		assert_int_equal(adv_xrcd_destroy(xrcd), 0);
	}
	net_abandon(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_unknown_opcodes),
		cmocka_unit_test(test_not_for_us),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_senders),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_fair_sharing),
		cmocka_unit_test(test_held_by_dscp),
		cmocka_unit_test(test_few_at_a_time),
		cmocka_unit_test(test_window_freed_by_destruction),
		cmocka_unit_test(test_create_refused),
		cmocka_unit_test(test_events_of_the_dead),
		cmocka_unit_test(test_most_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
