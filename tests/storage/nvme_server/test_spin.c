/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adaptive polling, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "storage/nvme_server/spin.h"

#define US	1000ull
#define WAKE_UP (30 * US)

/* A thread whose work comes each `gap` ns. Returns how many of `times` waits end with a sleep. */
static unsigned count_sleeps(struct adv_nvme_spin *s, uint64_t gap, unsigned times)
{
	unsigned sleeps = 0;

	for (unsigned i = 0; i < times; i++) {
		if (adv_nvme_spin_lasts(s, gap))
			continue;
		sleeps++;
		adv_nvme_spin_slept(s, gap + WAKE_UP);
	}
	return sleeps;
}

/* Work that comes before the longest spin ends is found by polling, soon and for good. */
static void test_short_gaps(void **state)
{
	static const uint64_t gaps[] = {1 * US, 49 * US, 60 * US, 130 * US, 400 * US};
	struct adv_nvme_spin s;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(gaps); i++) {
		adv_nvme_spin_init(&s);
		assert_true(count_sleeps(&s, gaps[i], 5) <= 4);
		assert_int_equal(count_sleeps(&s, gaps[i], 1000), 0);
	}
}

/* A thread with little work sleeps, and polls no longer than at first. */
static void test_long_gaps(void **state)
{
	struct adv_nvme_spin s;

	adv_nvme_spin_init(&s);
	assert_int_equal(count_sleeps(&s, 2000 * US, 100), 100);
	assert_int_equal(s.ns, ADV_NVME_SPIN_FIRST);
}

/* It learns when the work changes, in both directions. */
static void test_changes(void **state)
{
	struct adv_nvme_spin s;

	adv_nvme_spin_init(&s);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(count_sleeps(&s, 2000 * US, 10), 10);
		assert_int_equal(s.ns, ADV_NVME_SPIN_FIRST);
		count_sleeps(&s, 300 * US, 10);
		assert_true(s.ns >= 300 * US);
		assert_true(s.ns <= ADV_NVME_SPIN_LONGEST);
	}
}

/* One long pause, in which the processor was somebody else's perhaps, does not undo it. */
static void test_one_pause(void **state)
{
	struct adv_nvme_spin s;

	adv_nvme_spin_init(&s);
	count_sleeps(&s, 200 * US, 10);
	count_sleeps(&s, 10000 * US, 1);
	assert_true(count_sleeps(&s, 200 * US, 10) <= 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_gaps),
		cmocka_unit_test(test_long_gaps),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_one_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
