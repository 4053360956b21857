/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws the system and its network from the seed, before the run. */
#include <stdarg.h>

#include "base/array.h"
#include "base/fnv.h"
#include "sim.h"

#define OPERATIONS 5000
#define BYTES	   (24ull << 20)

/* ---- the network ---- */

static unsigned per_mille_up_to(struct sim *s, unsigned most)
{
	return chance(s, PLAN, 300) ? 0 : (unsigned)below(s, PLAN, most + 1);
}

__attribute__((format(printf, 2, 3))) static void add_rule(struct sim *s, const char *fmt, ...)
{
	size_t n = strlen(s->plan_text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->plan_text + n, sizeof(s->plan_text) - n, fmt, args);
	va_end(args);
}

/* Adds a rule for one kind of packet. */
static void add_targeted(struct sim *s)
{
	static const char *const kinds[] = {"ack",	     "nak",	     "rnr-nak",
					    "read-response", "read-request", "atomic",
					    "request",	     "response",     "send-only",
					    "write-first",   "send-last",    "atomic-acknowledge"};
	const char *kind = kinds[below(s, PLAN, ADV_ARRAY_SIZE(kinds))];
	const char *action = below(s, PLAN, 2) ? "drop" : "duplicate after=2us";

	add_rule(s, "%s op=%s every=%u;", action, kind, 3 + (unsigned)below(s, PLAN, 30));
}

/* Draws loss of up to 10 %, duplication, reordering, corruption and delay. */
static void draw_plan(struct sim *s)
{
	unsigned loss = per_mille_up_to(s, 100), copies = per_mille_up_to(s, 50);
	unsigned late = per_mille_up_to(s, 50), flips = per_mille_up_to(s, 20);
	unsigned jitter = per_mille_up_to(s, 50);

	if (chance(s, PLAN, 100)) {
		add_rule(s, "mark=1%%;");
	} else {
		add_rule(s, "drop=%u.%u%%;corrupt=%u.%u%% bits=3;mark=5%%;", loss / 10, loss % 10,
			 flips / 10, flips % 10);
		add_rule(s, "duplicate=%u.%u%% after=%lluns;", copies / 10, copies % 10,
			 (unsigned long long)below(s, PLAN, 3 * s->latency));
		add_rule(s, "reorder=%u.%u%% by=%u hold=%lluns;", late / 10, late % 10,
			 1 + (unsigned)below(s, PLAN, 8), (unsigned long long)(2 * s->latency));
		add_rule(s, "delay=%lluns jitter=%lluns chance=%u.%u%%;",
			 (unsigned long long)below(s, PLAN, s->latency),
			 (unsigned long long)below(s, PLAN, 3 * s->latency), jitter / 10,
			 jitter % 10);
		if (chance(s, PLAN, 400))
			add_targeted(s);
		if (chance(s, PLAN, 100))
			add_rule(s, "down=%uus every=%u;", 1 + (unsigned)below(s, PLAN, 5000),
				 1000 + (unsigned)below(s, PLAN, 5000));
	}
	s->duplicates = true;
	if (chance(s, PLAN, 50)) {
		add_rule(s, "corrupt=1%% icrc=right bits=%u;", 1 + (unsigned)below(s, PLAN, 8));
		add_rule(s, "corrupt=0.2%% icrc=right length=%+d;",
			 below(s, PLAN, 2) ? (int)below(s, PLAN, 100) + 1
					   : -(int)below(s, PLAN, 100) - 1);
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

/*
 * Draws the latencies. The hosts are the nodes of a tree: each host except the first has a cable to
 * a host that was drawn before it. The latency between two hosts is the sum over the cables between
 * them. The rate of shared cables is not limited.
 */
static void draw_topology(struct sim *s, uint64_t longest)
{
	unsigned parent[SIM_HOSTS] = {0};
	uint64_t cable[SIM_HOSTS] = {0};

	for (unsigned i = 1; i < s->host_count; i++) {
		parent[i] = (unsigned)below(s, NETWORK, i);
		cable[i] = 1 + below(s, NETWORK, longest);
	}
	for (unsigned i = 0; i < s->host_count; i++)
		for (unsigned k = 0; k < s->host_count; k++) {
			unsigned a = i, b = k;
			uint64_t way = 500;

			/* A node is always drawn later than its parent. */
			while (a != b) {
				unsigned *later = a > b ? &a : &b;

				way += cable[*later];
				*later = parent[*later];
			}
			s->way[i][k] = way;
			if (way > s->latency)
				s->latency = way;
		}
}

static void draw_network(struct sim *s)
{
	draw_topology(s, chance(s, NETWORK, 300) ? 100 * US : 3 * US);
	s->ns_per_kib = 8192 / (10 + below(s, NETWORK, 90)); /* 10 to 100 Gbit/s */
	s->extra_delay = 6 * s->latency + 4 * US;
	s->window = 2 + (uint32_t)below(s, NETWORK, 80);
	s->total_window = s->window + (uint32_t)below(s, NETWORK, 3 * s->window);
	s->timeout_ticks = (uint8_t)below(s, NETWORK, 5);
	if (chance(s, DELAYS, 500))
		s->ack_delay = 1 + below(s, DELAYS, 50 * US);
}

static void draw_application(struct sim *s)
{
	s->eager = 50 + (unsigned)below(s, APPLICATION, 950);
	s->willing = 30 + (unsigned)below(s, APPLICATION, 970);
	s->attentive = 50 + (unsigned)below(s, APPLICATION, 950);
	s->trouble = chance(s, APPLICATION, 500) ? 0 : (unsigned)below(s, APPLICATION, 3000);
	s->bad = chance(s, APPLICATION, 600) ? 0 : (unsigned)below(s, APPLICATION, 50);
	s->max_len = 1024u << below(s, APPLICATION, 7);
	if (chance(s, APPLICATION, 30))
		s->max_len = (1u << 20) + (uint32_t)below(s, APPLICATION, 3u << 20);
	if (s->max_len <= 4096 && chance(s, APPLICATION, 200))
		s->connection_count = SIM_CONNECTIONS / 2 +
				      (unsigned)below(s, APPLICATION, SIM_CONNECTIONS / 2 + 1);
	if (s->max_len > 65536) {
		s->connection_count = 1 + (unsigned)below(s, APPLICATION, 2);
		s->window = 32 + (uint32_t)below(s, APPLICATION, 64);
		s->total_window = 2 * s->window;
	}
}

/* Draws a timeout longer than a round trip through full queues. */
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
	c->type = types[below(s, SHAPES, 5)];
	for (unsigned i = 0; i < 2; i++) {
		c->host[i] = &s->host[below(s, SHAPES, s->host_count)];
		c->depth[i] = 1 + (uint8_t)below(s, SHAPES, 16);
		c->use_srq[i] = chance(s, SHAPES, 300);
	}
	c->mtu = (enum ibv_mtu)(IBV_MTU_256 + below(s, SHAPES, 5));
	if (large)
		c->mtu = IBV_MTU_4096;
	c->timeout = shortest_timeout(s, adv_mtu_bytes(c->mtu)) + (uint8_t)below(s, SHAPES, 3);
	c->retry_cnt = chance(s, SHAPES, 700) ? 7 : (uint8_t)below(s, SHAPES, 8);
	c->rnr_retry = chance(s, SHAPES, 700) ? 7 : (uint8_t)below(s, SHAPES, 8);
	c->min_rnr_timer = 1 + (uint8_t)below(s, SHAPES, 12);
	c->cap.max_send_wr = large ? 4 : 1u << (1 + below(s, SHAPES, 6));
	c->cap.max_recv_wr = large ? 4 : 1u << below(s, SHAPES, 6);
	c->cap.max_send_sge = 1 + (uint32_t)below(s, SHAPES, 32);
	c->cap.max_recv_sge = 1 + (uint32_t)below(s, SHAPES, 32);
	c->cap.max_inline_data = (uint32_t)below(s, SHAPES, ADV_MAX_INLINE + 1);
	c->sig_all = chance(s, SHAPES, 300);
	c->ipv4 = chance(s, SHAPES, 500);
	c->patience = 4 * (c->retry_cnt + 2ull) * ticks * (4096ull << c->timeout) + 2 * SEC;
}

/* Draws subjects that only some seeds have, each from its own stream, without effect on the others.
 */
static void draw_subjects(struct sim *s)
{
	s->managed = chance(s, MANAGER, 300);
	s->windows = chance(s, WINDOWS, 400);
	s->withdraws = chance(s, WITHDRAWING, 300);
	s->overruns = chance(s, OVERRUNS, 150);
	s->groups = chance(s, GROUPS, 500);
	longs_draw(s);
	for (unsigned i = 0; i < s->connection_count; i++) {
		struct connection *c = &s->connection[i];

		if (c->type != IBV_QPT_XRC_SEND && chance(s, LOOPS, 80)) {
			c->self = true;
			c->host[1] = c->host[0];
			c->depth[1] = c->depth[0];
		}
		c->managed = s->managed && !s->chaos && !s->injects && !c->self &&
			     c->type != IBV_QPT_XRC_SEND;
		c->windows = s->windows && c->type == IBV_QPT_RC;
	}
}

static void mix(struct sim *s, uint64_t value)
{
	s->fingerprint = adv_fnv_add(s->fingerprint, value);
}

/* Computes a hash of all draws. If a draw changes, the fingerprints in the corpus do not match. */
static void take_fingerprint(struct sim *s)
{
	s->fingerprint = ADV_FNV_BASIS;
	for (const char *p = s->plan_text; *p; p++)
		mix(s, (uint8_t)*p);
	mix(s, s->host_count << 16 | s->connection_count << 8 | s->datagram_count);
	mix(s, (uint64_t)s->window << 32 | s->total_window);
	mix(s, s->latency << 8 | s->timeout_ticks);
	mix(s, (uint64_t)s->eager << 32 | s->willing << 16 | s->attentive);
	mix(s, (uint64_t)s->trouble << 32 | s->bad << 16 | s->max_len);
	mix(s,
	    s->managed << 4 | s->windows << 3 | s->withdraws << 2 | s->overruns << 1 | s->groups);
	for (unsigned i = 0; i < s->connection_count; i++) {
		const struct connection *c = &s->connection[i];

		mix(s, c->type << 24 | c->mtu << 16 | c->timeout << 8 | c->retry_cnt);
		mix(s, c->depth[0] << 24 | c->depth[1] << 16 | c->rnr_retry << 8 | c->self);
		mix(s, (uint64_t)c->cap.max_send_wr << 32 | c->cap.max_inline_data);
		mix(s, c->host[0]->index << 8 | c->host[1]->index);
	}
	/* Subjects that were added later count only for seeds that have them. The fingerprints of
	 * other seeds do not change. */
	if (s->ack_delay)
		mix(s, s->ack_delay);
	if (s->longs)
		mix(s, (uint64_t)s->away_min << 32 | s->copy_most << 10 | s->unreadable);
}

void draw(struct sim *s, const struct run *run)
{
	struct adv_fault_error error;

	s->host_count = 1 + (unsigned)below(s, WORLD, SIM_HOSTS);
	s->connection_count = 1 + (unsigned)below(s, WORLD, SIM_CONNECTIONS / 2);
	s->datagram_count =
		chance(s, WORLD, 600) ? 0 : 1 + (unsigned)below(s, WORLD, SIM_DATAGRAMS);
	draw_network(s);
	draw_application(s);
	draw_plan(s);
	if (run->plan) {
		s->plan = *run->plan;
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
	s->goal = run->operations ? run->operations : OPERATIONS;
	s->byte_goal = BYTES * s->goal / OPERATIONS;
	for (unsigned i = 0; i < s->host_count; i++)
		s->host[i].index = i;
	for (unsigned i = 0; i < s->connection_count; i++)
		draw_connection(s, &s->connection[i]);
	draw_subjects(s);
	take_fingerprint(s);
	REQUIRE(s, !run->fingerprint || run->fingerprint == s->fingerprint,
		"it draws something else than when it was noted as %016llx: note another seed that "
		"shows the same, see tests/mutants/run",
		(unsigned long long)run->fingerprint);
}
