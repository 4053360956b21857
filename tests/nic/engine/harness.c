/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#include "nic/engine/invariants.h"

#define GUARD	    64
#define GUARD_BYTE  0xa5
#define STEPS_BOUND 50000000u

struct flight {
	uint64_t at;
	uint64_t order;
	unsigned to;
	struct adv_rx_meta meta;
	uint32_t len;
	uint8_t *data;
};

/* ---- nets ---- */

static void make_gids(struct node *node)
{
	struct adv_engine_gid gids[2] = {{.mtu = 0}};
	uint8_t last = (uint8_t)(node->index + 1);
	uint8_t v6[16] = {0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
	uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last};

	memcpy(node->gid[0].raw, v6, 16);
	memcpy(node->gid[1].raw, v4, 16);
	for (int i = 0; i < 2; i++) {
		gids[i].gid = node->gid[i];
		gids[i].mtu = 4096;
	}
	assert_int_equal(adv_engine_set_gids(node->e, gids, 2), 0);
}

struct net *net_open_config(unsigned nodes, const struct adv_engine_config *config)
{
	struct net *net = calloc(1, sizeof(*net));

	assert_non_null(net);
	assert_true(nodes <= NET_NODES);
	net->node_count = nodes;
	net->now = 1 * SEC;
	net->trace = getenv("ADV_TEST_TRACE") != NULL;
	for (unsigned i = 0; i < nodes; i++) {
		struct node *node = &net->node[i];
		struct adv_engine_config c = *config;

		c.seed[0] += i + 1;
		c.qpn_first = (config->qpn_first ? config->qpn_first : 0x100) * (i + 1);
		c.qpn_count = 0x100;
		node->net = net;
		node->index = i;
		node->e = adv_engine_create(&c);
		assert_non_null(node->e);
		make_gids(node);
		node->pd = adv_pd_create(node->e);
		node->xrcd = adv_xrcd_create(node->e);
		assert_non_null(node->pd);
	}
	return net;
}

struct net *net_open(unsigned nodes, uint64_t seed)
{
	struct adv_engine_config c = {.seed = {seed * 8 + 1, 2, 3, 4}};

	return net_open_config(nodes, &c);
}

static void end_free(struct end *end)
{
	free(end->sends);
	free(end->recvs);
	free(end->posted);
	free(end->recv_ids);
	free(end);
}

void net_abandon(struct net *net)
{
	for (unsigned i = 0; i < net->flight_count; i++)
		free(net->flight[i].data);
	free(net->flight);
	for (unsigned i = 0; i < net->node_count; i++)
		adv_engine_destroy(net->node[i].e);
	for (unsigned i = 0; i < net->region_count; i++) {
		free(net->regions[i]->buf - GUARD);
		free(net->regions[i]);
	}
	for (unsigned i = 0; i < net->end_count; i++)
		end_free(net->ends[i]);
	free(net);
}

void net_close(struct net *net)
{
	net_check(net);
	assert_int_equal(net->flight_count, 0);
	for (unsigned i = 0; i < net->node_count; i++) {
		const struct adv_engine *e = net->node[i].e;

		assert_int_equal(e->in_flight, 0);
		assert_false(adv_engine_tx_ready(e));
		assert_true(adv_list_empty(&e->stalled));
	}
	net_abandon(net);
}

static void check_guard(const uint8_t *p)
{
	for (int i = 0; i < GUARD; i++)
		if (p[i] != GUARD_BYTE)
			fail_msg("byte outside of a registered buffer was written");
}

static void check_engine(const struct adv_engine *e)
{
	const char *broken = adv_engine_check(e);

	if (broken)
		fail_msg("%s", broken);
}

void net_check(struct net *net)
{
	for (unsigned i = 0; i < net->node_count; i++)
		check_engine(net->node[i].e);
	for (unsigned i = 0; i < net->region_count; i++) {
		check_guard(net->regions[i]->buf - GUARD);
		check_guard(net->regions[i]->buf + net->regions[i]->len);
	}
}

/* ---- packets ---- */

static void trace(const struct net *net, const struct wire *w)
{
	const struct adv_opcode_info *info = &adv_opcode_table[w->h.bth.opcode];

	printf("%12.3f us  node %u  #%-5llu qp %06x psn %06x%s%s %-26s %u bytes",
	       (double)(net->now - SEC) / 1000, w->from, (unsigned long long)w->number,
	       w->h.bth.dest_qpn, w->h.bth.psn, w->h.bth.ackreq ? " A" : "  ",
	       w->h.bth.solicited ? "S" : " ", info->name, w->payload_len);
	if (info->headers & ADV_HAS_AETH)
		printf(" syndrome %02x msn %u", w->h.aeth.syndrome, w->h.aeth.msn);
	if (info->headers & ADV_HAS_RETH)
		printf(" va %llx length %u", (unsigned long long)w->h.reth.va, w->h.reth.length);
	if (w->copies != 1)
		printf(w->copies ? " DOUBLED" : " DROPPED");
	if (w->delay != NET_DELAY)
		printf(" in %.3f us", (double)w->delay / 1000);
	printf("\n");
}

static void launch(struct net *net, const struct wire *w, unsigned to, uint64_t at)
{
	struct flight *f;

	if (net->flight_count == net->flight_room) {
		net->flight_room = net->flight_room ? net->flight_room * 2 : 64;
		net->flight = realloc(net->flight, net->flight_room * sizeof(*net->flight));
		assert_non_null(net->flight);
	}
	f = &net->flight[net->flight_count++];
	f->at = at;
	f->order = net->order++;
	f->to = to;
	f->meta = w->meta;
	f->len = w->len;
	/* A block of exactly the packet's size, so that a read beyond its end is detected. */
	f->data = malloc(w->len ? w->len : 1);
	assert_non_null(f->data);
	memcpy(f->data, w->data, w->len);
}

static bool is_for(const struct net *net, unsigned node, const struct adv_gid *dgid)
{
	return adv_gid_is_multicast(dgid) || adv_gid_equal(dgid, &net->node[node].gid[0]) ||
	       adv_gid_equal(dgid, &net->node[node].gid[1]);
}

static void to_wire(struct net *net, struct wire *w)
{
	w->number = net->sent++;
	w->sent = net->now;
	w->copies = 1;
	w->delay = NET_DELAY;
	if (net->hook)
		net->hook(net, w);
	if (net->trace)
		trace(net, w);
	for (unsigned i = 0; i < w->copies; i++)
		for (unsigned to = 0; to < net->node_count; to++)
			if (is_for(net, to, &w->meta.dgid))
				launch(net, w, to, net->now + (i + 1) * w->delay);
}

/* Checks a sent packet and flattens it to bytes. */
static void flatten(struct net *net, unsigned from, const struct adv_tx_packet *pkt)
{
	struct wire w = {.from = from};
	uint32_t payload = 0;

	w.meta.sgid = pkt->path->sgid;
	w.meta.dgid = pkt->path->dgid;
	w.meta.sport = pkt->path->sport;
	w.meta.tclass = (uint8_t)(pkt->path->tclass | pkt->ecn);
	w.meta.hop_limit = pkt->path->hop_limit;
	memcpy(w.data, pkt->header, pkt->header_len);
	w.len = pkt->header_len;
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		payload += (uint32_t)pkt->iov[i].iov_len;
		assert_true(payload <= 4096);
		memcpy(w.data + w.len, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		w.len += (uint32_t)pkt->iov[i].iov_len;
	}
	assert_int_equal(payload, pkt->payload_len);
	assert_int_equal(pkt->pad, -payload & 3);
	w.len += pkt->pad;
	assert_int_equal(adv_headers_decode(w.data, w.len, &w.h), pkt->header_len);
	assert_int_equal(w.h.bth.pad, pkt->pad);
	assert_int_equal(w.h.bth.dest_qpn, pkt->dest_qpn);
	assert_true(net->partitions || w.h.bth.pkey == ADV_PKEY_DEFAULT);
	w.payload_len = payload;
	to_wire(net, &w);
}

static bool pull(struct net *net)
{
	bool any = false;

	for (unsigned i = 0; i < net->node_count; i++) {
		unsigned n = adv_engine_tx(net->node[i].e, net->now, &net->batch);

		for (unsigned k = 0; k < n; k++)
			flatten(net, i, &net->batch.packet[k]);
		any = any || n;
	}
	return any;
}

static int earliest(const struct net *net)
{
	int best = -1;

	for (unsigned i = 0; i < net->flight_count; i++) {
		const struct flight *f = &net->flight[i];

		if (best < 0 || f->at < net->flight[best].at ||
		    (f->at == net->flight[best].at && f->order < net->flight[best].order))
			best = (int)i;
	}
	return best;
}

static void deliver(struct net *net, int i)
{
	struct flight f = net->flight[i];
	struct adv_rx_packet pkt = {.meta = &f.meta, .data = f.data, .len = f.len};

	net->flight[i] = net->flight[--net->flight_count];
	adv_engine_rx(net->node[f.to].e, net->now, &pkt);
	check_engine(net->node[f.to].e);
	free(f.data);
}

void net_inject(struct net *net, unsigned from, unsigned to, const uint8_t *data, uint32_t len)
{
	struct adv_rx_meta meta = {.sgid = net->node[from].gid[0], .dgid = net->node[to].gid[0]};
	uint8_t *copy = malloc(len ? len : 1);
	struct adv_rx_packet pkt = {.meta = &meta, .data = copy, .len = len};

	assert_non_null(copy);
	memcpy(copy, data, len);
	adv_engine_rx(net->node[to].e, net->now, &pkt);
	free(copy);
	net_check(net);
}

void net_inject_packet(struct net *net, unsigned from, unsigned to, const struct adv_headers *h,
		       uint32_t payload_len)
{
	uint8_t data[PACKET_MAX] = {0};
	size_t len = adv_headers_encode(h, data);

	assert_true(len > 0);
	for (uint32_t i = 0; i < payload_len; i++)
		data[len + i] = (uint8_t)i;
	net_inject(net, from, to, data, (uint32_t)len + payload_len + h->bth.pad);
}

/* ---- time ---- */

/* Checks that the table of causes lists this event for the event's cause. */
static void check_event_cause(const struct adv_event *ev)
{
	bool error = ev->kind == ADV_EVENT_ASYNC &&
		     (ev->async == IBV_EVENT_CQ_ERR || ev->async == IBV_EVENT_QP_FATAL ||
		      ev->async == IBV_EVENT_QP_REQ_ERR || ev->async == IBV_EVENT_QP_ACCESS_ERR);

	assert_int_equal(ev->why != ADV_ERR_NONE, error);
	if (error)
		assert_true(adv_cause(ev->why)->events & 1u << ev->async);
}

void net_take_events(struct node *node)
{
	struct adv_event ev;

	while (adv_engine_event(node->e, &ev)) {
		assert_true(node->event_count < NET_EVENTS);
		check_event_cause(&ev);
		node->event_time[node->event_count] = node->net->now;
		node->events[node->event_count++] = ev;
	}
}

static void after_step(struct net *net)
{
	for (unsigned i = 0; i < net->node_count; i++)
		net_take_events(&net->node[i]);
	for (unsigned i = 0; i < net->end_count; i++)
		if (net->ends[i]->qp && !net->ends[i]->no_poll)
			end_poll(net->ends[i]);
	net_check(net);
}

bool net_step(struct net *net, uint64_t limit)
{
	uint64_t next = ADV_NEVER;
	int first;

	if (pull(net)) {
		after_step(net);
		return true;
	}
	first = earliest(net);
	if (first >= 0)
		next = net->flight[first].at;
	for (unsigned i = 0; i < net->node_count; i++) {
		uint64_t d = adv_engine_deadline(net->node[i].e);

		if (d < next) {
			next = d;
			first = -1;
		}
	}
	if (next == ADV_NEVER || next > limit) {
		after_step(net);
		return false;
	}
	if (next > net->now)
		net->now = next;
	if (first >= 0)
		deliver(net, first);
	else
		for (unsigned i = 0; i < net->node_count; i++)
			if (adv_engine_deadline(net->node[i].e) <= net->now)
				adv_engine_expire(net->node[i].e, net->now);
	after_step(net);
	return true;
}

void net_run(struct net *net, uint64_t ns)
{
	uint64_t limit = net->now + ns;

	for (unsigned steps = 0; net_step(net, limit); steps++)
		if (steps > STEPS_BOUND)
			fail_msg("the net does not come to rest");
}

void net_until(struct net *net, struct end *end, unsigned sends, unsigned recvs, uint64_t ns)
{
	uint64_t limit = net->now + ns;

	while (end->send_count < sends || end->recv_count < recvs) {
		if (net_step(net, limit))
			continue;
		fail_msg("%u of %u sends and %u of %u receives completed in %llu us",
			 end->send_count, sends, end->recv_count, recvs,
			 (unsigned long long)(ns / 1000));
	}
}

unsigned net_count_events(const struct node *node, enum ibv_event_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < node->event_count; i++)
		n += node->events[i].kind == ADV_EVENT_ASYNC && node->events[i].async == type;
	return n;
}

unsigned net_count_completion_events(const struct node *node, const struct adv_cq *cq)
{
	unsigned n = 0;

	for (unsigned i = 0; i < node->event_count; i++)
		n += node->events[i].kind == ADV_EVENT_COMPLETION && node->events[i].cq == cq;
	return n;
}

/* ---- memory ---- */

struct region *region_open_at(struct node *node, struct adv_pd *pd, uint64_t len, uint64_t iova,
			      int access)
{
	struct net *net = node->net;
	struct region *r = calloc(1, sizeof(*r));
	uint8_t *base = malloc(len + 2 * GUARD);

	assert_non_null(r);
	assert_non_null(base);
	assert_true(net->region_count < NET_REGIONS);
	memset(base, GUARD_BYTE, GUARD);
	memset(base + GUARD, 0, len);
	memset(base + GUARD + len, GUARD_BYTE, GUARD);
	r->node = node;
	r->buf = base + GUARD;
	r->len = len;
	r->iova = iova ? iova : (uintptr_t)r->buf;
	r->mr = adv_mr_register(pd, r->buf, len, r->iova, access);
	assert_non_null(r->mr);
	r->key = adv_mr_rkey(r->mr);
	net->regions[net->region_count++] = r;
	return r;
}

struct region *region_open(struct node *node, uint64_t len, int access)
{
	return region_open_at(node, node->pd, len, 0, access);
}

void region_deregister(struct region *r)
{
	assert_int_equal(adv_mr_deregister(r->mr), 0);
	r->mr = NULL;
}

uint8_t region_byte(uint64_t offset, uint8_t seed)
{
	return (uint8_t)(offset * 7 + (offset >> 8) * 13 + (offset >> 16) * 31 + seed);
}

void region_fill(struct region *r, uint8_t seed)
{
	for (uint64_t i = 0; i < r->len; i++)
		r->buf[i] = region_byte(i, seed);
}

void expect_pattern(const struct region *r, uint64_t offset, uint64_t len, uint8_t seed,
		    uint64_t seed_offset)
{
	for (uint64_t i = 0; i < len; i++)
		if (r->buf[offset + i] != region_byte(seed_offset + i, seed))
			fail_msg("byte %llu of %llu differs", (unsigned long long)i,
				 (unsigned long long)len);
}
