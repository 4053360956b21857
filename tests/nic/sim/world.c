/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event loop, and the end of a run. */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"
#include "nic/engine/invariants.h"
#include "nic/fast/unusual.h"

#define TICK_FIRST (5 * US)
#define TICK_LAST  (20 * MS)
#define CLOSE_TIME (700 * SEC) /* virtual time; the connection manager may wait for an answer */

void violation(struct sim *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
	longjmp(s->failed, 1);
}

static void open_world(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++) {
		struct adv_fault_plan plan = s->plan;
		struct host *h = &s->host[i];

		h->sim = s;
		plan.seed += i;
		adv_fault_queue_init(&h->held);
		adv_fault_begin(&h->fault, &plan, s->now);
		host_open(h);
	}
	for (unsigned i = 0; i < s->connection_count; i++) {
		struct connection *c = &s->connection[i];

		c->index = i;
		connection_open(c);
	}
	for (unsigned i = 0; i < s->datagram_count; i++) {
		struct datagram *d = &s->datagram[i];

		d->sim = s;
		d->index = i;
		d->end.host = &s->host[below(s, SHAPES, s->host_count)];
		d->end.side = 0;
	}
	/* Each host creates address handles for all hosts. */
	for (unsigned i = 0; i < s->datagram_count; i++)
		datagram_open(&s->datagram[i]);
}

/* ---- applications ---- */

static bool goal_reached(const struct sim *s)
{
	return s->total.posted >= s->goal || s->bytes_posted >= s->byte_goal;
}

static void post_some(struct sim *s)
{
	struct connection *c = &s->connection[below(s, POSTING, s->connection_count)];

	if (goal_reached(s))
		return;
	for (unsigned i = 0; i < c->streams; i++)
		while (chance(s, POSTING, s->eager) && request_post(&c->stream[i]))
			;
	if (s->datagram_count && chance(s, POSTING, s->eager / 2))
		datagram_post(&s->datagram[below(s, POSTING, s->datagram_count)]);
}

static void post_receives(struct sim *s, unsigned per_mille)
{
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct end *end = &s->connection[i].end[k];

			if (end->pool && end->host->e && chance(s, RECEIVES, per_mille))
				pool_post(end->pool, 1 + (unsigned)below(s, RECEIVES, 8));
		}
	for (unsigned i = 0; i < s->datagram_count; i++)
		if (s->datagram[i].end.qp && chance(s, RECEIVES, per_mille))
			pool_post(s->datagram[i].pool, 4);
}

/* Lets applications act at intervals, independent of the network. */
static void tick(struct sim *s)
{
	uint64_t before = s->total.posted + s->total.operations + s->total.received;

	for (unsigned i = 0; i < s->host_count; i++) {
		struct host *h = &s->host[i];

		if (h->e) {
			host_events(h);
			regions_check(h);
			host_poll(h, false);
			continue;
		}
		if (s->now < h->back_at)
			continue;
		host_open(h);
		for (unsigned k = 0; k < s->datagram_count; k++)
			if (s->datagram[k].end.host == h)
				datagram_open(&s->datagram[k]);
	}
	for (unsigned i = 0; i < s->connection_count; i++)
		connection_manage(&s->connection[i]);
	if (s->groups && s->datagram_count && chance(s, GROUPS, 20))
		datagram_regroup(&s->datagram[below(s, GROUPS, s->datagram_count)]);
	longs_turn(s);
	post_receives(s, s->willing);
	post_some(s);
	if (before != s->total.posted + s->total.operations + s->total.received)
		s->tick = TICK_FIRST;
	else if (s->tick < TICK_LAST)
		s->tick += s->tick / 2;
	s->next_tick = s->now + s->tick;
}

/* Lets hosts and applications act after an event. */
static void act(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++) {
		struct host *h = &s->host[i];

		if (!h->e)
			continue;
		host_events(h);
		manager_turn(h);
		if (chance(s, POLLING, s->attentive))
			host_poll(h, false);
	}
	if (chance(s, POLLING, s->eager))
		post_some(s);
	if (chance(s, POLLING, s->willing / 4))
		post_receives(s, s->willing);
	trouble(s);
}

/* Checks that each QP's summary word is that of its state. */
static void check_summaries(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++) {
		if (!s->host[i].e)
			continue;
		adv_list_for_each(const struct adv_qp, qp, &s->host[i].e->qps, node) {
			REQUIRE(s, qp->unusual == adv_qp_unusual(qp),
				"host %u: qp %06x is unusual by %02x, its summary says %02x", i,
				qp->qpn, adv_qp_unusual(qp), qp->unusual);
		}
	}
}

/* ---- time ---- */

static uint64_t next_of_host(const struct sim *s, const struct host *h)
{
	uint64_t next = adv_fault_queue_due(&h->held), d;

	if (!h->e)
		return next;
	d = adv_engine_deadline(h->e);
	next = d < next ? d : next;
	d = manager_deadline(h);
	next = d < next ? d : next;
	if (adv_engine_tx_ready(h->e)) {
		d = h->link_free_at > s->now ? h->link_free_at : s->now;
		next = d < next ? d : next;
	}
	return next;
}

static void check_engine(struct sim *s, const struct host *h)
{
	const char *broken = adv_engine_check(h->e);

	if (broken)
		violation(s, "%s", broken);
}

static void run_host(struct sim *s, struct host *h)
{
	network_release(h);
	if (!h->e)
		return;
	if (adv_engine_deadline(h->e) <= s->now)
		adv_engine_expire(h->e, s->now);
	manager_expire(h);
	if (adv_engine_tx_ready(h->e) && h->link_free_at <= s->now)
		network_pull(h);
	check_engine(s, h);
}

static void step(struct sim *s)
{
	uint64_t next = s->next_tick;
	struct host *who = NULL;

	for (unsigned i = 0; i < s->host_count; i++) {
		uint64_t d = next_of_host(s, &s->host[i]);

		if (d < next) {
			next = d;
			who = &s->host[i];
		}
	}
	s->total.events++;
	if (s->flights && s->heap[1]->at <= next) {
		network_deliver(s);
	} else {
		s->now = next > s->now ? next : s->now;
		if (who)
			run_host(s, who);
		else
			tick(s);
	}
	check_summaries(s);
	act(s);
}

/* ---- the end ---- */

static bool at_rest(const struct sim *s)
{
	for (unsigned i = 0; i < s->connection_count; i++)
		if (!connection_idle(&s->connection[i]))
			return false;
	return true;
}

/* True if all connections have ended and the connection managers have no further messages. */
static bool is_quiet(const struct sim *s)
{
	for (unsigned i = 0; i < s->connection_count; i++)
		if (s->connection[i].agent[0].id || s->connection[i].agent[1].id)
			return false;
	for (unsigned i = 0; i < s->host_count; i++)
		if (!manager_is_quiet(&s->host[i]))
			return false;
	return true;
}

static void close_world(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++)
		if (s->host[i].e)
			host_poll(&s->host[i], true);
	for (unsigned i = 0; i < s->datagram_count; i++) {
		datagram_close(&s->datagram[i]);
		free(s->datagram[i].log);
	}
	for (unsigned i = 0; i < s->connection_count; i++)
		connection_close(&s->connection[i]);
	for (unsigned i = 0; i < s->host_count; i++)
		if (s->host[i].e)
			host_close(&s->host[i]);
	network_close(s);
}

static void run_world(struct sim *s, const struct run *run)
{
	uint64_t limit;

	draw(s, run);
	open_world(s);
	while (!goal_reached(s))
		step(s);
	s->closing = true;
	limit = s->now + CLOSE_TIME;
	while (!at_rest(s) || s->flights) {
		step(s);
		REQUIRE(s, s->now < limit, "it does not come to an end");
	}
	for (unsigned i = 0; i < s->connection_count; i++)
		connection_leave(&s->connection[i]);
	while (!is_quiet(s) || s->flights) {
		step(s);
		REQUIRE(s, s->now < limit, "its connections do not come to an end");
	}
	close_world(s);
}

void add_totals(struct totals *sum, const struct totals *t)
{
	const uint64_t *from = (const void *)t;
	uint64_t *to = (void *)sum;

	for (unsigned i = 0; i < sizeof(*t) / sizeof(*from); i++)
		to[i] += from[i];
}

bool simulate(const struct run *run, struct totals *sum)
{
	struct sim *s = xcalloc(1, sizeof(*s));
	char text[ADV_FAULT_TEXT_MAX];

	s->seed = run->seed;
	s->trace = run->trace;
	s->no_fast_path = run->no_fast_path;
	s->history = run->history;
	s->now = SEC;
	s->tick = TICK_FIRST;
	for (unsigned i = 0; i < SUBJECTS; i++)
		adv_rng_seed(&s->rng[i], run->seed ^ (uint64_t)(i + 1) << 48);
	if (setjmp(s->failed) == 0) {
		run_world(s, run);
		add_totals(sum, &s->total);
		free(s);
		return true;
	}
	adv_fault_plan_print(&s->plan, text, sizeof(text));
	printf("seed %llu: after %.3f ms: %s\n", (unsigned long long)s->seed,
	       (double)(s->now - SEC) / 1e6, s->why);
	printf("  fingerprint %016llx\n", (unsigned long long)s->fingerprint);
	printf("  %u hosts, %u connections, %u datagram QPs, window %u; plan: %s\n", s->host_count,
	       s->connection_count, s->datagram_count, s->window, text);
	return false;
}
