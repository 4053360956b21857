/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares the reaction point with the paper's equations, by numbers computed by hand. */
#include "../engine/harness.h"
#include "nic/congestion/dcqcn.h"

#define LINE  40000000ull /* kb/s */
#define ALPHA ADV_ALPHA_ONE

struct bed {
	struct adv_cc_params p;
	struct adv_dcqcn d;
};

static struct bed make(void)
{
	return (struct bed){.p = adv_cc_default().params};
}

/* Performs all changes up to `now`, inclusive. Returns how many times a change was due. */
static unsigned advance(struct bed *b, uint64_t now)
{
	unsigned n = 0;

	for (; adv_dcqcn_next(&b->d) <= now; n++)
		adv_dcqcn_expire(&b->d, &b->p, LINE, adv_dcqcn_next(&b->d));
	return n;
}

static void cnp(struct bed *b, uint64_t now)
{
	advance(b, now);
	adv_dcqcn_on_cnp(&b->d, &b->p, LINE, now);
}

static void expect(const struct bed *b, uint64_t rate, uint64_t target)
{
	assert_int_equal(b->d.rate, rate);
	assert_int_equal(b->d.target, target);
}

/* A cut sets R_T = R_C and R_C = R_C (1 - alpha / 2), with alpha 1. Then each 55 us the rate goes
 * half of the way to the target. */
static void test_cut_and_fast_recovery(void **state)
{
	static const uint64_t rates[] = {30000000, 35000000, 37500000, 38750000,
					 /* the fifth increase is additive, but the line rate bounds
					  * it */
					 39375000, 39687500};
	struct bed b = make();

	assert_int_equal(adv_dcqcn_next(&b.d), UINT64_MAX);
	cnp(&b, 1000 * US);
	expect(&b, 20000000, LINE);
	assert_int_equal(b.d.alpha, ALPHA);
	for (unsigned i = 0; i < 6; i++) {
		advance(&b, (1000 + 55 * (i + 1)) * US - 1);
		expect(&b, i ? rates[i - 1] : 20000000, LINE);
		advance(&b, (1000 + 55 * (i + 1)) * US);
		expect(&b, rates[i], LINE);
	}
}

/* Each 55 us without a CNP alpha falls by alpha / 256. A cut raises it by (1 - alpha) / 256. */
static void test_alpha(void **state)
{
	struct bed b = make();

	cnp(&b, 0);
	advance(&b, 55 * US - 1);
	assert_int_equal(b.d.alpha, ALPHA);
	advance(&b, 55 * US);
	assert_int_equal(b.d.alpha, 1069547520); /* 2^30 x 255/256 */
	cnp(&b, 60 * US);
	/* 30,000,000 x (1 - 0.99609375 / 2), rounded up */
	expect(&b, 15058594, 30000000);
	assert_int_equal(b.d.alpha, 1069563904); /* 1069547520 x 255/256 + 2^22 */
	/* Alpha falls 55 us after the CNP, not 55 us after its last change. */
	advance(&b, 115 * US - 1);
	assert_int_equal(b.d.alpha, 1069563904);
	advance(&b, 115 * US);
	assert_int_equal(b.d.alpha, 1065385920);
}

/* Two cuts in a row, then fast recovery, additive increase, and hyper increase once bytes count
 * too. */
static void test_increases(void **state)
{
	static const uint64_t by_time[][2] = {{15000000, 20000000}, {17500000, 20000000},
					      {18750000, 20000000}, {19375000, 20000000},
					      {19707500, 20040000}, {19893750, 20080000}};
	static const uint64_t by_bytes[][2] = {{20006875, 20120000}, {20083438, 20160000},
					       {20141719, 20200000}, {20190860, 20240000},
					       {20235430, 20280000}, {20357715, 20480000}};
	struct bed b = make();

	cnp(&b, 0);
	cnp(&b, 50 * US);
	expect(&b, 10000000, 20000000);
	for (unsigned i = 0; i < 6; i++) {
		advance(&b, (50 + 55 * (i + 1)) * US);
		expect(&b, by_time[i][0], by_time[i][1]);
	}
	adv_dcqcn_on_sent(&b.d, &b.p, LINE, 9999999);
	expect(&b, by_time[5][0], by_time[5][1]);
	for (unsigned i = 0; i < 6; i++) {
		adv_dcqcn_on_sent(&b.d, &b.p, LINE, i ? 10000000 : 1);
		expect(&b, by_bytes[i][0], by_bytes[i][1]);
	}
	/* This is the seventh increase by time. The smaller stage counts, so the increase still has
	 * 6 - 5 steps. */
	advance(&b, (50 + 55 * 7) * US);
	expect(&b, 20518858, 20680000);
	/* This is the seventh increase by bytes: it has 7 - 5 steps. */
	adv_dcqcn_on_sent(&b.d, &b.p, LINE, 10000000);
	expect(&b, 20799429, 21080000);
}

/* Many increases by bytes at once equal as many single ones. A cut resets the count. */
static void test_byte_counter(void **state)
{
	struct bed one = make(), many = make();

	for (unsigned i = 0; i < 2; i++) {
		cnp(&one, 50 * US * i);
		cnp(&many, 50 * US * i);
	}
	adv_dcqcn_on_sent(&one.d, &one.p, LINE, 35000000);
	for (unsigned i = 0; i < 35; i++)
		adv_dcqcn_on_sent(&many.d, &many.p, LINE, 1000000);
	expect(&one, 18750000, 20000000);
	assert_memory_equal(&one.d, &many.d, sizeof(one.d));
	assert_int_equal(one.d.bytes, 5000000);
	cnp(&one, 100 * US);
	expect(&one, 9375000, 18750000);
	adv_dcqcn_on_sent(&one.d, &one.p, LINE, 9999999);
	expect(&one, 9375000, 18750000);
	adv_dcqcn_on_sent(&one.d, &one.p, LINE, 30000001);
	expect(&one, 18164063, 18750000);
	/* If rpg_byte_reset is 0, bytes do not change the rate. */
	many.p.rpg_byte_reset = 0;
	adv_dcqcn_on_sent(&many.d, &many.p, LINE, 1ull << 40);
	expect(&many, 18750000, 20000000);
	/* If the flow has no limit, bytes change nothing. */
	many.d = (struct adv_dcqcn){0};
	many.p.rpg_byte_reset = 1;
	adv_dcqcn_on_sent(&many.d, &many.p, LINE, 1000);
	expect(&many, 0, 0);
}

/* Shows the increases after which a cut sets the target to the rate, by the two clamp
 * parameters. */
static void test_clamps(void **state)
{
	static const struct {
		uint32_t always, after_time;
		uint64_t nothing, time, bytes; /* target after a cut that follows no increase, one
						  by time, one by bytes */
	} cases[] = {{1, 0, 20000000, 30000000, 30000000},
		     {1, 1, 20000000, 30000000, 30000000},
		     {0, 1, LINE, 30000000, 30000000},
		     {0, 0, LINE, LINE, 30000000}};

	for (unsigned i = 0; i < 4; i++) {
		struct bed b[3];

		for (unsigned k = 0; k < 3; k++) {
			b[k] = make();
			b[k].p.clamp_tgt_rate = cases[i].always;
			b[k].p.clamp_tgt_rate_after_time_inc = cases[i].after_time;
			cnp(&b[k], 0);
		}
		cnp(&b[0], 50 * US);
		expect(&b[0], 10000000, cases[i].nothing);
		cnp(&b[1], 60 * US);
		expect(&b[1], 15058594, cases[i].time);
		adv_dcqcn_on_sent(&b[2].d, &b[2].p, LINE, 10000000);
		cnp(&b[2], 50 * US);
		expect(&b[2], 15000000, cases[i].bytes);
	}
}

static void test_limits_of_a_cut(void **state)
{
	struct bed b = make();

	b.p.rpg_min_dec_fac = 80;
	cnp(&b, 0);
	expect(&b, 32000000, LINE);
	b = make();
	b.p.rpg_gd = 12; /* alpha / 4 */
	cnp(&b, 0);
	expect(&b, 30000000, LINE);
	b = make();
	b.p.initial_alpha_value = 512;
	cnp(&b, 0);
	expect(&b, 30000000, LINE);
	assert_int_equal(b.d.alpha, ALPHA / 2 / 256 * 255 + ALPHA / 256);
	/* 40 Gb/s / 2^9 is below 100 Mb/s. */
	b = make();
	for (unsigned i = 0; i < 8; i++)
		cnp(&b, 50 * US * i);
	expect(&b, 156250, 312500);
	for (unsigned i = 8; i < 12; i++)
		cnp(&b, 50 * US * i);
	expect(&b, 100000, 100000);
	/* If the line rate is below rpg_min_rate, the limit ends after some time. */
	b = make();
	adv_dcqcn_on_cnp(&b.d, &b.p, 10000, 0);
	expect(&b, 10000, 10000);
	adv_dcqcn_expire(&b.d, &b.p, 10000, 55 * US);
	expect(&b, 0, 0);
}

static void test_first_cnp(void **state)
{
	struct bed b = make();

	b.p.rate_to_set_on_first_cnp = 8000;
	cnp(&b, 0);
	expect(&b, 8000000, 8000000);
	assert_int_equal(adv_dcqcn_next(&b.d), 55 * US);
	cnp(&b, 50 * US);
	expect(&b, 4000000, 8000000);
	b = make();
	b.p.rate_to_set_on_first_cnp = 50; /* less than the least rate */
	cnp(&b, 0);
	expect(&b, 100000, 100000);
	b = make();
	b.p.rate_to_set_on_first_cnp = 40000; /* no limit, so the first CNP cuts the rate */
	cnp(&b, 0);
	expect(&b, 20000000, LINE);
}

/* Several CNPs within the period cause one cut, at its end. */
static void test_monitor_period(void **state)
{
	struct bed b = make();

	b.p.rate_reduce_monitor_period = 10;
	cnp(&b, 0);
	cnp(&b, 1 * US);
	cnp(&b, 9 * US);
	expect(&b, 20000000, LINE);
	assert_int_equal(adv_dcqcn_next(&b.d), 10 * US);
	assert_int_equal(advance(&b, 12 * US), 1);
	expect(&b, 10000000, 20000000);
	assert_int_equal(adv_dcqcn_next(&b.d), 65 * US); /* the period begins at the cut */
	cnp(&b, 20 * US);
	expect(&b, 5000000, 10000000);
	b = make();
	b.p.rate_reduce_monitor_period = 0;
	cnp(&b, 0);
	cnp(&b, 0);
	expect(&b, 10000000, 20000000);
}

/* At the line rate the state is cleared, and the next CNP is a first CNP. Even after an hour, the
 * number of steps until then is bounded. */
static void test_end(void **state)
{
	struct bed b = make();
	unsigned steps;

	cnp(&b, 0);
	cnp(&b, 50 * US);
	steps = advance(&b, 27 * MS);
	assert_int_equal(b.d.target, 20000000 + 486 * 40000); /* increases 5 to 490 of 490 */
	assert_true(b.d.rate > 39300000 && b.d.rate < b.d.target);
	steps += advance(&b, 3600 * SEC);
	assert_int_equal(adv_dcqcn_next(&b.d), UINT64_MAX);
	assert_in_range(steps, 504, 540); /* alpha changes in between */
	b.d.bytes = 0;
	assert_memory_equal(&b.d, &(struct adv_dcqcn){0}, sizeof(b.d));
	cnp(&b, 3600 * SEC);
	expect(&b, 20000000, LINE);
	assert_int_equal(b.d.alpha, ALPHA);
}

/* With the extreme values of all parameters, nothing wraps, the rate stays between the least rate
 * and the line rate, and the limit ends. */
static void test_extremes(void **state)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, 3);
	for (unsigned round = 0; round < 3000; round++) {
		struct bed b = make();
		const uint64_t line = adv_rng_next(&rng) & 1 ? 1000000000 : LINE;
		const struct adv_cc_parameter *q;
		uint64_t now = 0, low;

		for (unsigned i = 0; (q = adv_cc_parameter(i)); i++) {
			uint32_t *v = (uint32_t *)(void *)((char *)&b.p + q->offset);
			unsigned dice = adv_rng_next(&rng) % 4;

			*v = dice == 0 ? q->min : dice == 1 ? q->max : *v;
		}
		low = b.p.rpg_min_rate * 1000ull < line ? b.p.rpg_min_rate * 1000ull : line;
		for (unsigned i = 0; i < 200; i++) {
			uint64_t next = adv_dcqcn_next(&b.d);

			if (adv_rng_next(&rng) % 3 == 0)
				adv_dcqcn_on_cnp(&b.d, &b.p, line, now);
			else if (adv_rng_next(&rng) % 2)
				adv_dcqcn_on_sent(&b.d, &b.p, line, adv_rng_next(&rng) % 70000);
			else if (next != UINT64_MAX)
				adv_dcqcn_expire(&b.d, &b.p, line, now = next);
			if (b.d.rate)
				assert_in_range(b.d.rate, low, line);
			assert_true(b.d.target <= line && b.d.alpha <= ALPHA);
			assert_true(adv_dcqcn_next(&b.d) >= now);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_and_fast_recovery),
		cmocka_unit_test(test_alpha),
		cmocka_unit_test(test_increases),
		cmocka_unit_test(test_byte_counter),
		cmocka_unit_test(test_clamps),
		cmocka_unit_test(test_limits_of_a_cut),
		cmocka_unit_test(test_first_cnp),
		cmocka_unit_test(test_monitor_period),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
