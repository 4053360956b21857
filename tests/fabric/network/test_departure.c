/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The departures of a switch: in the order of their times, then of their ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fabric/network/departure.h"

#define PORTS 11

/* Adds and takes at random, with few times, so that many are equal. */
static void test_order(void **state)
{
	struct adv_departures d;
	struct adv_rng r;
	bool sends[PORTS] = {false};
	uint64_t now = 0, ordered = 0;

	adv_rng_seed(&r, 1);
	assert_true(adv_departures_init(&d, PORTS));
	for (unsigned i = 0; i < 20000; i++) {
		uint16_t port = (uint16_t)adv_rng_below(&r, PORTS);
		struct adv_departure first;
		uint64_t next;

		if (!sends[port]) {
			adv_departures_add(&d, now + adv_rng_below(&r, 8), port);
			sends[port] = true;
			continue;
		}
		next = d.next;
		first = *adv_departures_take(&d);
		assert_int_equal(first.at, next);
		assert_true(first.at >= now);
		assert_true(sends[first.port]);
		sends[first.port] = false;
		now = first.at;
		for (uint32_t k = d.first; k != d.end; k++) {
			const struct adv_departure *later = &d.of[k & d.mask];

			assert_true(later->at >= first.at);
			assert_true(later->at > first.at || later->port > first.port);
			ordered += later->at == first.at;
		}
	}
	assert_true(ordered > 1000);
	while (d.first != d.end)
		adv_departures_take(&d);
	assert_true(d.next == ADV_CALENDAR_NEVER);
	adv_departures_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
