/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the deadlock planner: cyclic buffer dependencies of routed topologies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/plan/deadlock.h"

struct plan {
	struct adv_plan_topology *t;
	struct adv_plan_deadlock *d;
};

/* True if the dependencies without the reported turns have a cycle. Removes the dependencies of
 * buffers for which no buffer waits, until none is removed. */
static bool has_cycle(const struct plan *p)
{
	const struct adv_plan_deadlock *d = p->d;
	bool *gone = calloc(d->dependencies + 1, sizeof(*gone)), changed = true, left = false;
	uint8_t *waited = malloc(16 * (size_t)p->t->links + 1);

	assert_true(gone && waited);
	for (uint32_t i = 0; i < d->turns; i++)
		gone[d->turn[i]] = true;
	while (changed) {
		changed = left = false;
		memset(waited, 0, 16 * (size_t)p->t->links);
		for (uint32_t i = 0; i < d->dependencies; i++)
			if (!gone[i])
				waited[d->dependency[i].to] = 1;
		for (uint32_t i = 0; i < d->dependencies; i++) {
			if (gone[i])
				continue;
			left = true;
			if (!waited[d->dependency[i].from])
				gone[i] = changed = true;
		}
	}
	free(gone);
	free(waited);
	return left;
}

/* Checks that the cycle closes, and that the two links of each dependency follow each other. */
static void check(const struct plan *p)
{
	const struct adv_plan_deadlock *d = p->d;

	for (uint32_t i = 0; i < d->cycle_length; i++) {
		const struct adv_plan_dependency *e = &d->dependency[d->cycle[i]];
		const struct adv_plan_dependency *next =
			&d->dependency[d->cycle[(i + 1) % d->cycle_length]];

		assert_int_equal(e->to, next->from);
		assert_int_equal(e->from % 8, e->to % 8);
		assert_int_equal(adv_plan_to(p->t, e->from / 8), adv_plan_from(p->t, e->to / 8));
		assert_true(p->t->node[adv_plan_to(p->t, e->to / 8)].is_switch);
		assert_true(e->flows > 0);
	}
	assert_int_equal(d->turns == 0, d->cycle_length == 0);
	if (d->turns_whole)
		assert_false(has_cycle(p));
}

static struct plan plan(const char *text)
{
	struct adv_plan_error error;
	struct plan p = {.t = adv_plan_topology_parse(text, strlen(text), &error)};

	if (p.t)
		p.d = adv_plan_deadlock(p.t, &error);
	if (!p.d)
		fail_msg("line %u: %s", error.line, error.text);
	check(&p);
	return p;
}

static void end(struct plan *p)
{
	adv_plan_deadlock_free(p->d);
	adv_plan_topology_free(p->t);
}

/* Four switches in a ring. Each host sends two hops clockwise. */
#define RING                                                                                       \
	"host h1 h2 h3 h4\nswitch s1 s2 s3 s4\n"                                                   \
	"link h1 s1\nlink h2 s2\nlink h3 s3\nlink h4 s4\n"                                         \
	"link s1 s2\nlink s2 s3\nlink s3 s4\nlink s4 s1\n"

static void test_ring(void **state)
{
	struct plan p = plan(RING "route h1 s1 s2 s3 h3\nroute h2 s2 s3 s4 h4\n"
				  "route h3 s3 s4 s1 h1\nroute h4 s4 s1 s2 h2\n");

	assert_int_equal(p.d->cycle_length, 4);
	assert_int_equal(p.d->dependencies, 8); /* s1 waits for s2, s2 for s3, and so on */
	assert_int_equal(p.d->buffers, 8);	/* four from hosts, four between switches */
	assert_int_equal(p.d->turns, 1);
	assert_true(p.d->turns_whole);
	assert_true(p.d->updown_helps);
	end(&p);
}

/* If one host of the ring sends one hop only, the dependencies are a chain without a cycle. */
static void test_ring_that_is_open(void **state)
{
	struct plan p = plan(RING "route h1 s1 s2 s3 h3\nroute h2 s2 s3 s4 h4\n"
				  "route h3 s3 s4 s1 h1\nroute h4 s4 s1 h1\n");

	assert_int_equal(p.d->cycle_length, 0);
	end(&p);
	p = plan(RING "routing = updown");
	assert_int_equal(p.d->cycle_length, 0);
	end(&p);
	/* Shortest paths of all pairs use both directions. */
	p = plan(RING "routing = shortest");
	assert_int_equal(p.d->cycle_length, 4);
	assert_int_equal(p.d->turns, 2);
	end(&p);
}

/* Dependencies of two priorities do not form a common cycle. */
static void test_priorities_are_apart(void **state)
{
	struct plan p =
		plan(RING "route h1 s1 s2 s3 h3\nroute h2 s2 s3 s4 h4\n"
			  "route h3 s3 s4 s1 h1 priority=4\nroute h4 s4 s1 s2 h2 priority=4\n");

	assert_int_equal(p.d->cycle_length, 0);
	end(&p);
}

#define LEAF_SPINE                                                                                 \
	"host h1 h2 h3\nswitch leaf1 leaf2 leaf3\nswitch spine1 spine2\n"                          \
	"link h1 leaf1\nlink h2 leaf2\nlink h3 leaf3\n"                                            \
	"link leaf1 spine1\nlink leaf1 spine2\nlink leaf2 spine1\nlink leaf2 spine2\n"             \
	"link leaf3 spine1\nlink leaf3 spine2\n"

static void test_leaf_spine(void **state)
{
	struct plan p = plan(LEAF_SPINE "routing = shortest");
	uint32_t dependencies = p.d->dependencies;

	assert_int_equal(p.d->cycle_length, 0);
	/* 3 hosts x 2 spines, and 2 spines x 3 leaves x 2 others */
	assert_int_equal(dependencies, 6 + 12);
	assert_int_equal(p.d->buffers, 3 + 6 + 6);
	end(&p);
	p = plan(LEAF_SPINE "routing = updown");
	assert_int_equal(p.d->cycle_length, 0);
	assert_int_equal(p.d->dependencies, dependencies);
	end(&p);
	/* A flow with a route uses no other path. Without the route, only h1 to h2 goes from leaf1
	 * to leaf2 by spine2. */
	p = plan(LEAF_SPINE "routing = shortest\nroute h1 leaf1 spine1 leaf2 h2");
	assert_int_equal(p.d->dependencies, dependencies - 1);
	end(&p);
}

/* Two flows that go down to a leaf and up again form a cycle, as can occur after failed links:
 * spine1, leaf2, spine2, and spine2, leaf1, spine1. */
static void test_bounce(void **state)
{
	struct plan p = plan(LEAF_SPINE "routing = updown\n"
					"route h1 leaf1 spine1 leaf2 spine2 leaf3 h3\n"
					"route h2 leaf2 spine2 leaf1 spine1 leaf3 h3\n");
	const struct adv_plan_dependency *turn;

	assert_int_equal(p.d->cycle_length, 4); /* spine1 leaf2 spine2 leaf1 */
	assert_true(p.d->updown_helps);
	assert_int_equal(p.d->turns, 1);
	turn = &p.d->dependency[p.d->turn[0]];
	assert_int_equal(turn->flows, 1); /* the detour, not an up-down flow */
	assert_in_range(turn->example[0].line, 13, 14);
	end(&p);
	/* One detour alone is not a cycle. */
	p = plan(LEAF_SPINE "routing = updown\nroute h1 leaf1 spine1 leaf2 spine2 leaf3 h3\n");
	assert_int_equal(p.d->cycle_length, 0);
	end(&p);
}

static void test_parallel_links(void **state)
{
	struct plan p = plan("host h1 h2\nswitch s1 s2\nlink h1 s1\nlink s1 s2\nlink s1 s2\n"
			     "link s1 s2 down\nlink s2 h2\nrouting = shortest\n");

	assert_int_equal(p.d->dependencies, 4); /* both directions over both spines */
	end(&p);
	p = plan("host h1 h2\nswitch s1 s2\nlink h1 s1\nlink s1 s2\nlink s1 s2\nlink s2 h2\n"
		 "route h1 s1 s2 h2");
	assert_int_equal(p.d->dependencies, 2);
	end(&p);
}

static void refused(const char *text, uint32_t line, const char *part)
{
	struct adv_plan_error error;
	struct adv_plan_topology *t = adv_plan_topology_parse(text, strlen(text), &error);

	assert_non_null(t);
	assert_null(adv_plan_deadlock(t, &error));
	assert_non_null(strstr(error.text, part));
	assert_int_equal(error.line, line);
	adv_plan_topology_free(t);
}

static void test_no_path(void **state)
{
	/* s2 is below both other switches, so no up-down path leads through it. */
	static const char line[] = "host h1 h3\nswitch s1 s3 level=2\nswitch s2 level=1\n"
				   "link h1 s1\nlink s1 s2\nlink s2 s3\nlink s3 h3\n";
	char text[400];
	struct plan p;

	refused("host h1 h2\nswitch s1 s2\nlink h1 s1\nlink h2 s2\nrouting=shortest\nflow h1 h2", 6,
		"no path from h1 to h2");
	snprintf(text, sizeof(text), "%srouting = updown", line);
	refused(text, 0, "no up-down path from h3 to h1");
	snprintf(text, sizeof(text), "%srouting = updown\nroot = s2", line);
	p = plan(text);
	assert_int_equal(p.d->cycle_length, 0);
	end(&p);
	/* Hosts do not forward. */
	refused("host a b c\nswitch s1 s2\nlink a s1\nlink s1 b\nlink b s2\nlink s2 c\n"
		"routing=shortest\nflow a c",
		8, "no path from a to c");
}

/* In random graphs, up-down paths never have a cycle. If shortest paths have a cycle, they have
 * none without the reported turns. */
static void test_random(void **state)
{
	unsigned cycles = 0, tried = 0;
	struct adv_rng rng;

	adv_rng_seed(&rng, 11);
	for (unsigned run = 0; run < 400; run++) {
		unsigned switches = 3 + (unsigned)adv_rng_below(&rng, 8);
		char body[4096], text[4200];
		struct plan p;
		size_t n = 0;

		for (unsigned i = 0; i < switches; i++)
			n += (size_t)snprintf(body + n, sizeof(body) - n,
					      "host h%u\nswitch s%u\nlink h%u s%u\n", i, i, i, i);
		for (unsigned i = 1; i < switches; i++) /* makes a tree and further links */
			n += (size_t)snprintf(body + n, sizeof(body) - n, "link s%u s%u\n", i,
					      (unsigned)adv_rng_below(&rng, i));
		for (unsigned i = 0; i < switches; i++) {
			unsigned a = (unsigned)adv_rng_below(&rng, switches);

			n += (size_t)snprintf(
				body + n, sizeof(body) - n, "link s%u s%u\n", a,
				(a + 1 + (unsigned)adv_rng_below(&rng, switches - 1)) % switches);
		}
		snprintf(text, sizeof(text), "%srouting = updown\nroot = s%u", body,
			 (unsigned)adv_rng_below(&rng, switches));
		p = plan(text);
		assert_int_equal(p.d->cycle_length, 0);
		end(&p);
		snprintf(text, sizeof(text), "%srouting = shortest", body);
		p = plan(text);
		cycles += p.d->cycle_length > 0;
		assert_true(p.d->turns_whole);
		tried++;
		end(&p);
	}
	print_message("%u of %u random networks have a cycle with shortest paths\n", cycles, tried);
	assert_in_range(cycles, 20, 380);
}

/* Returns the plan of a network of `count` separate rings. */
static struct plan rings(unsigned count)
{
	char *text = malloc(count * 400 + 1), *at = text;
	struct plan p;

	assert_non_null(text);
	for (unsigned i = 0; i < count; i++)
		at += sprintf(at,
			      "host a%u b%u c%u\nswitch s%u t%u u%u\n"
			      "link a%u s%u\nlink b%u t%u\nlink c%u u%u\n"
			      "link s%u t%u\nlink t%u u%u\nlink u%u s%u\n",
			      i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
	for (unsigned i = 0; i < count; i++)
		at += sprintf(at,
			      "route a%u s%u t%u u%u c%u\nroute b%u t%u u%u s%u a%u\n"
			      "route c%u u%u s%u t%u b%u\n",
			      i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
	p = plan(text);
	free(text);
	return p;
}

/* All turns of up to ADV_PLAN_TURNS_MAX separate rings are reported. */
static void test_many_turns(void **state)
{
	struct plan p = rings(ADV_PLAN_TURNS_MAX);

	assert_int_equal(p.d->turns, ADV_PLAN_TURNS_MAX);
	assert_true(p.d->turns_whole);
	end(&p);
	p = rings(ADV_PLAN_TURNS_MAX + 1);
	assert_int_equal(p.d->turns, ADV_PLAN_TURNS_MAX);
	assert_false(p.d->turns_whole);
	assert_true(has_cycle(&p));
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_ring_that_is_open),
		cmocka_unit_test(test_priorities_are_apart),
		cmocka_unit_test(test_leaf_spine),
		cmocka_unit_test(test_bounce),
		cmocka_unit_test(test_parallel_links),
		cmocka_unit_test(test_no_path),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many_turns),
	};

	return cmocka_run_group_tests_name("plan deadlock", tests, NULL, NULL);
}
