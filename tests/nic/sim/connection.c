/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections: two QPs are created, connected, broken, cleaned up and connected again. After a
 * break both ends wait until their outstanding requests have failed, like real applications. Then
 * the model is updated. New QPs begin when no packet to the old QPs is in flight.
 */
#include <stdlib.h>

#include "sim.h"

enum ibv_qp_state end_state(const struct end *end)
{
	return end->qp ? adv_qp_state(end->qp) : IBV_QPS_RESET;
}

void end_bind(struct end *end, struct adv_qp *qp)
{
	end->qp = qp;
	end->qpn = adv_qp_num(qp);
	end->host->by_qpn[end->qpn - (end->host->index << 16 | 0x100)] = end;
}

static bool is_reliable(const struct connection *c)
{
	return c->type != IBV_QPT_UC;
}

static bool is_xrc(const struct connection *c)
{
	return c->type == IBV_QPT_XRC_SEND;
}

struct end *peer_of(struct end *end)
{
	return &end->c->end[end->c->self ? 0 : !end->side];
}

/* ---- creating ---- */

static void choose_queues(struct end *end)
{
	struct sim *s = end->host->sim;

	end->send_queue = &end->host->queue[below(s, CONNECTIONS, SIM_CQS)];
	end->recv_queue = &end->host->queue[below(s, CONNECTIONS, SIM_CQS)];
}

static void make_qp(struct end *end)
{
	struct connection *c = end->c;
	struct host *h = end->host;
	struct adv_qp_config config = {.type = c->type, .pd = h->pd, .cap = c->cap, .user = end};
	struct adv_qp *qp;

	choose_queues(end);
	config.sq_sig_all = c->sig_all;
	config.send_cq = end->send_queue->cq;
	config.recv_cq = end->recv_queue->cq;
	config.xrcd = h->xrcd;
	if (is_xrc(c) && end->side == 1) {
		config.type = IBV_QPT_XRC_RECV;
		end->pool = h->xrc_srq;
	} else if (is_xrc(c)) {
		end->pool = NULL;
	} else if (c->use_srq[end->side]) {
		end->pool = h->srq;
		config.srq = h->srq->srq;
	} else {
		end->pool = pool_open(h, c->sim->max_len, c->cap.max_recv_sge,
				      1 + (unsigned)below(c->sim, CONNECTIONS, c->cap.max_recv_wr));
		end->pool->end = end;
	}
	qp = adv_qp_create(h->e, &config);
	REQUIRE(c->sim, qp, "a QP cannot be made");
	end_bind(end, qp);
	queue_resize(h, end->send_queue);
	queue_resize(h, end->recv_queue);
}

static void make_stream(struct stream *st)
{
	struct connection *c = st->from->c;
	struct sim *s = c->sim;

	if (!st->ring) {
		st->room = st->from->qp->sq.size;
		st->ring = xcalloc(st->room, sizeof(*st->ring));
		st->local_size = (s->max_len + 1 + 71) & ~7u;
	}
	if (!st->local)
		st->local = region_open(st->from->host, (uint64_t)st->local_size * st->room);
	if (!st->area.r)
		area_open(&st->area, st->to->host, (s->max_len + 7) & ~7u,
			  s->max_len > 65536 ? 3 : SIM_SLOTS);
}

static void to_init(struct end *end)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 0x30e};
	int err =
		adv_qp_modify(end->qp, end->host->sim->now, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	REQUIRE(end->host->sim, err == 0, "to INIT: %d", err);
}

static void to_rtr(struct end *end, const struct end *peer, uint32_t psn)
{
	struct connection *c = end->c;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = c->mtu,
				.rq_psn = psn,
				.max_dest_rd_atomic = c->depth[peer->side],
				.min_rnr_timer = c->min_rnr_timer,
				.dest_qp_num = peer->qpn};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int err;

	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.hop_limit = 64;
	a.ah_attr.grh.sgid_index = c->ipv4;
	memcpy(a.ah_attr.grh.dgid.raw, peer->host->gid[c->ipv4].raw, 16);
	if (is_reliable(c) && !(is_xrc(c) && end->side == 0))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	err = adv_qp_modify(end->qp, c->sim->now, &a, mask);
	REQUIRE(c->sim, err == 0, "to RTR: %d", err);
}

static void to_rts(struct end *end, uint32_t psn)
{
	struct connection *c = end->c;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.sq_psn = psn,
				.timeout = c->timeout,
				.retry_cnt = c->retry_cnt,
				.rnr_retry = c->rnr_retry,
				.max_rd_atomic = c->depth[end->side]};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	int err;

	if (is_xrc(c) && end->side == 1)
		mask |= IBV_QP_TIMEOUT;
	else if (is_reliable(c))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	err = adv_qp_modify(end->qp, c->sim->now, &a, mask);
	REQUIRE(c->sim, err == 0, "to RTS: %d", err);
}

/* Draws a first PSN, often just before the 24-bit wrap. */
static uint32_t random_psn(struct sim *s)
{
	if (chance(s, CONNECTIONS, 500))
		return 0xffffff - (uint32_t)below(s, CONNECTIONS, 300);
	return (uint32_t)adv_rng_next(&s->rng[CONNECTIONS]) & ADV_PSN_MASK;
}

static void start_stream(struct connection *c, unsigned i, uint32_t psn)
{
	struct stream *st = &c->stream[i];

	make_stream(st);
	st->posted = st->done = st->received = st->consuming_done = 0;
	st->expect_head = st->expect_count = 0;
	st->unsignaled = st->bad = 0;
	st->area_gone = st->local_gone = st->pool_gone = 0;
	st->rnr_naks = st->rnr_then = 0;
	st->una = psn;
	st->progress_at = c->sim->now;
	st->impaired = 0;
	st->from->out = st;
	st->to->in = st;
}

/* Marks the connection as up: both ends are in RTS. */
void connection_begin(struct connection *c, const uint32_t psn[2])
{
	for (unsigned i = 0; i < c->streams; i++)
		start_stream(c, i, psn[i]);
	c->state = CONNECTED;
}

/* Creates missing QPs and connects them. A managed connection only begins to connect. */
void connection_open(struct connection *c)
{
	uint32_t psn[2] = {random_psn(c->sim), random_psn(c->sim)};

	c->ends = c->self ? 1 : 2;
	c->streams = is_xrc(c) || c->self ? 1 : 2;
	for (unsigned i = 0; i < c->ends; i++) {
		struct end *end = &c->end[i];

		end->c = c;
		end->side = i;
		end->host = c->host[i];
		end->failed = end->app_error = end->purged = end->sqd = end->recv_flushed = false;
		end->in = end->out = NULL;
		c->stream[i].from = end;
		c->stream[i].to = peer_of(end);
		if (!end->qp)
			make_qp(end);
		to_init(end);
	}
	if (c->managed) {
		manager_connect(c);
		return;
	}
	for (unsigned i = 0; i < c->ends; i++)
		to_rtr(&c->end[i], peer_of(&c->end[i]), psn[peer_of(&c->end[i])->side]);
	for (unsigned i = 0; i < c->ends; i++)
		to_rts(&c->end[i], psn[i]);
	connection_begin(c, psn);
}

/* ---- breaking ---- */

static void own_pool_close(struct end *end)
{
	if (end->pool && end->pool->end == end)
		pool_close(end->pool);
	end->pool = NULL;
}

/* Resets the model of an end whose host has crashed. The end's memory does not exist any more. */
void end_forget(struct end *end)
{
	struct connection *c = end->c;
	struct stream *out = &c->stream[end->side], *in = &c->stream[peer_of(end)->side];

	if (out->local)
		region_close(out->local);
	out->local = NULL;
	area_close(&in->area);
	own_pool_close(end);
	end->qp = NULL;
	end->purged = true;
	end->sqd = false;
}

static void note_lost_receives(struct end *end)
{
	end->purged = true;
	end->sqd = false;
	if (!end->pool)
		return;
	if (end->pool->end == end)
		pool_forget(end->pool);
	else
		end->pool->may_lose = true;
}

static void recount(struct end *end)
{
	if (!end->pool || !end->pool->srq)
		return;
	host_poll(end->host, true);
	pool_recount(end->pool);
}

void end_destroy(struct end *end)
{
	uint32_t first = end->host->index << 16 | 0x100;

	/* Completions of an XRC SRQ outlive the QP that received them. */
	if (end->c && is_xrc(end->c))
		host_poll(end->host, true);
	REQUIRE(end->host->sim, adv_qp_destroy(end->qp) == 0, "a QP cannot be destroyed");
	end->qp = NULL;
	end->host->by_qpn[end->qpn - first] = NULL;
	note_lost_receives(end);
	recount(end);
	if (end->c)
		own_pool_close(end);
}

void end_move(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state, .en_sqd_async_notify = 1};
	int mask = IBV_QP_STATE | (state == IBV_QPS_SQD ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0);
	int err;

	if (state == IBV_QPS_RESET && end->c && is_xrc(end->c))
		host_poll(end->host, true);
	err = adv_qp_modify(end->qp, end->host->sim->now, &a, mask);
	REQUIRE(end->host->sim, err == 0, "to state %d: %d", (int)state, err);
	if (state == IBV_QPS_RESET) {
		note_lost_receives(end);
		recount(end);
	}
}

static bool is_down(const struct end *end)
{
	enum ibv_qp_state state = end_state(end);

	return state == IBV_QPS_ERR || state == IBV_QPS_RESET;
}

static bool is_any_down(const struct connection *c)
{
	for (unsigned i = 0; i < c->ends; i++)
		if (is_down(&c->end[i]))
			return true;
	return false;
}

/* Moves each end that is still up to ERR if it has no outstanding request. True: both ends are
 * down. */
static bool bring_down(struct connection *c)
{
	bool down = true;

	for (unsigned i = 0; i < c->ends; i++) {
		struct end *end = &c->end[i];

		if (is_down(end))
			continue;
		if (end->out && is_reliable(c) && end->out->done != end->out->posted && !end->sqd) {
			down = false;
			continue;
		}
		end->app_error = true;
		end->sqd = false;
		end_move(end, IBV_QPS_ERR);
	}
	return down;
}

static void settle_accounts(struct connection *c)
{
	struct sim *s = c->sim;

	for (unsigned i = 0; i < c->ends; i++)
		if (c->end[i].host->e) {
			host_events(c->end[i].host);
			host_poll(c->end[i].host, true);
		}
	for (unsigned i = 0; i < c->ends; i++) {
		struct end *end = &c->end[i];

		if (!end->qp || end->purged)
			continue;
		judge_silent(end);
		REQUIRE(s, !end->out || end->out->done == end->out->posted,
			"connection %u side %u: %llu requests were not flushed", c->index, i,
			(unsigned long long)(end->out->posted - end->out->done));
		REQUIRE(s, !end->recv_flushed || end_may_flush(end),
			"connection %u side %u: receives were flushed without reason", c->index, i);
		REQUIRE(s, !end->pool || end->pool->end != end || end->pool->posted == 0,
			"connection %u side %u: %u receives were not flushed", c->index, i,
			end->pool ? end->pool->posted : 0);
	}
	for (unsigned i = 0; i < c->streams && is_reliable(c) && !s->chaos; i++) {
		const struct stream *st = &c->stream[i];

		REQUIRE(s, st->to->purged || st->received >= st->consuming_done,
			"connection %u: of %llu messages that were acknowledged %llu were received",
			c->index, (unsigned long long)st->consuming_done,
			(unsigned long long)st->received);
	}
}

static bool packets_on_their_way(const struct connection *c)
{
	for (unsigned i = 0; i < c->ends; i++)
		if (network_has_packet_for(c->sim, c->host[i]->index, c->end[i].qpn))
			return true;
	return false;
}

/* Registers deregistered memory again, and updates the model. */
static void restore_memory(struct stream *st)
{
	struct end *to = st->to;

	if (st->area.r && to->host->e) {
		if (!st->area.r->mr)
			st->area.old_key = st->area.r->key;
		region_restore(st->area.r);
	}
	if (st->local && st->from->host->e)
		region_restore(st->local);
	if (to->pool && to->pool->end == to && to->host->e)
		region_restore(to->pool->r);
}

static void reconnect(struct connection *c)
{
	for (unsigned i = 0; i < c->streams; i++) {
		area_settle(&c->stream[i]);
		stream_forget(&c->stream[i]);
		window_forget(&c->stream[i].area);
		restore_memory(&c->stream[i]);
	}
	for (unsigned i = 0; i < c->ends; i++) {
		struct end *end = &c->end[i];

		/* A managed connection needs a new QP: the connection manager keeps the old QP's
		 * number for a time. */
		if (end->qp && (c->managed || chance(c->sim, CONNECTIONS, 400)))
			end_destroy(end);
		else if (end->qp && end_state(end) != IBV_QPS_RESET)
			end_move(end, IBV_QPS_RESET);
	}
	connection_open(c);
	c->sim->total.reconnects++;
}

static void manage_sqd(struct end *end)
{
	struct sim *s = end->host->sim;

	if (!end->sqd || end_state(end) != IBV_QPS_SQD || s->now < end->sqd_at ||
	    end->qp->req.draining)
		return;
	end->sqd = false;
	end_move(end, IBV_QPS_RTS);
	if (end->out)
		end->out->progress_at = s->now;
}

void connection_manage(struct connection *c)
{
	struct sim *s = c->sim;

	judge_stuck(c);
	switch (c->state) {
	case CONNECTED:
		for (unsigned i = 0; i < c->ends; i++)
			manage_sqd(&c->end[i]);
		if (!is_any_down(c))
			return;
		c->state = BREAKING;
		break;
	case BREAKING:
		if (!bring_down(c))
			return;
		settle_accounts(c);
		c->state = QUIET;
		break;
	case CONNECTING:
		if (!manager_watch(c))
			c->state = QUIET;
		break;
	case LEAVING:
		manager_part(c);
		break;
	case QUIET:
		if (c->managed && !manager_part(c))
			return;
		if (s->closing || !c->host[0]->e || !c->host[1]->e || packets_on_their_way(c))
			return;
		reconnect(c);
		break;
	}
}

bool connection_idle(const struct connection *c)
{
	if (c->state != CONNECTED)
		return (c->state == QUIET || c->state == LEAVING) && !c->agent[0].id &&
		       !c->agent[1].id;
	for (unsigned i = 0; i < c->streams; i++) {
		const struct stream *st = &c->stream[i];

		if (st->done != st->posted ||
		    (is_reliable(c) && !c->sim->chaos && st->expect_count && !st->to->purged))
			return false;
	}
	for (unsigned i = 0; i < c->ends; i++)
		if (c->end[i].sqd)
			return false;
	return !is_any_down(c);
}

/* Lets the connection manager end a connection whose requests are all done. */
void connection_leave(struct connection *c)
{
	if (c->managed && c->state == CONNECTED)
		c->state = LEAVING;
}

void connection_close(struct connection *c)
{
	for (unsigned i = 0; i < c->streams; i++) {
		struct stream *st = &c->stream[i];

		if (c->state == CONNECTED || c->state == LEAVING)
			area_check(st);
		else
			area_settle(st);
		stream_forget(st);
	}
	for (unsigned i = 0; i < c->ends; i++)
		if (c->end[i].qp)
			end_destroy(&c->end[i]);
	for (unsigned i = 0; i < c->streams; i++) {
		struct stream *st = &c->stream[i];

		if (st->local)
			region_close(st->local);
		area_close(&st->area);
		free(st->ring);
		free(st->expect);
		free(st->writes);
	}
}
