/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes trouble: crashes hosts; resets, destroys and stops QPs. */
#include "sim.h"

static void crash(struct host *h)
{
	struct sim *s = h->sim;

	if (!h->e)
		return;
	if (s->trace)
		printf("%14.3f us  host %u CRASHES\n", (double)s->now / 1000, h->index);
	regions_check(h);
	host_crash(h);
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < s->connection[i].ends; k++)
			if (s->connection[i].host[k] == h)
				end_forget(&s->connection[i].end[k]);
	for (unsigned i = 0; i < s->datagram_count; i++)
		if (s->datagram[i].end.host == h)
			datagram_close(&s->datagram[i]);
	host_forget(h);
}

static void hurt(struct end *end)
{
	struct sim *s = end->host->sim;
	enum ibv_qp_state state = end_state(end);
	uint64_t kind = below(s, TROUBLE, 8);

	if (!end->qp || end->c->state != CONNECTED ||
	    (state != IBV_QPS_RTS && state != IBV_QPS_SQD))
		return;
	s->total.troubles++;
	if (s->trace)
		printf("%14.3f us  host %u     qp %06x TROUBLE %llu\n", (double)s->now / 1000,
		       end->host->index, end->qpn, (unsigned long long)kind);
	if (kind == 0) {
		end->app_error = true;
		end_move(end, IBV_QPS_ERR);
	} else if (kind == 1) {
		end_move(end, IBV_QPS_RESET);
		window_lost(end);
	} else if (kind == 2) {
		end_destroy(end);
		window_lost(end);
	} else if (state == IBV_QPS_RTS && !end->sqd) {
		end->sqd = true;
		end->sqd_at = s->now + below(s, TROUBLE, 2 * MS);
		end_move(end, IBV_QPS_SQD);
	}
}

static void hurt_one(struct connection *c)
{
	hurt(&c->end[below(c->sim, TROUBLE, c->ends)]);
}

/* Registers the memory for a stream's requests again, with another key. Does so only if the
 * application has polled the completions of all posted requests. */
static void renew(struct connection *c)
{
	struct stream *st = &c->stream[below(c->sim, TROUBLE, c->streams)];

	if (c->state == CONNECTED && end_state(st->from) == IBV_QPS_RTS && !st->from->failed &&
	    st->done == st->posted && st->area.r && st->to->host->e)
		area_renew(st);
}

/* Deregisters memory under outstanding requests: that of the peer, of the requester, or of
 * receives. */
static void withdraw(struct connection *c)
{
	struct sim *s = c->sim;
	struct stream *st = &c->stream[below(s, WITHDRAWING, c->streams)];
	struct pool *pool = st->to->pool;
	uint64_t kind = below(s, WITHDRAWING, 3);

	if (c->state != CONNECTED || c->type == IBV_QPT_UC || end_state(st->from) != IBV_QPS_RTS ||
	    !st->from->host->e || !st->to->qp)
		return;
	if (kind == 0 && st->area.window_state == WINDOW_NONE && st->area.r->mr) {
		region_withdraw(st->area.r);
		st->area_gone = st->posted + 1;
		st->area.frozen = xcalloc(1, st->area.r->len);
		memcpy(st->area.frozen, st->area.r->buf, st->area.r->len);
	} else if (kind == 1 && st->local->mr) {
		region_withdraw(st->local);
		st->local_gone = st->posted + 1;
		for (uint64_t i = st->done; i < st->posted; i++)
			longs_reuse(st, i);
	} else if (kind == 2 && pool && pool->end == st->to && pool->r->mr) {
		region_withdraw(pool->r);
		st->pool_gone = st->posted + 1;
	} else {
		return;
	}
	s->total.withdrawn++;
	if (s->trace)
		printf("%14.3f us  connection %u WITHDRAWS %llu\n", (double)s->now / 1000, c->index,
		       (unsigned long long)kind);
}

static void shrink(struct host *h)
{
	struct queue *q = &h->queue[1 + below(h->sim, OVERRUNS, SIM_CQS - 1)];

	if (h->e)
		queue_shrink(h, q);
}

/* Causes trouble that only some seeds have. */
static void rare_trouble(struct sim *s)
{
	if (s->withdraws && below(s, WITHDRAWING, 6000) == 0)
		withdraw(&s->connection[below(s, WITHDRAWING, s->connection_count)]);
	if (s->overruns && below(s, OVERRUNS, 6000) == 0)
		shrink(&s->host[below(s, OVERRUNS, s->host_count)]);
}

void trouble(struct sim *s)
{
	if (!s->closing)
		rare_trouble(s);
	if (s->closing || below(s, TROUBLE, 1000000) >= s->trouble)
		return;
	if (chance(s, TROUBLE, 300))
		renew(&s->connection[below(s, TROUBLE, s->connection_count)]);
	else if (chance(s, TROUBLE, 100))
		crash(&s->host[below(s, TROUBLE, s->host_count)]);
	else
		hurt_one(&s->connection[below(s, TROUBLE, s->connection_count)]);
}
