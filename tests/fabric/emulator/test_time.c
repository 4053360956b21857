/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Virtual time of the emulator beside the clock of the devices. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "fabric/emulator/internal.h"
#include "fabric/network/calendar.h"

#define MS     1000000ull
#define S      (1000 * MS)
#define FACTOR 10 /* virtual time is slower by */
#define NEVER  ADV_CALENDAR_NEVER

static struct emulator_time time_of;
static struct adv_port_clock device;

static int start(void **state)
{
	if (adv_emulator_time_open(&time_of))
		return -1;
	adv_emulator_time_start(&time_of, 1, FACTOR, S, 0);
	device = (struct adv_port_clock){.time = time_of.memory};
	return 0;
}

static int stop(void **state)
{
	adv_emulator_time_close(&time_of);
	return 0;
}

static uint64_t virtual_ns(uint64_t clock)
{
	return adv_pace_virtual(&time_of.pace, clock) / ADV_PS_PER_NS;
}

/* Without programs nothing is promised, and nothing is late if there is no event. */
static void test_idle(void **state)
{
	adv_emulator_time_look(&time_of, NEVER, S, false);
	assert_true(adv_emulator_time_wake(&time_of) == UINT64_MAX);
	adv_emulator_time_look(&time_of, NEVER, 100 * S, false);
	assert_int_equal(time_of.pace.slips, 0);
	assert_int_equal(adv_port_clock_at(&device, 100 * S), 100 * S);
}

/* An emulator that is called in time gives up nothing, whatever it finds to do. */
static void test_in_time(void **state)
{
	uint64_t now = S;

	for (unsigned i = 0; i < 1000; i++) {
		adv_emulator_time_look(&time_of, NEVER, now, true);
		assert_int_equal(adv_port_clock_at(&device, now), now);
		assert_true(adv_emulator_time_wake(&time_of) > now);
		now = adv_emulator_time_wake(&time_of);
	}
	assert_int_equal(time_of.pace.slips, 0);
	assert_int_equal(virtual_ns(now), (now - S) / FACTOR);
}

/* An emulator that did nothing for a second, without an event: both clocks leave the second out. */
static void test_stopped(void **state)
{
	uint64_t before, late = 2 * S;

	adv_emulator_time_look(&time_of, NEVER, S, true);
	before = adv_port_clock_at(&device, late - MS);
	assert_true(before < S + 20 * MS);
	adv_emulator_time_look(&time_of, NEVER, late, true);
	assert_int_equal(time_of.pace.slips, 1);
	assert_true(time_of.pace.slipped > S - 20 * MS);
	assert_in_range(adv_port_clock_at(&device, late), before, before + 20 * MS);
	/* Both clocks go on, and are as far apart as before. */
	assert_int_equal(virtual_ns(late + 5 * MS),
			 (late + 5 * MS - S - time_of.pace.slipped) / FACTOR);
	assert_int_equal(adv_port_clock_at(&device, late + 5 * MS),
			 late + 5 * MS - time_of.pace.slipped);
}

/* What is given up without programs is known to a program that comes later, before it sends. */
static void test_late_without_programs(void **state)
{
	uint64_t event = 1 * MS;
	uint64_t late = S + event * FACTOR + 500 * MS;

	adv_emulator_time_look(&time_of, event * ADV_PS_PER_NS, S, false);
	adv_emulator_time_look(&time_of, event * ADV_PS_PER_NS, late, false);
	assert_int_equal(time_of.pace.slipped, 500 * MS);
	assert_int_equal(adv_port_clock_at(&device, late), late - 500 * MS);
}

/* A late event: virtual time goes on from the event, and the devices' clock with it. */
static void test_late_event(void **state)
{
	uint64_t event = 1 * MS; /* of virtual time: 10 ms of the clock */
	uint64_t late = S + event * FACTOR + 500 * MS;

	adv_emulator_time_look(&time_of, event * ADV_PS_PER_NS, S, true);
	adv_emulator_time_look(&time_of, event * ADV_PS_PER_NS, late, true);
	assert_int_equal(time_of.pace.slips, 1);
	assert_int_equal(time_of.pace.slipped, 500 * MS);
	assert_int_equal(virtual_ns(late), event);
	assert_int_equal(adv_port_clock_at(&device, late), late - 500 * MS);
}

/* When the last program has left, nothing is promised any more. */
static void test_leaves(void **state)
{
	adv_emulator_time_look(&time_of, NEVER, S, true);
	adv_emulator_time_look(&time_of, NEVER, S + MS, false);
	adv_emulator_time_look(&time_of, NEVER, 100 * S, false);
	assert_int_equal(time_of.pace.slips, 0);
	assert_int_equal(adv_port_clock_at(&device, 100 * S), 100 * S);
}

/* A program gets the descriptor: it can read the memory and not write it. */
static void test_sealed(void **state)
{
	void *memory = mmap(NULL, sizeof(*time_of.memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			    time_of.fd, 0);

	assert_true(memory == MAP_FAILED && errno == EPERM);
	memory = mmap(NULL, sizeof(*time_of.memory), PROT_READ, MAP_SHARED, time_of.fd, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_not_equal(mprotect(memory, sizeof(*time_of.memory), PROT_READ | PROT_WRITE), 0);
	munmap(memory, sizeof(*time_of.memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_idle, start, stop),
		cmocka_unit_test_setup_teardown(test_in_time, start, stop),
		cmocka_unit_test_setup_teardown(test_stopped, start, stop),
		cmocka_unit_test_setup_teardown(test_late_without_programs, start, stop),
		cmocka_unit_test_setup_teardown(test_late_event, start, stop),
		cmocka_unit_test_setup_teardown(test_leaves, start, stop),
		cmocka_unit_test_setup_teardown(test_sealed, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
