/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choice between two copies through the ring and one copy by pull. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/link/copy_choice.h"

#define PACKET	16384u /* bytes */
#define WARM_UP (ADV_COPY_WARM_UP / PACKET - 1)

static struct adv_copy_choice choice;

/* The peer sends `packets` packets in the way that it is asked for. cost: ns of a packet by way.
 * Returns how many of them came by pull. */
static unsigned receive(unsigned packets, const uint64_t cost[ADV_COPY_WAYS])
{
	unsigned pulled = 0;

	for (unsigned i = 0; i < packets; i++) {
		enum adv_copy_way way = adv_copy_choice_now(&choice);
		bool timed;

		pulled += way == ADV_COPY_PULL;
		adv_copy_choice_count(&choice, way, PACKET);
		timed = adv_copy_choice_wants(&choice, way);
		if (timed && adv_copy_choice_timed(&choice, PACKET, cost[way]))
			assert_int_not_equal(adv_copy_choice_now(&choice), way);
		else
			assert_int_equal(adv_copy_choice_now(&choice), way);
	}
	return pulled;
}

static int begin(void **state)
{
	(void)state;
	adv_copy_choice_init(&choice);
	return 0;
}

/* Before the first comparison, payload is pulled and nothing is timed. */
static void test_start(void **state)
{
	static const uint64_t cost[] = {1000, 2000};

	(void)state;
	assert_int_equal(adv_copy_choice_now(&choice), ADV_COPY_PULL);
	assert_int_equal(receive(ADV_COPY_FIRST_PERIOD / PACKET - 1, cost),
			 ADV_COPY_FIRST_PERIOD / PACKET - 1);
	assert_false(adv_copy_choice_wants(&choice, ADV_COPY_PULL));
	assert_false(adv_copy_choice_wants(&choice, ADV_COPY_RING));
	adv_copy_choice_count(&choice, ADV_COPY_PULL, PACKET);
	assert_true(adv_copy_choice_wants(&choice, ADV_COPY_PULL));
	assert_false(adv_copy_choice_wants(&choice, ADV_COPY_RING));
}

/* The faster way carries nearly all packets. */
static void test_faster(void **state)
{
	static const uint64_t ring[] = {1000, 1500}, pull[] = {1500, 1000};
	const unsigned period = ADV_COPY_PERIOD / PACKET;

	(void)state;
	receive(ADV_COPY_FIRST_PERIOD / PACKET + 2 * ADV_COPY_SAMPLES + WARM_UP, ring);
	assert_int_equal(adv_copy_choice_now(&choice), ADV_COPY_RING);
	assert_true(receive(2 * period, ring) <= 2 * (ADV_COPY_SAMPLES + WARM_UP));
	/* The scheduler has moved a process. */
	receive(period + 2 * ADV_COPY_SAMPLES + WARM_UP, pull);
	assert_int_equal(adv_copy_choice_now(&choice), ADV_COPY_PULL);
	assert_true(receive(2 * period, pull) >= 2 * (period - ADV_COPY_SAMPLES - WARM_UP));
}

/* A small difference changes nothing. */
static void test_equal(void **state)
{
	static const uint64_t cost[] = {950, 1000};
	unsigned packets = ADV_COPY_PERIOD / PACKET * 10;

	(void)state;
	assert_true(receive(packets, cost) >= packets - 11 * (ADV_COPY_SAMPLES + WARM_UP));
	assert_int_equal(choice.way, ADV_COPY_PULL);
}

/* Packets during which the receiver was preempted do not decide. */
static void test_preempted(void **state)
{
	static const uint64_t good[] = {1000, 1500}, late[] = {4000000, 1500};

	(void)state;
	receive(ADV_COPY_FIRST_PERIOD / PACKET - 1 + ADV_COPY_SAMPLES, good);
	assert_int_equal(choice.phase, ADV_COPY_TRIES);
	receive(WARM_UP, good);
	receive(ADV_COPY_SAMPLES / 2, late);
	receive(ADV_COPY_SAMPLES - ADV_COPY_SAMPLES / 2, good);
	assert_int_equal(choice.phase, ADV_COPY_COUNTS);
	assert_int_equal(choice.way, ADV_COPY_RING);
}

/* The first packets of the other way are not timed: they meet cold caches. */
static void test_warm_up(void **state)
{
	static const uint64_t cold[] = {4000, 1500}, warm[] = {1000, 1500};

	(void)state;
	receive(ADV_COPY_FIRST_PERIOD / PACKET - 1 + ADV_COPY_SAMPLES, warm);
	assert_int_equal(choice.phase, ADV_COPY_TRIES);
	receive(WARM_UP, cold);
	assert_int_equal(choice.phase, ADV_COPY_TRIES);
	receive(ADV_COPY_SAMPLES, warm);
	assert_int_equal(choice.phase, ADV_COPY_COUNTS);
	assert_int_equal(choice.way, ADV_COPY_RING);
}

/* While one way is tried, late packets of the other way are neither timed nor counted. */
static void test_late(void **state)
{
	static const uint64_t cost[] = {1000, 1500};

	(void)state;
	receive(ADV_COPY_FIRST_PERIOD / PACKET - 1 + ADV_COPY_SAMPLES, cost);
	assert_int_equal(choice.phase, ADV_COPY_TRIES);
	for (unsigned i = 0; i < ADV_COPY_PERIOD / PACKET; i++) {
		adv_copy_choice_count(&choice, ADV_COPY_PULL, PACKET);
		assert_false(adv_copy_choice_wants(&choice, ADV_COPY_PULL));
		assert_false(adv_copy_choice_wants(&choice, ADV_COPY_RING));
	}
	receive(WARM_UP, cost);
	assert_int_equal(choice.phase, ADV_COPY_TRIES);
	adv_copy_choice_count(&choice, ADV_COPY_RING, PACKET);
	assert_true(adv_copy_choice_wants(&choice, ADV_COPY_RING));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_start, begin),
		cmocka_unit_test_setup(test_faster, begin),
		cmocka_unit_test_setup(test_equal, begin),
		cmocka_unit_test_setup(test_preempted, begin),
		cmocka_unit_test_setup(test_warm_up, begin),
		cmocka_unit_test_setup(test_late, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
