/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nodes that take turns in windows, see turn.h: nothing shows it. */
#include <stdio.h>

#include "base/rng.h"
#include "fabric/network/internal.h"
#include "../scenario/run.h"

#define TREE                                                                                       \
	"[network]\ntopology = fat-tree\nports = 4\ncable = 200m\n"                                \
	"[priority 3]\necn-min = 20kB\necn-max = 200kB\necn-probability = 20%%\n"
#define FLOWS                                                                                      \
	"[flow]\nfrom = 0-7\nto = 8-15\nbytes = 300kB\n"                                           \
	"[flow]\nfrom = 12-15\nto = 0\nbytes = 100kB\nstart = 3us\n"                               \
	"[flow]\nfrom = 4\nto = 3\nbytes = 200kB\noperation = read\n"                              \
	"[flow]\nfrom = 9\nto = 2\nbytes = 50kB\noperation = send\nstart = 20us\n"

/* True if the nodes took turns. */
static bool had_windows(const struct run *r)
{
	return r->f->turn.buffer != NULL;
}

/* Opens a scenario twice. A watcher of the second one makes all events be in their order. */
static void open_both(struct run *turns, struct run *ordered, const char *more)
{
	run_open(turns, TREE "%s", more);
	run_open(ordered, TREE "%s", more);
	adv_fabric_watch(ordered->f, run_ignore, NULL);
}

/* Runs both until `until` at most, and compares what they show. */
static enum adv_fabric_stop run_both(struct run *turns, struct run *ordered, uint64_t until)
{
	enum adv_fabric_stop stop = adv_fabric_run(turns->f, until);
	struct run_shown x, y;

	assert_int_equal(adv_fabric_run(ordered->f, until), stop);
	x = run_show(turns);
	y = run_show(ordered);
	assert_memory_equal(&x, &y, sizeof(x));
	return stop;
}

/* Runs to the end in steps of random length. */
static void compare(const char *more, bool windows)
{
	struct run turns, ordered;
	struct adv_rng rng;
	uint64_t until = 0;

	adv_rng_seed(&rng, 1);
	open_both(&turns, &ordered, more);
	do
		until += adv_rng_below(&rng, 9 * US);
	while (run_both(&turns, &ordered, until) == ADV_FABRIC_UNTIL);
	assert_int_equal(had_windows(&turns), windows);
	for (uint32_t i = 0; i < turns.f->jobs; i++) {
		const struct adv_fabric_transfer_state *a = adv_fabric_get_transfer(turns.f, i);
		const struct adv_fabric_transfer_state *b = adv_fabric_get_transfer(ordered.f, i);

		assert_int_equal(a->status, b->status);
		assert_int_equal(a->end, b->end);
	}
	run_close(&turns);
	run_close(&ordered);
}

static void test_steps(void **state)
{
	compare(FLOWS, true);
	compare("[host]\ncongestion-control = none\nwindow = 1000\n" FLOWS, true);
}

/* Lost frames, cables that fail, pauses without end, and a slow host. */
static void test_troubles(void **state)
{
	compare(FLOWS "[loss]\nlink = 3\nprobability = 1%\n", true);
	compare(FLOWS "[failure]\nlink = 20\nfrom = 7us\nto = 31us\n", true);
	compare(FLOWS "[storm]\nhost = 9\npriority = 3\nfrom = 5us\nto = 45us\n", true);
	compare(FLOWS "[slow]\nhost = 10\nspeed = 10Gb/s\n", true);
}

/* Runs to the end at once, which all transfers reach. */
static void compare_end(const char *more)
{
	struct run turns, ordered;

	open_both(&turns, &ordered, more);
	assert_int_equal(run_both(&turns, &ordered, 100 * MS), ADV_FABRIC_DONE);
	run_close(&turns);
	run_close(&ordered);
}

/* The run ends with the last transfer, whose end no window may pass: of any operation, and of any
 * length. Copies of lost frames are still on their way then. */
static void test_end(void **state)
{
	static const char *const operations[] = {"write", "read", "send"};
	static const char *const hosts[] = {"from = 0-3\nto = 12-15", "from = 0-7\nto = 8-15"};
	char text[256];

	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 120; k++) {
			snprintf(text, sizeof(text),
				 "[flow]\n%s\nbytes = %ukB\noperation = %s\n"
				 "timeout = 1\n[loss]\nlink = %u\nprobability = %u%%\n[run]\nseed "
				 "= %u\n",
				 hosts[k % 2], 1 + k * k / 36, operations[i], k % 16, k % 7 * 5,
				 k + 1);
			compare_end(text);
		}
}

/* ACKs are lost: when the last transfer ends, many copies are on their way, and windows follow each
 * other. */
static void test_copies(void **state)
{
	char text[256];

	for (unsigned k = 0; k < 100; k++) {
		snprintf(text, sizeof(text),
			 "[flow]\nfrom = 0-%u\nto = 8-%u\nbytes = %ukB\ntimeout = 1\n[host]\n"
			 "congestion-control = none\nwindow = %u\nloss-window = no\n[run]\nseed "
			 "= %u\n[loss]\nlink = %u\nprobability = %u%%\n",
			 k % 8, 8 + k % 8, 60 + k / 8, 64u << k % 4, 833 + k, k * 7 % 16,
			 5 + (k + 22) % 30);
		compare_end(text);
	}
}

/* A transfer that fails ends the run later. */
static void test_failed(void **state)
{
	compare("[flow]\nfrom = 0-3\nto = 12-15\nbytes = 500kB\ntimeout = 1\n"
		"[failure]\nlink = 2\nfrom = 9us\n",
		true);
}

/* What waits for others may begin at any time at another host. */
static void test_waiting(void **state)
{
	compare("[flow]\nfrom = 0-7\npattern = allreduce\nbytes = 100kB\n", false);
}

/* Cables of 10 m: a window would have less than a frame of each port. */
static void test_short_cables(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = fat-tree\nports = 4\ncable = 10m\n" FLOWS);
	run_to_end(&r);
	assert_false(had_windows(&r));
	run_close(&r);
}

/* A limit of events stops the run, and it goes on. */
static void test_events(void **state)
{
	struct run turns, ordered;
	struct run_shown x, y;
	uint64_t before = 0;
	unsigned stops = 0;

	open_both(&turns, &ordered, "[host]\ncongestion-control = none\n" FLOWS);
	while (adv_fabric_run_some(turns.f, 100 * MS, 1500) == ADV_FABRIC_EVENTS) {
		/* The last window goes on: it has fewer than 1,000. */
		assert_true(adv_fabric_events(turns.f) - before < 1500 + 1000);
		before = adv_fabric_events(turns.f);
		stops++;
	}
	assert_true(stops > 3 && had_windows(&turns));
	run_to_end(&ordered);
	x = run_show(&turns);
	y = run_show(&ordered);
	assert_memory_equal(&x, &y, sizeof(x));
	run_close(&turns);
	run_close(&ordered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),	     cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_end),	     cmocka_unit_test(test_copies),
		cmocka_unit_test(test_failed),	     cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_short_cables), cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
