/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts: the engine, the objects that its QPs share, receive requests, and completions. */
#include <stdlib.h>

#include "sim.h"
#include "nic/queue/cq.h"
#include "nic/queue/srq.h"

#define RECV_ID(pool_slot, order) ((uint64_t)(order) << 8 | (pool_slot))

/* ---- receive requests ---- */

struct pool *pool_open(struct host *h, uint32_t size, unsigned max_sge, unsigned wanted)
{
	struct pool *p = xcalloc(1, sizeof(*p));

	p->host = h;
	p->size = size;
	p->max_sge = max_sge;
	p->slots = wanted + 8 < SIM_RECV_SLOTS ? wanted + 8 : SIM_RECV_SLOTS;
	p->wanted = wanted;
	p->next_order = 1;
	p->r = region_open(h, (uint64_t)size * p->slots);
	return p;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	region_close(p->r);
	free(p);
}

static bool post_one(struct pool *p, unsigned slot)
{
	struct sim *s = p->host->sim;
	uint64_t base = (uint64_t)slot * p->size;
	struct ibv_sge sge[ADV_MAX_SGE];
	struct ibv_recv_wr *bad = NULL, wr = {.sg_list = sge};
	int err;

	pieces_cut(s, RECEIVES, &p->slot[slot].pieces, p->size, p->max_sge);
	pieces_sges(&p->slot[slot].pieces, p->r, base, sge);
	memset(p->r->buf + base, 0xee, p->size);
	wr.wr_id = RECV_ID(slot, p->next_order);
	wr.num_sge = (int)p->slot[slot].pieces.n;
	if (p->srq)
		err = adv_srq_post(p->srq, &wr, &bad);
	else
		err = adv_qp_post_recv(p->end->qp, s->now, &wr, &bad);
	REQUIRE(s, err == 0 || err == ENOMEM || s->injects, "a receive request was refused: %d",
		err);
	memset(sge, 0xdd, sizeof(sge));
	if (err)
		return false;
	p->slot[slot].posted = true;
	p->slot[slot].order = p->next_order++;
	p->posted++;
	return true;
}

/* Posts up to n receive requests, up to the wanted number. */
void pool_post(struct pool *p, unsigned n)
{
	if (!p->srq &&
	    (!p->end->qp || end_state(p->end) == IBV_QPS_RESET || end_state(p->end) == IBV_QPS_ERR))
		return;
	for (unsigned i = 0; i < p->slots && n && p->posted < p->wanted; i++) {
		if (p->slot[i].posted)
			continue;
		if (!post_one(p, i))
			return;
		n--;
	}
}

/* Records the completion of a receive request. Returns its slot. */
unsigned pool_complete(struct pool *p, const struct ibv_wc *wc)
{
	struct sim *s = p->host->sim;
	unsigned slot = wc->wr_id & 0xff;
	uint64_t order = wc->wr_id >> 8;

	REQUIRE(s, slot < p->slots && p->slot[slot].posted && p->slot[slot].order == order,
		"host %u: a receive completes that is not posted: %llx", p->host->index,
		(unsigned long long)wc->wr_id);
	if (!p->srq) {
		REQUIRE(s, order == p->last_order + 1,
			"host %u: receives do not complete in their order", p->host->index);
		p->last_order = order;
	}
	p->slot[slot].posted = false;
	p->posted--;
	return slot;
}

/* Marks all receive requests as not posted: the receive queue is destroyed or empty. */
void pool_forget(struct pool *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->slots; i++)
		p->slot[i].posted = false;
	p->posted = 0;
	p->last_order = p->next_order - 1;
}

static bool is_with_engine(const struct pool *p, uint64_t wr_id)
{
	const struct adv_srq *srq = p->srq;
	const struct adv_engine *e = p->host->e;

	for (uint32_t i = srq->fifo_tail; i != srq->fifo_head; i++) {
		uint32_t slot = srq->fifo[i & (srq->max_wr - 1)];
		const struct adv_recv_wqe *wqe =
			(const void *)(srq->slots + (size_t)slot * srq->stride);

		if (wqe->wr_id == wr_id)
			return true;
	}
	adv_list_for_each(const struct adv_qp, qp, &e->qps, node) {
		if (qp->srq == srq && qp->resp.recv && qp->resp.recv->wr_id == wr_id)
			return true;
	}
	return false;
}

/*
 * Counts the receive requests of an SRQ again. The receive requests that a QP had dequeued when it
 * was reset disappear without a completion; no others do. All completions must have been polled.
 */
void pool_recount(struct pool *p)
{
	for (unsigned i = 0; i < p->slots; i++) {
		if (!p->slot[i].posted || is_with_engine(p, RECV_ID(i, p->slot[i].order)))
			continue;
		REQUIRE(p->host->sim, p->may_lose, "host %u: a receive of the SRQ is lost",
			p->host->index);
		p->slot[i].posted = false;
		p->posted--;
	}
	p->may_lose = false;
}

/* ---- engines ---- */

static unsigned room_of(const struct end *end, const struct host *h, const struct queue *q)
{
	unsigned room = 0;

	if (end->host != h || !end->qp)
		return 0;
	if (end->send_queue == q)
		room += end->qp->sq.size;
	if (end->recv_queue == q && end->pool)
		room += end->pool->slots;
	return room;
}

/* Sizes the CQ exactly for the queues of its QPs and SRQs. */
void queue_resize(struct host *h, struct queue *q)
{
	struct sim *s = h->sim;
	unsigned room = q == &h->queue[0] ? h->xrc_srq->slots : 1;
	int err;

	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < 2; k++)
			room += room_of(&s->connection[i].end[k], h, q);
	for (unsigned i = 0; i < s->datagram_count; i++)
		room += room_of(&s->datagram[i].end, h, q);
	err = adv_cq_resize(q->cq, room);
	REQUIRE(s, err == 0, "a CQ cannot be made one of %u: %d", room, err);
	/* A CQ that has already overrun still reports it. */
	if (!q->cq->overrun)
		q->shrunk = false;
}

/* Shrinks the CQ to its present completions. */
void queue_shrink(struct host *h, struct queue *q)
{
	unsigned count = q->cq->head - q->cq->tail;

	REQUIRE(h->sim, adv_cq_resize(q->cq, count ? count : 1) == 0, "a CQ cannot be made less");
	q->shrunk = true;
}

/* Returns the IPv6 or IPv4 address of the host with this index. */
static struct adv_gid gid_of(unsigned index, bool ipv4)
{
	uint8_t last = (uint8_t)(index + 1);

	if (ipv4)
		return (struct adv_gid){{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = last}};
	return (struct adv_gid){{[0] = 0xfd, [3] = 1, [15] = last}};
}

/* Sets the GID table: the host's own addresses, and with long packets those of all hosts behind
 * them, as all are processes of one machine. */
static void set_gids(struct host *h)
{
	struct sim *s = h->sim;
	struct adv_engine_gid gids[2 + 2 * SIM_HOSTS];
	unsigned count = 0;

	for (unsigned i = 0; i < 2; i++) {
		h->gid[i] = gid_of(h->index, i);
		gids[count++] = (struct adv_engine_gid){h->gid[i], 4096, false};
	}
	for (unsigned i = 0; s->longs && i < 2 * s->host_count; i++)
		gids[count++] = (struct adv_engine_gid){gid_of(i / 2, i % 2), 4096, false};
	REQUIRE(s, adv_engine_set_gids(h->e, gids, count) == 0, "no GIDs");
}

static void open_srqs(struct host *h)
{
	struct sim *s = h->sim;
	struct ibv_srq_attr attr = {.max_wr = 48, .max_sge = 1 + (uint32_t)below(s, ENGINES, 8)};

	h->srq = pool_open(h, s->max_len, attr.max_sge, 32);
	h->srq->srq = adv_srq_create(h->e, h->pd, &attr, h->srq);
	attr.max_wr = 48;
	attr.max_sge = h->srq->max_sge;
	h->xrc_srq = pool_open(h, s->max_len, attr.max_sge, 32);
	h->xrc_srq->srq = adv_srq_create_xrc(h->pd, h->xrcd, h->queue[0].cq, &attr, h->xrc_srq);
	REQUIRE(s, h->srq->srq && h->xrc_srq->srq, "an SRQ cannot be made");
	queue_resize(h, &h->queue[0]);
	attr.srq_limit = 4;
	adv_srq_modify(h->srq->srq, &attr, IBV_SRQ_LIMIT);
}

/* Decides by the fault plan whether a request fails. The engine calls it. */
static uint32_t inject(void *user, enum adv_injection what, const struct adv_work *work)
{
	static const enum adv_fault_action actions[] = {[ADV_INJECT_POST] = ADV_FAULT_POST,
							[ADV_INJECT_COMPLETION] =
								ADV_FAULT_COMPLETE,
							[ADV_INJECT_NOT_READY] = ADV_FAULT_RNR,
							[ADV_INJECT_TEAR] = ADV_FAULT_TEAR};
	struct host *h = user;
	struct adv_fault_work w;

	if (what == ADV_INJECT_TORN)
		return 0;
	w = (struct adv_fault_work){actions[what], (enum adv_fault_work_queue)work->queue,
				    work->opcode, work->qpn};

	return adv_fault_decide_work(&h->fault, h->sim->now, &w);
}

void host_open(struct host *h)
{
	struct sim *s = h->sim;
	struct adv_engine_config config = {
		.qpn_first = h->index << 16 | 0x100,
		.qpn_count = SIM_QPNS,
		.window = s->window,
		.total_window = s->total_window,
		.timeout_ticks = s->timeout_ticks,
		.ack_delay = s->ack_delay,
		.local_credit = (s->seed & 1) && !s->longs,
		.local_memory = s->longs,
		.no_fast_path = s->no_fast_path,
	};

	for (int i = 0; i < 4; i++)
		config.seed[i] = adv_rng_next(&s->rng[ENGINES]);
	h->e = adv_engine_create(&config);
	REQUIRE(s, h->e, "no engine");
	if (s->injects)
		adv_engine_set_injector(h->e, inject, h);
	set_gids(h);
	longs_open(h);
	h->pd = adv_pd_create(h->e);
	h->xrcd = adv_xrcd_create(h->e);
	for (unsigned i = 0; i < SIM_CQS; i++) {
		struct queue *q = &h->queue[i];

		q->cq = adv_cq_create(h->e, 1, q);
		q->by_event = i == 1;
		q->pending = q->shrunk = q->stopped = false;
		REQUIRE(s, q->cq, "no CQ");
		if (q->by_event)
			adv_cq_arm(q->cq, false);
		if (q->by_event && chance(s, ENGINES, 300))
			adv_cq_moderate(q->cq, 1 + (unsigned)below(s, ENGINES, 4), 20 * US);
	}
	open_srqs(h);
	manager_open(h);
	h->life++;
	h->shared = region_open(h, 8);
	h->shared_seen = xcalloc(1, 1 << 20);
	h->shared_posted = h->shared_done = 0;
}

static void forget_memory(struct host *h)
{
	free(h->shared_seen);
	h->shared_seen = NULL;
	region_close(h->shared);
	pool_close(h->srq);
	pool_close(h->xrc_srq);
	h->srq = h->xrc_srq = NULL;
}

static void note_counters(struct host *h)
{
	history_note(h->sim, "counters", adv_engine_counters(h->e),
		     sizeof(struct adv_engine_counters));
	history_note(h->sim, "work", adv_engine_work(h->e), sizeof(struct adv_engine_work));
}

/* Crashes the host with all its objects. Packets in flight to it are lost. */
void host_crash(struct host *h)
{
	manager_crash(h);
	longs_crash(h);
	note_counters(h);
	adv_engine_destroy(h->e);
	h->e = NULL;
	memset(h->by_qpn, 0, sizeof(h->by_qpn));
}

/* Frees the memory of a crashed host, after its QPs have released theirs. */
void host_forget(struct host *h)
{
	forget_memory(h);
	REQUIRE(h->sim, !h->regions, "host %u: regions of a dead host are left", h->index);
	h->back_at = h->sim->now + below(h->sim, TROUBLE, 20 * MS);
	h->sim->total.crashes++;
}

/* Destroys the remaining objects in order, after all QPs, and checks that none is left. */
void host_close(struct host *h)
{
	struct sim *s = h->sim;
	struct adv_engine *e = h->e;
	struct adv_event ev;

	manager_close(h);
	regions_check(h);
	if (!s->chaos) {
		uint64_t v;

		memcpy(&v, h->shared->buf, sizeof(v));
		REQUIRE(s, v >= h->shared_done && v <= h->shared_posted,
			"host %u: the shared counter is %llu, with %llu additions done and %llu "
			"posted",
			h->index, (unsigned long long)v, (unsigned long long)h->shared_done,
			(unsigned long long)h->shared_posted);
	}
	while (adv_engine_event(e, &ev))
		;
	REQUIRE(s, adv_srq_destroy(h->srq->srq) == 0 && adv_srq_destroy(h->xrc_srq->srq) == 0,
		"host %u: an SRQ is in use without QPs", h->index);
	for (unsigned i = 0; i < SIM_CQS; i++) {
		REQUIRE(s, adv_cq_empty(h->queue[i].cq), "host %u: completions of no QP", h->index);
		REQUIRE(s, adv_cq_destroy(h->queue[i].cq) == 0,
			"host %u: a CQ is in use without QPs", h->index);
	}
	forget_memory(h);
	REQUIRE(s, !h->regions, "host %u: regions are left", h->index);
	REQUIRE(s, adv_pd_destroy(h->pd) == 0, "host %u: the PD is in use", h->index);
	REQUIRE(s, adv_xrcd_destroy(h->xrcd) == 0, "host %u: the XRC domain is in use", h->index);
	adv_engine_tx(e, s->now, &s->batch);
	note_counters(h);
	REQUIRE(s,
		e->in_flight == 0 && e->tpt->keys.count == 0 && adv_list_empty(&e->tx_ready) &&
			adv_list_empty(&e->stalled) && adv_list_empty(&e->qps) &&
			adv_list_empty(&e->cq_events) && adv_list_empty(&e->async_events) &&
			adv_engine_qpns_left(e) == SIM_QPNS && e->xrc_used == 0 && !e->dead_ahs,
		"host %u: state is left in the engine", h->index);
	adv_engine_destroy(e);
	h->e = NULL;
}

/* ---- completions ---- */

/* Notes the oldest completions of a CQ before they are polled. */
static void note_completions(struct host *h, const struct adv_cq *cq, unsigned n)
{
	for (unsigned i = 0; i < n && cq->tail + i != cq->head; i++) {
		const struct adv_cqe *cqe = &cq->ring[(cq->tail + i) & (cq->room - 1)];
		const struct {
			struct ibv_wc wc;
			uint64_t timestamp, is_recv;
		} seen = {cqe->wc, cqe->timestamp, cqe->is_recv};

		history_note(h->sim, "a completion", &seen,
			     offsetof(struct ibv_wc, dlid_path_bits) + 1);
		history_note(h->sim, "a completion's rest", &seen.timestamp, 2 * sizeof(uint64_t));
	}
}

static void poll_queue(struct host *h, struct queue *q, unsigned most)
{
	struct ibv_wc wc[8];
	int n;

	while (most) {
		note_completions(h, q->cq, most < 8 ? most : 8);
		n = adv_cq_poll(q->cq, most < 8 ? (int)most : 8, wc);
		REQUIRE(h->sim, n >= 0 || q->shrunk, "host %u: a CQ overran", h->index);
		if (n < 0)
			return;
		for (int i = 0; i < n; i++)
			judge(h, &wc[i]);
		if (n == 0)
			return;
		most -= (unsigned)n;
	}
}

/* Polls some completions, or all. Queues that use events are polled only after one. */
void host_poll(struct host *h, bool all)
{
	for (unsigned i = 0; i < SIM_CQS; i++) {
		struct queue *q = &h->queue[i];

		if (q->by_event && !all) {
			if (!q->pending)
				continue;
			q->pending = false;
			adv_cq_arm(q->cq, false);
			poll_queue(h, q, UINT32_MAX);
		} else if (!adv_cq_empty(q->cq)) {
			poll_queue(h, q,
				   all ? UINT32_MAX : 1 + (unsigned)below(h->sim, POLLING, 32));
		}
	}
}

static bool uses(const struct end *end, const struct host *h, const struct queue *q)
{
	return end->qp && end->host == h && (end->send_queue == q || end->recv_queue == q);
}

/* Records that a QP was stopped by an overrun of its CQs. If both of its CQs were overrun, marks
 * both. The QP's outstanding requests may be flushed. */
static void note_stopped(const struct host *h, struct end *end)
{
	struct queue *queues[2] = {end->send_queue, end->recv_queue};

	if (!end->qp || end->host != h || end_state(end) != IBV_QPS_ERR)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (!queues[i]->cq->overrun)
			continue;
		queues[i]->stopped = true;
		end->app_error = true;
	}
}

/*
 * Handles the overrun of a CQ, which loses completions. The QP of the first lost completion is in
 * the error state. The application destroys all objects that used the CQ.
 */
static void overrun(struct host *h, struct queue *q)
{
	struct sim *s = h->sim;

	REQUIRE(s, q->shrunk, "host %u: a CQ overran", h->index);
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < s->connection[i].ends; k++)
			note_stopped(h, &s->connection[i].end[k]);
	for (unsigned i = 0; i < s->datagram_count; i++)
		note_stopped(h, &s->datagram[i].end);
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < s->connection[i].ends; k++) {
			struct end *end = &s->connection[i].end[k];

			if (!uses(end, h, q))
				continue;
			end_destroy(end);
		}
	for (unsigned i = 0; i < s->datagram_count; i++) {
		struct datagram *d = &s->datagram[i];

		if (!uses(&d->end, h, q))
			continue;
		datagram_close(d);
	}
	REQUIRE(s, q->stopped, "host %u: a CQ overran, and no QP has stopped", h->index);
	REQUIRE(s, adv_cq_destroy(q->cq) == 0, "host %u: the CQ that overran is in use", h->index);
	q->cq = adv_cq_create(h->e, 1, q);
	REQUIRE(s, q->cq, "no CQ");
	q->shrunk = q->pending = q->stopped = false;
	if (q->by_event)
		adv_cq_arm(q->cq, false);
	for (unsigned i = 0; i < s->datagram_count; i++)
		if (s->datagram[i].end.host == h && !s->datagram[i].end.qp)
			datagram_open(&s->datagram[i]);
	s->total.overruns++;
}

void host_events(struct host *h)
{
	struct adv_event ev;

	while (adv_engine_event(h->e, &ev)) {
		history_note(h->sim, "an event", &ev.async, sizeof(ev.async));
		if (ev.kind == ADV_EVENT_COMPLETION)
			((struct queue *)adv_cq_user(ev.cq))->pending = true;
		else if (ev.async == IBV_EVENT_CQ_ERR)
			overrun(h, adv_cq_user(ev.cq));
	}
}
