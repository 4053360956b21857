/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lets each single allocation of a simulation fail. The run must report the failure, or have the
 * usual result. */
#include <errno.h>

#include "fabric/network/internal.h"
#include "fabric/scenario/scenario.h"
#include "net.h"
#include "no_memory.h"

/* A scenario that uses all code that allocates. */
static const char everything[] = "[network]\n"
				 "topology = leaf-spine\n"
				 "leaves = 2\n"
				 "spines = 2\n"
				 "hosts = 2\n"
				 "[run]\n"
				 "duration = 200us\n"
				 "[map]\n"
				 "dscp = 1\n"
				 "priority = 3\n"
				 "[flow]\n"
				 "from = all\n"
				 "to = permutation\n"
				 "bytes = 20kB\n"
				 "dscp = 26\n"
				 "[flow]\n"
				 "from = 0\n"
				 "to = 3\n"
				 "operation = read\n"
				 "bytes = 9kB\n"
				 "count = 8\n"
				 "interval = 20us\n"
				 "[flow]\n"
				 "pattern = allreduce\n"
				 "from = all\n"
				 "bytes = 16kB\n"
				 "[storm]\n"
				 "host = 1\n"
				 "priority = 3\n"
				 "from = 50us\n"
				 "to = 60us\n"
				 "[slow]\n"
				 "host = 2\n"
				 "speed = 10Gb/s\n"
				 "[loss]\n"
				 "link = 1\n"
				 "probability = 1%\n"
				 "[failure]\n"
				 "link = 5\n"
				 "from = 20us\n"
				 "to = 60us\n";

struct outcome {
	bool read;
	bool built;
	enum adv_fabric_stop stop;
	uint64_t events;
	uint64_t received;
};

static struct outcome live(const char *text, char why[ADV_SCENARIO_WHY])
{
	struct outcome o = {.stop = ADV_FABRIC_NO_MEMORY};
	struct adv_topology t = {0};
	struct adv_fabric *f = NULL;
	struct adv_scenario s;

	o.read = adv_scenario_read(&s, "x.ini", text, strlen(text), why);
	o.built = o.read && adv_scenario_build(&s, &t, &f, why);
	if (o.built) {
		o.stop = adv_fabric_run(f, s.run.duration);
		o.events = adv_fabric_events(f);
		for (uint32_t h = 0; h < t.hosts; h++)
			o.received += adv_fabric_host_counters(f, h)->rx_frames;
		adv_fabric_destroy(f);
		adv_topology_free(&t);
	}
	adv_scenario_free(&s);
	return o;
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
	return a->stop == b->stop && a->events == b->events && a->received == b->received;
}

static void test_each_allocation(void **state)
{
	char why[ADV_SCENARIO_WHY] = "";
	struct outcome good = live(everything, why), o;
	unsigned n = 0, in_run = 0;

	assert_string_equal(why, "");
	assert_true(good.stop == ADV_FABRIC_DONE || good.stop == ADV_FABRIC_UNTIL);
	do {
		why[0] = '\0';
		no_memory_at = ++n;
		o = live(everything, why);
		if (no_memory_at)
			break;
		if (!o.built && !strstr(why, "memory"))
			fail_msg("allocation %u: '%s'", n, why);
		if (o.built && o.stop != ADV_FABRIC_NO_MEMORY && !is_same(&o, &good))
			fail_msg("allocation %u: another result, and not a word", n);
		in_run += o.built;
	} while (n < 10000);
	assert_true(no_memory_at > 0);
	no_memory_at = 0;
	assert_true(is_same(&o, &good));
	assert_true(n > 100);
	assert_true(in_run > 0);
}

/* A cable fails while a frame is sent, and there is no memory for the frame that takes its place on
 * the cable: the run ends. */
static void test_a_cut(void **state)
{
	for (uint32_t parts = 1; parts <= 2; parts++) {
		struct adv_packet_pool *pool;
		struct net n;

		assert_int_equal(adv_topology_dumbbell(&n.t, 2, cable_of(200), cable_of(200)), 0);
		net_open(&n);
		n.unwatched = true;
		net_start(&n);
		net_write(&n, 0, 2, 26, UINT64_MAX);
		net_write(&n, 1, 2, 26, UINT64_MAX);
		if (parts > 1)
			assert_int_equal(adv_fabric_divide(n.f, parts, 1), parts);
		/* Cable 2 is that of host 2, at the second switch. */
		assert_int_equal(adv_fabric_fail(n.f, 2, 50 * US, 60 * US), 0);
		assert_int_equal(adv_fabric_run(n.f, 50 * US - 1), ADV_FABRIC_UNTIL);
		assert_true(n.f->node[1].departures.next != ADV_CALENDAR_NEVER);
		pool = &n.f->node[1].fabric->pool;
		while (pool->unused || pool->fresh)
			assert_non_null(adv_packet_take(pool));
		no_memory_at = 1;
		assert_int_equal(adv_fabric_run(n.f, 50 * US), ADV_FABRIC_NO_MEMORY);
		assert_int_equal(no_memory_at, 0);
		adv_fabric_destroy(n.f);
		adv_topology_free(&n.t);
	}
}

/* If there is no memory to bring later events near, the calendar reports it, and not the end of the
 * events. */
static void test_calendar(void **state)
{
	struct adv_calendar *c = adv_calendar_create(1, true);

	assert_non_null(c);
	assert_true(adv_calendar_add(c, 1, 0));
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(adv_calendar_add(c, ADV_PS_PER_MS, i));
	assert_non_null(adv_calendar_take(c, ADV_PS_PER_MS));
	assert_false(adv_calendar_failed(c));
	no_memory_at = 1;
	assert_null(adv_calendar_take(c, ADV_PS_PER_MS));
	assert_int_equal(no_memory_at, 0);
	assert_true(adv_calendar_failed(c));
	assert_int_equal(adv_calendar_count(c), 1000);
	assert_null(adv_calendar_take(c, ADV_CALENDAR_NEVER));
	adv_calendar_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation),
		cmocka_unit_test(test_a_cut),
		cmocka_unit_test(test_calendar),
	};

	return cmocka_run_group_tests_name("fabric memory", tests, NULL, NULL);
}
