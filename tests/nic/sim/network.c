/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets between hosts. Each host's link sends one packet after the other at its rate. A packet
 * arrives after the latency. The fault plan can change this. The receiver drops a corrupted packet,
 * except if the plan lets the packet pass the ICRC check.
 */
#include <stdlib.h>

#include "sim.h"
#include "nic/wire/mad.h"

#define PACKET_MAX (ADV_HEADERS_MAX + ADV_LONG_MAX + ADV_FAULT_LENGTH_MAX)

/* ---- the heap of packets in flight ---- */

static bool before(const struct flight *a, const struct flight *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void launch(struct sim *s, struct flight *f, uint64_t at)
{
	unsigned i = ++s->flights;

	if (i >= s->heap_room) {
		s->heap_room = s->heap_room ? 2 * s->heap_room : 256;
		s->heap = xrealloc(s->heap, s->heap_room * sizeof(struct flight *));
	}
	f->at = at;
	f->order = s->order++;
	while (i > 1 && before(f, s->heap[i / 2])) {
		s->heap[i] = s->heap[i / 2];
		i /= 2;
	}
	s->heap[i] = f;
}

static struct flight *land(struct sim *s)
{
	struct flight *first = s->heap[1], *last = s->heap[s->flights--];
	unsigned i = 1;

	while (2 * i <= s->flights) {
		unsigned child = 2 * i;

		if (child < s->flights && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	if (s->flights)
		s->heap[i] = last;
	return first;
}

static void flight_free(struct flight *f)
{
	free(f->data);
	free(f);
}

static bool is_for(const struct flight *f, unsigned host, uint32_t qpn)
{
	return f->to == host && f->len >= ADV_BTH_LEN &&
	       ((uint32_t)f->data[5] << 16 | (uint32_t)f->data[6] << 8 | f->data[7]) == qpn;
}

bool network_has_packet_for(const struct sim *s, unsigned host, uint32_t qpn)
{
	for (unsigned i = 1; i <= s->flights; i++)
		if (is_for(s->heap[i], host, qpn))
			return true;
	for (unsigned i = 0; i < s->host_count; i++) {
		const struct adv_list *head = &s->host[i].held.held;

		for (const struct adv_list *n = head->next; n != head; n = n->next)
			if (is_for((const struct flight *)(const void *)n, host, qpn))
				return true;
	}
	return false;
}

void network_close(struct sim *s)
{
	struct adv_fault_held *h;

	while (s->flights)
		flight_free(land(s));
	for (unsigned i = 0; i < s->host_count; i++)
		while ((h = adv_fault_queue_take(&s->host[i].held, UINT64_MAX)))
			flight_free((struct flight *)(void *)h);
	free(s->heap);
	s->heap = NULL;
}

/* ---- out ---- */

struct end *end_find(const struct host *h, uint32_t qpn)
{
	uint32_t first = h->index << 16 | 0x100;

	return qpn - first < SIM_QPNS ? h->by_qpn[qpn - first] : NULL;
}

static void trace(const struct sim *s, const struct host *h, const struct flight *f,
		  const struct adv_headers *p, const struct adv_fault_verdict *v)
{
	const struct adv_opcode_info *info = &adv_opcode_table[p->bth.opcode];

	printf("%14.3f us  host %u > %u  qp %06x psn %06x%s%s %-26s %4u bytes",
	       (double)s->now / 1000, h->index, f->to, p->bth.dest_qpn, p->bth.psn,
	       p->bth.ackreq ? " A" : "  ", p->bth.solicited ? "S" : " ", info->name,
	       f->len - info->length - p->bth.pad);
	if (info->headers & ADV_HAS_AETH)
		printf(" syndrome %02x msn %u", p->aeth.syndrome, p->aeth.msn);
	if (info->headers & ADV_HAS_RETH)
		printf(" va %llx length %u", (unsigned long long)p->reth.va, p->reth.length);
	if (v->drop)
		printf(" LOST");
	if (v->copies)
		printf(" x%u", v->copies + 1);
	if (v->behind)
		printf(" REORDERED by %u", v->behind);
	if (v->corrupt)
		printf(" CORRUPTED");
	if (v->delay)
		printf(" DELAYED %.3f us", (double)v->delay / 1000);
	printf("\n");
}

static struct flight *copy_of(const struct flight *from)
{
	struct flight *f = xcalloc(1, sizeof(*f));

	*f = *from;
	/* The block has exactly the packet's size, so that a sanitizer detects a read past its end.
	 */
	f->data = xcalloc(1, f->data_len);
	memcpy(f->data, from->data, f->data_len);
	return f;
}

static void note_impaired(struct host *h, const struct adv_bth *bth, unsigned to,
			  const struct adv_fault_verdict *v)
{
	const struct end *end = end_find(&h->sim->host[to], bth->dest_qpn);
	struct stream *st;

	if (!v->drop && !v->corrupt && !v->copies && !v->delay && !v->behind)
		return;
	h->sim->total.impaired++;
	h->sim->harmed_mads += bth->dest_qpn == ADV_GSI_QPN;
	if (!end || !end->c)
		return;
	st = adv_opcode_table[bth->opcode].flags & ADV_PKT_RESPONSE ? end->out : end->in;
	for (unsigned i = 0; st && i < (v->copies ? v->copies : 1); i++)
		st->impaired_psn[st->impaired++ % SIM_IMPAIRED] = bth->psn;
}

static void arrange(struct host *h, struct flight *f, const struct adv_fault_verdict *v,
		    uint64_t leaves)
{
	struct sim *s = h->sim;

	/* A queue pair with a rate limit sends no long packets, and shared memory marks none. */
	if (v->mark && !s->longs)
		f->meta.tclass |= ADV_ECN_CE;
	for (unsigned i = 0; i <= v->copies; i++) {
		struct flight *c = copy_of(f);
		uint64_t at = leaves + s->way[h->index][f->to] + v->delay + i * v->after;

		if (i || !v->behind) {
			launch(s, c, at);
			continue;
		}
		c->held.due = at + v->hold - s->way[h->index][f->to];
		c->held.behind = v->behind;
		adv_fault_queue_put(&h->held, &c->held);
	}
}

/* Sends held packets after other packets have overtaken them. */
void network_release(struct host *h)
{
	struct adv_fault_held *held;

	while ((held = adv_fault_queue_take(&h->held, h->sim->now))) {
		struct flight *f = (struct flight *)(void *)held;

		launch(h->sim, f, h->sim->now + h->sim->way[h->index][f->to]);
	}
}

/* Writes the packet's bytes like a link, without payload that is away. */
static void assemble(struct sim *s, const struct adv_tx_packet *pkt, struct flight *f)
{
	uint32_t payload = 0, len = pkt->header_len;

	memcpy(f->data, pkt->header, pkt->header_len);
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		payload += (uint32_t)pkt->iov[i].iov_len;
		REQUIRE(s, payload <= (pkt->more + 1) * 4096u, "a packet with %u bytes", payload);
		if (f->longs.away)
			continue;
		memcpy(f->data + len, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		len += (uint32_t)pkt->iov[i].iov_len;
	}
	REQUIRE(s, payload == pkt->payload_len && pkt->pad == (-payload & 3),
		"a packet whose lengths disagree");
	f->len = pkt->header_len + payload + pkt->pad;
	f->data_len = len;
	f->longs.source = (struct adv_rx_source){longs_pull, payload};
	if (f->longs.away)
		return;
	memset(f->data + len, 0, pkt->pad);
	f->data_len += pkt->pad;
}

/* Sends a packet to one host. */
static void send_to(struct host *h, unsigned to, struct flight f, const struct adv_headers *headers,
		    uint64_t leaves)
{
	struct sim *s = h->sim;
	struct adv_fault_verdict v;
	struct adv_fault_packet p;

	REQUIRE(s, to < s->host_count, "a packet to nobody");
	f.to = to;
	s->total.packets++;
	history_note(s, "a packet", f.data, f.data_len);
	if (f.longs.more)
		history_note(s, "a long packet's length", &f.len, sizeof(f.len));
	history_note(s, "a packet's place", &leaves, sizeof(leaves));
	s->total.bytes += f.len;
	adv_fault_packet_read(&p, true, &f.meta.dgid, f.meta.tclass & ADV_ECN_MASK, f.data,
			      f.data_len);
	if (adv_fault_decide(&h->fault, leaves, &p, &v))
		note_impaired(h, &headers->bth, f.to, &v);
	if (s->trace)
		trace(s, h, &f, headers, &v);
	if (v.corrupt && v.icrc_right)
		f.len = f.data_len = adv_fault_alter(&v, f.data, f.len, PACKET_MAX);
	if (!v.drop && (!v.corrupt || v.icrc_right))
		arrange(h, &f, &v, leaves);
	if (!v.behind)
		adv_fault_queue_passed(&h->held, s->now);
}

static void send_packet(struct host *h, const struct adv_tx_packet *pkt, uint64_t leaves)
{
	struct sim *s = h->sim;
	const struct adv_path *path = pkt->path;
	uint8_t data[PACKET_MAX];
	struct flight f = {.data = data,
			   .meta = {.sgid = path->sgid,
				    .dgid = path->dgid,
				    .sport = path->sport,
				    .tclass = (uint8_t)(path->tclass | pkt->ecn),
				    .hop_limit = path->hop_limit}};
	struct adv_headers headers;

	longs_send(h, pkt, &f);
	assemble(s, pkt, &f);
	REQUIRE(s, adv_headers_decode(data, f.data_len, &headers) == pkt->header_len,
		"a packet that cannot be decoded");
	if (!adv_gid_is_multicast(&path->dgid))
		send_to(h, path->dgid.raw[15] - 1u, f, &headers, leaves);
	else
		for (unsigned i = 0; i < s->host_count; i++)
			send_to(h, i, f, &headers, leaves);
}

/* Sends a message of the host's connection manager, past the engine. */
void network_send(struct host *h, const struct adv_path *path, const uint8_t *data, uint32_t len)
{
	uint8_t room[PACKET_MAX];
	struct flight f = {.data = room,
			   .len = len,
			   .data_len = len,
			   .meta = {.sgid = path->sgid,
				    .dgid = path->dgid,
				    .tclass = path->tclass,
				    .hop_limit = path->hop_limit}};
	struct adv_headers headers;

	memcpy(room, data, len);
	REQUIRE(h->sim, adv_headers_decode(data, len, &headers), "a packet that cannot be decoded");
	send_to(h, path->dgid.raw[15] - 1u, f, &headers, h->sim->now);
}

/* Fetches packets from the engine of a host whose link is idle. */
void network_pull(struct host *h)
{
	struct sim *s = h->sim;
	unsigned n = adv_engine_tx(h->e, s->now, &s->batch);
	uint64_t leaves = s->now;

	for (unsigned i = 0; i < n; i++) {
		const struct adv_tx_packet *pkt = &s->batch.packet[i];

		leaves += 1 + (pkt->payload_len + 100) * s->ns_per_kib / 1024;
		send_packet(h, pkt, leaves);
	}
	/* A fetch without a packet also takes time. Otherwise an application could stop the clock.
	 */
	h->link_free_at = n ? leaves : s->now + 50;
	network_release(h);
}

/* ---- in ---- */

static void note_delivered(const struct end *end, const struct flight *f)
{
	uint8_t op = f->data[0] & ADV_OP_MASK;

	if (op == ADV_OP_ACKNOWLEDGE && f->len > ADV_BTH_LEN && end->out &&
	    (f->data[ADV_BTH_LEN] & ADV_AETH_TYPE_MASK) == ADV_AETH_RNR_NAK)
		end->out->rnr_naks++;
}

/* Delivers the first packet in flight. */
void network_deliver(struct sim *s)
{
	struct flight *f = land(s);
	struct host *h = &s->host[f->to];
	struct adv_rx_packet pkt = {.meta = &f->meta,
				    .data = f->data,
				    .len = f->len,
				    .more = f->longs.more,
				    .source = f->longs.away ? &f->longs.source : NULL};
	uint32_t qpn = (uint32_t)f->data[5] << 16 | (uint32_t)f->data[6] << 8 | f->data[7];
	struct end *end;

	s->now = f->at > s->now ? f->at : s->now;
	if (qpn == ADV_GSI_QPN) {
		manager_rx(h, &f->meta, f->data, f->len);
	} else if (h->e && adv_gid_is_multicast(&f->meta.dgid)) {
		datagrams_before(h);
		adv_engine_rx(h->e, s->now, &pkt);
		datagrams_after(h, f);
	} else if (h->e) {
		end = end_find(h, qpn);
		adv_engine_rx(h->e, s->now, &pkt);
		if (end) {
			judge_progress(end);
			note_delivered(end, f);
			if (end->in)
				area_glance(end->in);
		}
	}
	flight_free(f);
}
