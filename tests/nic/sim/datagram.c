/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UD: each QP sends to all QPs, including itself. A received message must equal a sent message. */
#include <stdlib.h>

#include "sim.h"

#define QKEY	  0x12345u
#define LOG_LIMIT 65536u

static void modify(struct datagram *d, struct ibv_qp_attr *a, int mask)
{
	int err = adv_qp_modify(d->end.qp, d->sim->now, a, mask | IBV_QP_STATE);

	REQUIRE(d->sim, err == 0, "UD to state %d: %d", (int)a->qp_state, err);
}

static struct adv_gid group_gid(unsigned group)
{
	struct adv_gid v6 = {.raw = {0xff, 0x0e, [14] = 0xad, [15] = 0x0b}};
	struct adv_gid v4 = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [14] = 0xad, 0x0b}};

	return group ? v4 : v6;
}

static struct adv_ah *make_handle(struct datagram *d, const struct adv_gid *to, uint8_t sgid_index)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct adv_ah *ah = xcalloc(1, sizeof(*ah));

	attr.grh.hop_limit = 64;
	attr.grh.sgid_index = sgid_index;
	memcpy(attr.grh.dgid.raw, to->raw, 16);
	ah->pd = d->end.host->pd;
	REQUIRE(d->sim, adv_qp_path_from_attr(d->end.host->e, &attr, 0, 0, &ah->path) == 0,
		"no path");
	return ah;
}

static void make_handles(struct datagram *d)
{
	struct sim *s = d->sim;

	for (uint8_t i = 0; i < s->datagram_count; i++)
		d->ah[i] = make_handle(d, &s->datagram[i].end.host->gid[i & 1], i & 1);
	for (uint8_t i = 0; i < SIM_GROUPS; i++) {
		struct adv_gid gid = group_gid(i);

		d->group_ah[i] = make_handle(d, &gid, i);
	}
}

void datagram_open(struct datagram *d)
{
	struct sim *s = d->sim;
	struct end *end = &d->end;
	struct host *h = end->host;
	struct adv_qp_config config = {.type = IBV_QPT_UD, .pd = h->pd, .user = end};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	struct adv_qp *qp;

	end->ud = d;
	end->send_queue = &h->queue[below(s, DATAGRAMS, SIM_CQS)];
	end->recv_queue = &h->queue[below(s, DATAGRAMS, SIM_CQS)];
	config.send_cq = end->send_queue->cq;
	config.recv_cq = end->recv_queue->cq;
	config.cap = (struct ibv_qp_cap){16, 32, 8, 8, 64};
	config.block_self_multicast = d->index % 2;
	qp = adv_qp_create(h->e, &config);
	REQUIRE(s, qp, "a UD QP cannot be made");
	end_bind(end, qp);
	d->qpns[d->lives++ % SIM_LIVES] = end->qpn;
	d->mtu = 4096;
	d->room = qp->sq.size;
	d->ring = xcalloc(d->room, sizeof(*d->ring));
	d->local = region_open(h, (uint64_t)d->mtu * d->room);
	d->pool = end->pool = pool_open(h, d->mtu + ADV_GRH_LEN, 8, 24);
	d->pool->end = end;
	queue_resize(h, end->send_queue);
	queue_resize(h, end->recv_queue);
	modify(d, &a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	a.qp_state = IBV_QPS_RTR;
	modify(d, &a, 0);
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = 0xfffff0;
	modify(d, &a, IBV_QP_SQ_PSN);
	d->posted = d->done = 0;
	if (!d->log)
		d->log = xcalloc(LOG_LIMIT, sizeof(*d->log));
	make_handles(d);
}

/* ---- groups ---- */

static void leave(struct datagram *d, unsigned group)
{
	struct adv_gid gid = group_gid(group);

	if (!d->member[group])
		return;
	REQUIRE(d->sim, adv_qp_destroy(d->end.qp) == EBUSY, "UD %u: destroyed as a member",
		d->index);
	REQUIRE(d->sim, adv_qp_detach_mcast(d->end.qp, &gid) == 0, "UD %u: cannot leave", d->index);
	d->member[group] = false;
}

/* Joins or leaves a group. */
void datagram_regroup(struct datagram *d)
{
	unsigned group = (unsigned)below(d->sim, GROUPS, SIM_GROUPS);
	struct adv_gid gid = group_gid(group);

	if (!d->end.qp)
		return;
	if (d->member[group]) {
		leave(d, group);
		return;
	}
	REQUIRE(d->sim, adv_qp_attach_mcast(d->end.qp, &gid) == 0, "UD %u: cannot join", d->index);
	d->member[group] = true;
}

/* Records the posted receives of all datagram QPs of the host. Called before a packet of a group is
 * delivered to the host. */
void datagrams_before(struct host *h)
{
	for (unsigned i = 0; i < h->sim->datagram_count; i++) {
		struct datagram *d = &h->sim->datagram[i];

		if (d->end.host == h && d->end.qp)
			d->taken = d->end.qp->rq.next;
	}
}

/* Checks, after the delivery of that packet, that exactly the members with a posted receive, except
 * a sender that blocks its own packets, have received it. */
void datagrams_after(struct host *h, const struct flight *f)
{
	unsigned group = adv_gid_is_ipv4(&f->meta.dgid);
	struct adv_headers headers;

	adv_headers_decode(f->data, f->len, &headers);
	for (unsigned i = 0; i < h->sim->datagram_count; i++) {
		const struct datagram *d = &h->sim->datagram[i];
		const struct adv_qp *qp = d->end.qp;
		uint32_t due;

		/* A QP that has just overrun its CQ has flushed all its requests. */
		if (d->end.host != h || !qp || (h->sim->overruns && qp->state == IBV_QPS_ERR))
			continue;
		due = d->member[group] && headers.deth.qkey == QKEY &&
		      !(qp->block_self_multicast && headers.deth.src_qpn == d->end.qpn &&
			f->meta.sgid.raw[15] == h->index + 1) &&
		      d->taken != qp->rq.head;
		REQUIRE(h->sim, qp->rq.next - d->taken == due,
			"UD %u: has taken %u receives for a packet of group %u, where %u were due",
			d->index, qp->rq.next - d->taken, group, due);
	}
}

/* Destroys the QP if its engine still exists. */
void datagram_close(struct datagram *d)
{
	for (unsigned i = 0; i < d->sim->datagram_count; i++) {
		if (d->ah[i])
			adv_ah_destroy(d->ah[i]);
		d->ah[i] = NULL;
	}
	for (unsigned i = 0; i < SIM_GROUPS; i++) {
		if (d->group_ah[i])
			adv_ah_destroy(d->group_ah[i]);
		d->group_ah[i] = NULL;
		if (d->end.qp && d->end.host->e)
			leave(d, i);
		d->member[i] = false;
	}
	if (d->end.qp && d->end.host->e)
		end_destroy(&d->end);
	d->end.qp = NULL;
	if (d->local)
		region_close(d->local);
	pool_close(d->pool);
	free(d->ring);
	d->local = NULL;
	d->pool = d->end.pool = NULL;
	d->ring = NULL;
}

/* Draws the receiver: a QP, the members of a group, or, by a wrong Q_Key, no QP. */
static uint32_t choose_receiver(struct datagram *d, struct ibv_send_wr *wr)
{
	struct sim *s = d->sim;
	unsigned to = (unsigned)below(s, DATAGRAMS, s->datagram_count);

	wr->wr.ud.ah = &d->ah[to]->ibv;
	wr->wr.ud.remote_qpn = s->datagram[to].end.qpn;
	wr->wr.ud.remote_qkey = QKEY;
	if (s->groups && chance(s, GROUPS, 300)) {
		to = (unsigned)below(s, GROUPS, SIM_GROUPS);
		wr->wr.ud.ah = &d->group_ah[to]->ibv;
		wr->wr.ud.remote_qpn = ADV_QPN_MULTICAST;
	}
	if (chance(s, DATAGRAMS, 30)) {
		wr->wr.ud.remote_qkey ^= 1u << below(s, DATAGRAMS, 31);
		return SIM_NOBODY;
	}
	return wr->wr.ud.remote_qpn;
}

/* Posts a datagram and records it in the log. The log covers all lives of a host, since late
 * packets of an earlier life are valid. */
bool datagram_post(struct datagram *d)
{
	struct sim *s = d->sim;
	struct request *q;
	struct ibv_sge sge[ADV_MAX_SGE];
	struct ibv_send_wr *bad = NULL, wr = {.sg_list = sge};
	uint64_t base;
	uint32_t to;
	int err;

	if (!d->end.qp || d->posted - d->done >= d->room || d->log_room == LOG_LIMIT)
		return false;
	q = &d->ring[d->posted % d->room];
	memset(q, 0, sizeof(*q));
	/* The number identifies the sender and its message. */
	q->id = (uint64_t)d->index << 32 | d->log_room;
	q->len = (uint32_t)below(s, DATAGRAMS, chance(s, DATAGRAMS, 700) ? 128 : d->mtu + 1);
	q->signaled = chance(s, DATAGRAMS, 500) || d->posted % 4 == 0;
	pieces_cut(s, DATAGRAMS, &q->pieces, q->len, 8);
	base = (d->posted % d->room) * (uint64_t)d->mtu;
	pieces_sges(&q->pieces, d->local, base, sge);
	pieces_fill(&q->pieces, d->local->buf + base, q->id);
	wr.wr_id = 1ull << 63 | d->posted;
	wr.num_sge = (int)q->pieces.n;
	wr.opcode = q->len < 8 || chance(s, DATAGRAMS, 300) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr.imm_data = (uint32_t)q->id;
	wr.send_flags = q->signaled ? IBV_SEND_SIGNALED : 0;
	to = choose_receiver(d, &wr);
	err = adv_qp_post_send(d->end.qp, s->now, &wr, &bad);
	if (err) {
		REQUIRE(s, err == ENOMEM, "UD: a request was refused: %d", err);
		return false;
	}
	d->log[d->log_room++] = (struct datagram_log){q->len, q->id, to};
	d->posted++;
	s->total.posted++;
	return true;
}

static void judge_sent(struct datagram *d, const struct ibv_wc *wc)
{
	uint64_t number = wc->wr_id & ~(1ull << 63);

	REQUIRE(d->sim, number >= d->done && number < d->posted && wc->status == IBV_WC_SUCCESS,
		"UD %u: request %llu completes with status %d", d->index,
		(unsigned long long)number, (int)wc->status);
	for (uint64_t i = d->done; i < number; i++)
		REQUIRE(d->sim, !d->ring[i % d->room].signaled, "UD %u: a completion is missing",
			d->index);
	REQUIRE(d->sim, d->ring[number % d->room].signaled, "UD %u: an unsignaled completion",
		d->index);
	d->sim->total.operations += number + 1 - d->done;
	d->done = number + 1;
}

/* Copies the first n bytes of the receive request's memory, in order. */
static void gather(const struct pool *p, unsigned slot, uint8_t *out, uint32_t n)
{
	const struct pieces *pieces = &p->slot[slot].pieces;
	const uint8_t *base = p->r->buf + (uint64_t)slot * p->size;

	for (unsigned i = 0; i < pieces->n && n; i++) {
		uint32_t k = pieces->piece[i].len < n ? pieces->piece[i].len : n;

		memcpy(out, base + pieces->piece[i].at, k);
		out += k;
		n -= k;
	}
}

/* True if the datagram QP had this QPN in one of its lives. Other QPs may have had the same QPN,
 * because QPNs are reused after a crash. */
static bool was_qpn_of(const struct datagram *d, uint32_t qpn)
{
	for (unsigned i = 0; i < SIM_LIVES && i < d->lives; i++)
		if (d->qpns[i] == qpn)
			return true;
	return false;
}

static bool was_sent(const struct datagram *from, const struct datagram *to,
		     const struct ibv_wc *wc, const uint8_t *payload)
{
	uint64_t id = (uint64_t)from->index << 32 | wc->imm_data;
	const struct datagram_log *log;

	if (!(wc->wc_flags & IBV_WC_WITH_IMM))
		memcpy(&id, payload, sizeof(id));
	if (id >> 32 != from->index || (uint32_t)id >= from->log_room)
		return false;
	log = &from->log[(uint32_t)id];
	if (log->to == ADV_QPN_MULTICAST)
		to->sim->total.grouped++;
	else if (log->to != to->end.qpn)
		return false;
	return log->len == wc->byte_len - ADV_GRH_LEN && pattern_equal(payload, id, 0, log->len);
}

static void judge_received(struct datagram *d, const struct ibv_wc *wc, unsigned slot)
{
	struct sim *s = d->sim;
	uint8_t bytes[4096 + ADV_GRH_LEN + 8] = {0};
	bool found = false;

	REQUIRE(s,
		wc->byte_len >= ADV_GRH_LEN && wc->byte_len <= 4096 + ADV_GRH_LEN &&
			(wc->wc_flags & IBV_WC_GRH),
		"UD %u: received %u bytes", d->index, wc->byte_len);
	gather(d->pool, slot, bytes, wc->byte_len);
	for (unsigned i = 0; i < s->datagram_count; i++)
		found = found || (was_qpn_of(&s->datagram[i], wc->src_qp) &&
				  was_sent(&s->datagram[i], d, wc, bytes + ADV_GRH_LEN));
	REQUIRE(s, found, "UD %u: %u bytes from QP %06x that were not sent", d->index,
		wc->byte_len - ADV_GRH_LEN, wc->src_qp);
	s->total.datagrams++;
}

void datagram_judge(struct datagram *d, const struct ibv_wc *wc)
{
	unsigned slot;

	/* The QP's CQ has overrun, and the QP will be destroyed. */
	if (wc->status == IBV_WC_WR_FLUSH_ERR && d->sim->overruns &&
	    end_state(&d->end) == IBV_QPS_ERR)
		return;
	if (wc->wr_id >> 63) {
		judge_sent(d, wc);
		return;
	}
	slot = pool_complete(d->pool, wc);
	REQUIRE(d->sim, wc->status == IBV_WC_SUCCESS, "UD %u: a receive fails: %d", d->index,
		(int)wc->status);
	judge_received(d, wc, slot);
}
