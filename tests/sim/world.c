/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is drawn from the seed, the loop over events, and the end. */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"

#define TICK_FIRST (5 * US)
#define TICK_LAST  MS
#define OPERATIONS 5000
#define BYTES	   (24ull << 20)
#define CLOSE_TIME (200 * SEC) /* virtual */

void violation(struct sim *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
	longjmp(s->failed, 1);
}

/* ---- drawing ---- */

static unsigned per_mille_up_to(struct sim *s, unsigned most)
{
	return chance(s, 300) ? 0 : (unsigned)below(s, most + 1);
}

__attribute__((format(printf, 2, 3))) static void add_rule(struct sim *s, const char *fmt, ...)
{
	size_t n = strlen(s->plan_text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->plan_text + n, sizeof(s->plan_text) - n, fmt, args);
	va_end(args);
}

/* A rule that goes for one kind of packet. */
static void add_targeted(struct sim *s)
{
	static const char *const kinds[] = {"ack",	     "nak",	     "rnr-nak",
					    "read-response", "read-request", "atomic",
					    "request",	     "response",     "send-only",
					    "write-first",   "send-last",    "atomic-acknowledge"};
	const char *kind = kinds[below(s, sizeof(kinds) / sizeof(kinds[0]))];
	const char *action = below(s, 2) ? "drop" : "duplicate after=2us";

	add_rule(s, "%s op=%s every=%u;", action, kind, 3 + (unsigned)below(s, 30));
}

/* Loss up to 10 %, with all else that networks do. */
static void draw_plan(struct sim *s)
{
	unsigned loss = per_mille_up_to(s, 100), copies = per_mille_up_to(s, 50);
	unsigned late = per_mille_up_to(s, 50), flips = per_mille_up_to(s, 20);
	unsigned jitter = per_mille_up_to(s, 50);

	if (chance(s, 100)) {
		add_rule(s, "mark=1%%;");
	} else {
		add_rule(s, "drop=%u.%u%%;corrupt=%u.%u%% bits=3;mark=5%%;", loss / 10, loss % 10,
			 flips / 10, flips % 10);
		add_rule(s, "duplicate=%u.%u%% after=%lluns;", copies / 10, copies % 10,
			 (unsigned long long)below(s, 3 * s->latency));
		add_rule(s, "reorder=%u.%u%% by=%u hold=%lluns;", late / 10, late % 10,
			 1 + (unsigned)below(s, 8), (unsigned long long)(2 * s->latency));
		add_rule(s, "delay=%lluns jitter=%lluns chance=%u.%u%%;",
			 (unsigned long long)below(s, s->latency),
			 (unsigned long long)below(s, 3 * s->latency), jitter / 10, jitter % 10);
		if (chance(s, 400))
			add_targeted(s);
		if (chance(s, 100))
			add_rule(s, "down=%uus every=%u;", 1 + (unsigned)below(s, 5000),
				 1000 + (unsigned)below(s, 5000));
	}
	s->duplicates = true;
	if (chance(s, 50)) {
		add_rule(s, "corrupt=1%% icrc=right bits=%u;", 1 + (unsigned)below(s, 8));
		add_rule(s, "corrupt=0.2%% icrc=right length=%+d;",
			 below(s, 2) ? (int)below(s, 100) + 1 : -(int)below(s, 100) - 1);
	}
}

static bool alters_packets(const struct adv_fault_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->rule[i].icrc_right)
			return true;
	return false;
}

static bool injects_errors(const struct adv_fault_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (1u << plan->rule[i].action & ADV_FAULT_OF_WORK)
			return true;
	return false;
}

static void draw_network(struct sim *s)
{
	s->latency = 500 + below(s, chance(s, 300) ? 200 * US : 5 * US);
	s->ns_per_kib = 8192 / (10 + below(s, 90)); /* 10 to 100 Gbit/s */
	s->extra_delay = 6 * s->latency + 4 * US;
	s->window = 2 + (uint32_t)below(s, 80);
	s->total_window = s->window + (uint32_t)below(s, 3 * s->window);
	s->timeout_ticks = (uint8_t)below(s, 5);
}

static void draw_application(struct sim *s)
{
	s->eager = 50 + (unsigned)below(s, 950);
	s->willing = 30 + (unsigned)below(s, 970);
	s->attentive = 50 + (unsigned)below(s, 950);
	s->trouble = chance(s, 500) ? 0 : (unsigned)below(s, 3000);
	s->bad = chance(s, 600) ? 0 : (unsigned)below(s, 50);
	s->max_len = 1024u << below(s, 7);
	if (chance(s, 30))
		s->max_len = (1u << 20) + (uint32_t)below(s, 3u << 20);
	if (s->max_len > 65536) {
		s->connection_count = 1 + (unsigned)below(s, 2);
		s->window = 32 + (uint32_t)below(s, 64);
		s->total_window = 2 * s->window;
	}
}

/* Long enough that a round trip through full queues is no timeout. */
static uint8_t shortest_timeout(const struct sim *s, uint32_t mtu)
{
	uint64_t queue = (uint64_t)s->host_count * (s->total_window + 64) * (mtu + 100) *
			 s->ns_per_kib / 1024;
	uint64_t round_trip = 2 * (s->latency + s->extra_delay + 2 * queue) + 50 * US;
	uint8_t t = 1;

	while (4096ull << t < 2 * round_trip)
		t++;
	return t;
}

static void draw_connection(struct sim *s, struct connection *c)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC,
						 IBV_QPT_XRC_SEND};
	bool large = s->max_len > 65536;
	unsigned ticks = s->timeout_ticks ? s->timeout_ticks : 1;

	c->sim = s;
	c->type = types[below(s, 5)];
	for (unsigned i = 0; i < 2; i++) {
		c->host[i] = &s->host[below(s, s->host_count)];
		c->depth[i] = 1 + (uint8_t)below(s, 16);
		c->use_srq[i] = chance(s, 300);
	}
	c->mtu = (enum ibv_mtu)(IBV_MTU_256 + below(s, 5));
	if (large)
		c->mtu = IBV_MTU_4096;
	c->timeout = shortest_timeout(s, adv_mtu_bytes(c->mtu)) + (uint8_t)below(s, 3);
	c->retry_cnt = chance(s, 700) ? 7 : (uint8_t)below(s, 8);
	c->rnr_retry = chance(s, 700) ? 7 : (uint8_t)below(s, 8);
	c->min_rnr_timer = 1 + (uint8_t)below(s, 12);
	c->cap.max_send_wr = large ? 4 : 1u << (1 + below(s, 6));
	c->cap.max_recv_wr = large ? 4 : 1u << below(s, 6);
	c->cap.max_send_sge = 1 + (uint32_t)below(s, 32);
	c->cap.max_recv_sge = 1 + (uint32_t)below(s, 32);
	c->cap.max_inline_data = (uint32_t)below(s, 512);
	c->sig_all = chance(s, 300);
	c->ipv4 = chance(s, 500);
	c->patience = 4 * (c->retry_cnt + 2ull) * ticks * (4096ull << c->timeout) + 2 * SEC;
}

static void draw(struct sim *s, uint64_t operations, const struct adv_fault_plan *plan)
{
	struct adv_fault_error error;

	s->host_count = 1 + (unsigned)below(s, SIM_HOSTS);
	s->connection_count = 1 + (unsigned)below(s, SIM_CONNECTIONS);
	s->datagram_count = chance(s, 600) ? 0 : 1 + (unsigned)below(s, SIM_DATAGRAMS);
	draw_network(s);
	draw_application(s);
	draw_plan(s);
	if (plan) {
		s->plan = *plan;
	} else if (!adv_fault_plan_parse(&s->plan, s->plan_text, strlen(s->plan_text), &error)) {
		violation(s, "the plan '%s': %s", s->plan_text, error.text);
	}
	if (!s->plan.has_seed) {
		s->plan.has_seed = true;
		s->plan.seed = s->seed;
	}
	s->chaos = alters_packets(&s->plan);
	s->injects = injects_errors(&s->plan);
	if (s->chaos || s->injects)
		s->datagram_count = 0;
	s->goal = operations ? operations : OPERATIONS;
	s->byte_goal = BYTES * s->goal / OPERATIONS;
}

static void open_world(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++) {
		struct adv_fault_plan plan = s->plan;
		struct host *h = &s->host[i];

		h->sim = s;
		h->index = i;
		plan.seed += i;
		adv_fault_queue_init(&h->held);
		adv_fault_begin(&h->fault, &plan, s->now);
		host_open(h);
	}
	for (unsigned i = 0; i < s->connection_count; i++) {
		struct connection *c = &s->connection[i];

		c->index = i;
		draw_connection(s, c);
		connection_open(c);
	}
	for (unsigned i = 0; i < s->datagram_count; i++) {
		struct datagram *d = &s->datagram[i];

		d->sim = s;
		d->index = i;
		d->end.host = &s->host[below(s, s->host_count)];
		d->end.side = 0;
	}
	/* Each makes handles for all. */
	for (unsigned i = 0; i < s->datagram_count; i++)
		datagram_open(&s->datagram[i]);
}

/* ---- what applications do ---- */

static bool goal_reached(const struct sim *s)
{
	return s->total.posted >= s->goal || s->bytes_posted >= s->byte_goal;
}

static void post_some(struct sim *s)
{
	struct connection *c = &s->connection[below(s, s->connection_count)];

	if (goal_reached(s))
		return;
	for (unsigned i = 0; i < c->streams; i++)
		while (chance(s, s->eager) && request_post(&c->stream[i]))
			;
	if (s->datagram_count && chance(s, s->eager / 2))
		datagram_post(&s->datagram[below(s, s->datagram_count)]);
}

static void post_receives(struct sim *s, unsigned per_mille)
{
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct end *end = &s->connection[i].end[k];

			if (end->pool && end->host->e && chance(s, per_mille))
				pool_post(end->pool, 1 + (unsigned)below(s, 8));
		}
	for (unsigned i = 0; i < s->datagram_count; i++)
		if (s->datagram[i].end.qp && chance(s, per_mille))
			pool_post(s->datagram[i].pool, 4);
}

/* Looks that an application takes now and then, whatever the network does. */
static void tick(struct sim *s)
{
	uint64_t before = s->total.posted + s->total.operations + s->total.received;

	for (unsigned i = 0; i < s->host_count; i++) {
		struct host *h = &s->host[i];

		if (h->e) {
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
	post_receives(s, s->willing);
	post_some(s);
	if (before != s->total.posted + s->total.operations + s->total.received)
		s->tick = TICK_FIRST;
	else if (s->tick < TICK_LAST)
		s->tick += s->tick / 2;
	s->next_tick = s->now + s->tick;
}

/* After each event. */
static void act(struct sim *s)
{
	for (unsigned i = 0; i < s->host_count; i++) {
		struct host *h = &s->host[i];

		if (!h->e)
			continue;
		host_events(h);
		if (chance(s, s->attentive))
			host_poll(h, false);
	}
	if (chance(s, s->eager))
		post_some(s);
	if (chance(s, s->willing / 4))
		post_receives(s, s->willing);
	trouble(s);
}

/* ---- time ---- */

static uint64_t next_of_host(const struct sim *s, const struct host *h)
{
	uint64_t next = adv_fault_queue_due(&h->held), d;

	if (!h->e)
		return next;
	d = adv_engine_deadline(h->e);
	next = d < next ? d : next;
	if (adv_engine_tx_ready(h->e)) {
		d = h->link_free_at > s->now ? h->link_free_at : s->now;
		next = d < next ? d : next;
	}
	return next;
}

static void run_host(struct sim *s, struct host *h)
{
	network_release(h);
	if (!h->e)
		return;
	if (adv_engine_deadline(h->e) <= s->now)
		adv_engine_expire(h->e, s->now);
	if (adv_engine_tx_ready(h->e) && h->link_free_at <= s->now)
		network_pull(h);
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

static void run(struct sim *s, uint64_t operations, const struct adv_fault_plan *plan)
{
	uint64_t limit;

	draw(s, operations, plan);
	open_world(s);
	while (!goal_reached(s))
		step(s);
	s->closing = true;
	limit = s->now + CLOSE_TIME;
	while (!at_rest(s) || s->flights) {
		step(s);
		REQUIRE(s, s->now < limit, "it does not come to an end");
	}
	close_world(s);
}

static void add_totals(struct totals *sum, const struct totals *t)
{
	const uint64_t *from = (const void *)t;
	uint64_t *to = (void *)sum;

	for (unsigned i = 0; i < sizeof(*t) / sizeof(*from); i++)
		to[i] += from[i];
}

bool simulate(uint64_t seed, bool trace, uint64_t operations, const struct adv_fault_plan *plan,
	      struct totals *sum)
{
	struct sim *s = xcalloc(1, sizeof(*s));
	char text[ADV_FAULT_TEXT_MAX];

	s->seed = seed;
	s->trace = trace;
	s->now = SEC;
	s->tick = TICK_FIRST;
	adv_rng_seed(&s->rng, seed);
	if (setjmp(s->failed) == 0) {
		run(s, operations, plan);
		add_totals(sum, &s->total);
		free(s);
		return true;
	}
	adv_fault_plan_print(&s->plan, text, sizeof(text));
	printf("seed %llu: after %.3f ms: %s\n", (unsigned long long)seed,
	       (double)(s->now - SEC) / 1e6, s->why);
	printf("  %u hosts, %u connections, %u datagram QPs, window %u; plan: %s\n", s->host_count,
	       s->connection_count, s->datagram_count, s->window, text);
	return false;
}
