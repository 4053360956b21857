/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "fabric/plan/topology.h"

static struct adv_plan_topology *parse(const char *text, struct adv_plan_error *error)
{
	return adv_plan_topology_parse(text, strlen(text), error);
}

static void test_all_there_is(void **state)
{
	static const char text[] = "# a comment\n"
				   "host h1 h2\t# another\n"
				   "\r\n"
				   "switch s1 s2 level=2\n"
				   "link h1 s1:swp1\n"
				   "link s1 s2:eth1/1\n"
				   "link s2 h2 \n"
				   "link s1:x s2 down\n"
				   "routing = updown\n"
				   "root=s2\n"
				   "flow h1 h2\n"
				   "route h2 s2 s1 h1 priority=5"; /* no end of line */
	struct adv_plan_error error;
	struct adv_plan_topology *t = parse(text, &error);

	if (!t)
		fail_msg("%u: %s", error.line, error.text);
	assert_int_equal(t->nodes, 4);
	assert_string_equal(t->node[1].name, "h2");
	assert_false(t->node[1].is_switch);
	assert_true(t->node[2].is_switch && t->node[2].has_level && t->node[3].has_level);
	assert_int_equal(t->node[3].level, 2);
	assert_int_equal(t->links, 4);
	assert_string_equal(t->link[0].port[0], "p1");
	assert_string_equal(t->link[0].port[1], "swp1");
	assert_string_equal(t->link[1].port[0], "p2");
	assert_string_equal(t->link[1].port[1], "eth1/1");
	assert_true(t->link[3].down && !t->link[2].down);
	assert_int_equal(adv_plan_from(t, 2), 2); /* link 1, from s1 to s2 */
	assert_int_equal(adv_plan_to(t, 2), 3);
	assert_int_equal(adv_plan_from(t, 3), 3);
	assert_int_equal(t->routing, ADV_PLAN_UPDOWN);
	assert_int_equal(t->root, 3);
	assert_false(t->all_pairs);
	assert_int_equal(t->flows, 2);
	assert_int_equal(t->flow[0].priority, ADV_PLAN_PRIORITY);
	assert_int_equal(t->flow[0].hops, 0);
	assert_int_equal(t->flow[1].hops, 4);
	assert_int_equal(t->flow[1].priority, 5);
	assert_int_equal(t->flow[1].line, 12);
	assert_int_equal(t->hop[t->flow[1].first_hop + 1], 3);
	adv_plan_topology_free(t);
}

#define NODES "host h1 h2\nswitch s1 s2\n"
#define LINKS NODES "link h1 s1\nlink s1 s2\nlink s2 h2\n"

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *part;
	} cases[] = {
		{"", 0, "the text has no routes"},
		{"host", 1, "expected: host NAME..."},
		{"host a level=1", 1, "hosts have no level"},
		{"switch a level=x", 1, "'level=x': expected level= and a number from 0 to 255"},
		{"switch a level=256", 1, "from 0 to 255"},
		{"switch level=1", 1, "expected: switch"},
		{"host a b a", 1, "'a' is already defined in line 1"},
		{"\nhost a\nswitch a", 3, "'a' is already defined in line 2"},
		{"host a:b", 1, "'a:b' is not a name"},
		{"host abcdefghijklmnopqrstuvwxyz123456", 1, "is not a name"},
		{"host \x01\xff", 1,
		 "'?"
		 "?' is not a name"},
		{"box a", 1, "'box' is not a keyword"},
		{"hosts a", 1, "'hosts' is not a keyword"},
		{NODES "link h1", 3, "expected: link"},
		{NODES "link h1 s1 up", 3, "expected: link"},
		{NODES "link h1 s3", 3, "'s3' is not a host or switch"},
		{NODES "link s1 s1", 3, "to itself"},
		{NODES "link s1: s2", 3, "'' is not a name"},
		{NODES "link s1:1 s2\nlink s1:1 h1", 4, "port 1 of s1 already has a link"},
		{NODES "link s1:p2 s2\nlink s1 h1", 4, "port p2 of s1 already has a link"},
		{LINKS "flow h1 h2", 6, "needs 'routing"},
		{LINKS "flow h1 s1", 6, "'s1' is a switch"},
		{LINKS "flow h1 h1", 6, "from h1 to itself"},
		{LINKS "flow h1", 6, "expected: flow HOST HOST"},
		{LINKS "flow h1 h2 priority=8", 6, "from 0 to 7"},
		{LINKS "route h1 h2", 6, "expected: route"},
		{LINKS "route h1 s2 h2", 6, "no active link from h1 to s2"},
		{LINKS "route h1 s1 h1 s1 s2 h2", 6, "'h1' is a host"},
		{LINKS "link s1 h2 down\nroute h1 s1 h2", 7, "no active link"},
		{LINKS "routing = fast", 6, "'fast' is not a routing"},
		{LINKS "routing", 6, "expected: routing = VALUE"},
		{LINKS "routing = shortest now", 6, "expected: routing = VALUE"},
		{LINKS "routing=shortest\nrouting=updown", 7, "given twice"},
		{LINKS "root = h1", 6, "'h1' is a host"},
		{"switch a level=1\nswitch b\nrouting=updown", 2, "switch b has no level"},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct adv_plan_error error = {.line = 99};

		if (parse(cases[i].text, &error))
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(error.text, cases[i].part) || error.line != cases[i].line)
			fail_msg("%s: line %u: %s", cases[i].text, error.line, error.text);
	}
}

static void test_ways_to_set(void **state)
{
	static const char *const ways[] = {"routing=updown", "routing =updown", "routing= updown",
					   "routing = updown"};
	struct adv_plan_error error;

	for (size_t i = 0; i < 4; i++) {
		struct adv_plan_topology *t = parse(ways[i], &error);

		assert_non_null(t);
		assert_int_equal(t->routing, ADV_PLAN_UPDOWN);
		assert_true(t->all_pairs);
		adv_plan_topology_free(t);
	}
}

/* A text that exceeds a limit by one is refused. */
static void test_limits(void **state)
{
	struct adv_plan_error error;
	size_t room = 3000000, len = 0;
	char *text = calloc(1, room);

	assert_non_null(text);
	for (int i = 0; i <= ADV_PLAN_NODES_MAX; i++)
		len += (size_t)snprintf(text + len, room - len, "host h%d\n", i);
	assert_null(adv_plan_topology_parse(text, len, &error));
	assert_int_equal(error.line, ADV_PLAN_NODES_MAX + 1);
	assert_non_null(strstr(error.text, "more than 4096"));

	len = (size_t)snprintf(text, room, LINKS);
	for (int i = 0; i <= ADV_PLAN_FLOWS_MAX; i++)
		len += (size_t)snprintf(text + len, room - len, "route h1 s1 s2 h2\n");
	assert_null(adv_plan_topology_parse(text, len, &error));
	assert_int_equal(error.line, 5 + ADV_PLAN_FLOWS_MAX + 1);

	memset(text, '\n', room);
	memset(text, 'x', 5000);
	for (int i = 0; i < 5000; i += 2)
		text[i] = ' ';
	assert_null(adv_plan_topology_parse(text, room, &error));
	assert_non_null(strstr(error.text, "words in a line"));
	assert_null(adv_plan_topology_parse(text, (size_t)ADV_PLAN_TEXT_MAX + 1, &error));
	assert_non_null(strstr(error.text, "longer than"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_there_is),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_ways_to_set),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("plan topology", tests, NULL, NULL);
}
