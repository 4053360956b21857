/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GOAL files: when their operations start and end, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "run.h"

#define RANKS "num_ranks 2\n"

static bool build(struct run *r, const char *goal, char *why)
{
	static const char scenario[] = "[network]\ntopology = incast\nsenders = 2\ncable = 100m\n"
				       "[host]\ncongestion-control = none\n";

	assert_true(adv_scenario_read(&r->s, "x.ini", scenario, sizeof(scenario) - 1, why));
	return adv_scenario_trace(&r->s, "x.goal", goal, strlen(goal), why) &&
	       adv_scenario_build(&r->s, &r->t, &r->f, why);
}

static void open_goal(struct run *r, const char *goal)
{
	char why[ADV_SCENARIO_WHY] = "";

	if (!build(r, goal, why))
		fail_msg("%s", why);
}

/* Returns the n-th transfer, in the order in which they were made. */
static const struct adv_fabric_transfer_state *transfer(const struct run *r, unsigned n)
{
	const struct adv_fabric_transfer_state *t;

	for (uint32_t i = 0;; i++) {
		t = adv_fabric_get_transfer(r->f, i);
		if (t->connection != ADV_FABRIC_COMPUTATION && n-- == 0)
			return t;
	}
}

/* Returns the time of a WRITE of one packet over two cables of 100 m. */
static uint64_t packet(uint64_t payload)
{
	return 2 * (80 * RUN_FIRST(payload) + 500 * NS);
}

/* An answer starts when the request has arrived and the computation has ended. */
static void test_request_and_answer(void **state)
{
	struct run r;

	open_goal(&r,
		  "// a comment\n" RANKS "rank 0 {\n l1: send 1000b to 1 tag 7 cpu 0\n"
		  " l2: recv 2000b from 1\n l2 requires l1\n l3: calc 5000\n l3 requires l2\n}\n"
		  "rank 1 {\n a: recv 1000b from 0 tag 7\n b: calc 3000\n"
		  " c: send 2000b to 0\n b requires a\n c requires b\n}\n");
	run_to_end(&r);
	assert_int_equal(transfer(&r, 0)->start, 0);
	assert_int_equal(transfer(&r, 1)->start, packet(1000) + 3000 * NS);
	assert_int_equal(adv_fabric_now(r.f), packet(1000) + 3000 * NS + packet(2000) + 5000 * NS);
	run_close(&r);
}

/* `irequires` waits for the start of an operation, `requires` for its end. */
static void test_start_and_end(void **state)
{
	for (unsigned start = 0; start < 2; start++) {
		char goal[512];
		struct run r;

		snprintf(goal, sizeof(goal),
			 RANKS "rank 0 {\nw: calc 1000\nx: calc 5000\nx requires w\n"
			       "s: send 1b to 1\ns %srequires x\n}\nrank 1 {\nrecv 1b from 0\n}\n",
			 start ? "i" : "");
		open_goal(&r, goal);
		run_to_end(&r);
		assert_int_equal(transfer(&r, 0)->start, start ? 1000 * NS : 6000 * NS);
		run_close(&r);
	}
}

/* Messages of one tag match in order; different tags match whatever their order. */
static void test_matching(void **state)
{
	struct run r;

	open_goal(&r, RANKS "rank 0 {\nsend 100b to 1 tag 1\nsend 200b to 1 tag 2\n"
			    "send 300b to 1 tag 1\nsend 0b to 1 tag 3\n}\n"
			    "rank 1 {\na: recv 200b from 0 tag 2\nb: recv 100b from 0 tag 1\n"
			    "c: recv 300b from 0 tag 1\nrecv 0b from 0 tag 3\n}\n");
	run_to_end(&r);
	assert_int_equal(transfer(&r, 0)->bytes, 100);
	assert_int_equal(transfer(&r, 1)->bytes, 200);
	assert_int_equal(transfer(&r, 2)->bytes, 300);
	assert_int_equal(transfer(&r, 3)->bytes, 1);
	run_close(&r);
}

static void test_errors(void **state)
{
	static const char *const cases[][2] = {
		{"num_ranks 0\n", "x.goal:1: 'num_ranks 0': expected num_ranks, from 1"},
		{RANKS, "x.goal: no operation"},
		{RANKS "rank 2 {\n", "x.goal:2: 'rank 2 {': expected rank N {"},
		{RANKS "rank 0 {\ncalc 1\n", "expected } at the end of the rank"},
		{RANKS "rank 0 {\ncalc -1\n}\n", "x.goal:3: 'calc -1': expected send"},
		{RANKS "rank 0 {\nsend 5 to 1\n}\n", "x.goal:3: 'send 5 to 1': expected send"},
		{RANKS "rank 0 {\nsend 5b to 2\n}\n", "x.goal:3: 'send 5b to 2': expected send"},
		{RANKS "rank 0 {\nsend 5b to 0\n}\n", "a host does not send to itself"},
		{RANKS "rank 0 {\na: calc 1\na: calc 1\n}\n",
		 "a label that the rank does not have"},
		{RANKS "rank 0 {\na: calc 1\na requires b\n}\n", "labels of operations above it"},
		{RANKS "rank 0 {\na requires b\n}\n", "labels of operations above it"},
		{RANKS "rank 0 {\na: calc 1\na needs a\n}\n", "`requires` or `irequires`"},
		{RANKS "rank 0 {\na: calc 1\na requires a\n}\n",
		 "x.goal:3: the operation waits for itself"},
		/* The first operation waits for a cycle, and is not in it. */
		{RANKS "rank 0 {\na: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\na requires b\n"
		       "b requires d\nd requires c\nc requires b\n}\n",
		 "x.goal:4: the operation waits for itself, by lines 6, 5"},
		{RANKS "rank 0 {\na: send 1b to 1\nb: recv 1b from 1\na requires b\n}\n"
		       "rank 1 {\na: send 1b to 0\nb: recv 1b from 0\na requires b\n}\n",
		 "x.goal:3: the operation waits for itself, by lines 4, 8, 9"},
		{RANKS "rank 0 {\nsend 1b to 1 tag 6\n}\n",
		 "x.goal:3: 1 sends and 0 receives from rank 0 to rank 1 with tag 6"},
		{RANKS "rank 0 {\nsend 1b to 1\ttag 7 cpu 0\n}\n", "with tag 7"},
		{RANKS "rank 0 {\nsend 1b to 1 tg 7\n}\n", "'send 1b to 1 tg 7': expected send"},
		{RANKS "rank 0 {\nsend 1b to 1 tag\n}\n", "'send 1b to 1 tag': expected send"},
		{RANKS "rank 0 {\ncalc 1 tag 1\n}\n", "'calc 1 tag 1': expected send"},
		{RANKS "rank 0 {\na: calc 1\nb: calc 1\nb requires a a\n}\n",
		 "'b requires a a': expected an operation, or one label"},
		{RANKS "rank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 2b from 0\n}\n",
		 "x.goal:6: recv 2b: its send in line 3 has 1b"},
		{"num_ranks 4\nrank 0 {\ncalc 1\n}\n", "num_ranks 4: the network has 3 hosts"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[ADV_SCENARIO_WHY] = "";
		struct run r;

		if (build(&r, cases[i][0], why) || !strstr(why, cases[i][1]))
			fail_msg("expected '%s', got '%s'", cases[i][1], why);
		adv_scenario_free(&r.s);
	}
}

/* Many labels, and each operation waits for the one before it. */
static void test_long_chain(void **state)
{
	static char goal[100000];
	size_t n = (size_t)snprintf(goal, sizeof(goal), RANKS "rank 0 {\nl0: calc 1\n");
	struct run r;

	for (unsigned i = 1; i < 2000; i++)
		n += (size_t)snprintf(goal + n, sizeof(goal) - n,
				      "l%u: calc 10\nl%u requires l%u\n", i, i, i - 1);
	snprintf(goal + n, sizeof(goal) - n, "}\n");
	open_goal(&r, goal);
	run_to_end(&r);
	assert_int_equal(adv_fabric_now(r.f), (1 + 1999 * 10) * NS);
	run_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_and_answer), cmocka_unit_test(test_start_and_end),
		cmocka_unit_test(test_matching),	   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_long_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
