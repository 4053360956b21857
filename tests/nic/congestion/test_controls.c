/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of DCTCP, TIMELY, Swift and HPCC, one ACK at a time, against their papers' equations.
 * test_dcqcn.c has those of DCQCN, tests/fabric/scenario/test_controls.c the queues that they lead
 * to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "nic/congestion/congestion_control.h"

#define US    1000ull
#define FRAME 1000u

struct flow {
	struct adv_cc_config config;
	struct adv_cc_link link;
	const struct adv_cc_ops *ops;
	struct adv_cc cc;
	struct adv_telemetry telemetry;
};

static void start(struct flow *f, enum adv_cc_algorithm algorithm, uint64_t line_mbps)
{
	*f = (struct flow){.config = adv_cc_default(), .ops = adv_cc_ops_of(algorithm)};
	f->link = (struct adv_cc_link){&f->config.params, line_mbps * 1000, FRAME};
	f->ops->start(&f->cc, &f->link);
}

static void ack(struct flow *f, struct adv_cc_ack ack)
{
	f->ops->on_ack(&f->cc, &f->link, &ack);
}

static void near(uint64_t value, double expected)
{
	if ((double)value < expected * 0.999 - 1 || (double)value > expected * 1.001 + 1)
		fail_msg("%llu, not %g", (unsigned long long)value, expected);
}

/* ---- DCTCP ---- */

static void marked(struct flow *f, bool is_marked, bool round)
{
	ack(f, (struct adv_cc_ack){.packets = 1, .marked = is_marked, .round = round});
}

static void test_dctcp(void **state)
{
	double alpha = 1;
	uint64_t window;
	struct flow f;

	start(&f, ADV_CC_DCTCP, 10000);
	assert_int_equal(f.cc.window, 10 * FRAME);
	for (unsigned i = 0; i < 10; i++)
		marked(&f, false, i == 9);
	/* Slow start: a frame for each acknowledged one. */
	assert_int_equal(f.cc.window, 20 * FRAME);
	alpha = alpha * 15 / 16;
	/* The first mark of a round cuts by alpha / 2, the others do not. 2 of 8 are marked. */
	for (unsigned i = 0; i < 8; i++) {
		marked(&f, i < 2, i == 7);
		if (i == 1)
			near(f.cc.window, 20 * FRAME * (1 - alpha / 2));
	}
	/* Congestion avoidance: a frame for each window. */
	near(f.cc.window, 20 * FRAME * (1 - alpha / 2) + 6 * FRAME / (20 * (1 - alpha / 2)));
	alpha = alpha * 15 / 16 + 2 / 8.0 / 16;
	window = f.cc.window;
	marked(&f, true, false);
	near(f.cc.window, (double)window * (1 - alpha / 2));
	for (unsigned i = 0; i < 100; i++)
		marked(&f, true, true);
	assert_int_equal(f.cc.window, 2 * FRAME);
}

/* ---- TIMELY ---- */

static void rtt_of(struct flow *f, uint64_t us)
{
	ack(f, (struct adv_cc_ack){.packets = 16, .rtt = us * US});
}

static void test_timely(void **state)
{
	double rate = 10e6, beta = 819 / 1024.0;
	struct flow f;

	start(&f, ADV_CC_TIMELY, 10000);
	assert_int_equal(f.cc.rate, 10000000);
	ack(&f, (struct adv_cc_ack){.packets = 16});
	rtt_of(&f, 10);
	assert_int_equal(f.cc.rate, 10000000);
	/* Above T_high, 500 us: 1 - beta (1 - T_high / RTT), whatever the gradient. */
	rtt_of(&f, 1000);
	rate *= 1 - beta * 0.5;
	near(f.cc.rate, rate);
	/* Below T_low, 50 us: a step. */
	rtt_of(&f, 40);
	rate += 10e3;
	near(f.cc.rate, rate);
	/* With a positive gradient too. */
	start(&f, ADV_CC_TIMELY, 10000);
	f.cc.rate = 5000000;
	rtt_of(&f, 10);
	rtt_of(&f, 40);
	assert_int_equal(f.cc.rate, 5020000);
	/* A fresh flow: from 100 to 120 us the gradient is 0.875 x 20 / 20. */
	start(&f, ADV_CC_TIMELY, 10000);
	rtt_of(&f, 100);
	rtt_of(&f, 120);
	rate = 10e6 * (1 - beta * 0.875);
	near(f.cc.rate, rate);
}

/* Four steps of 10 Mb/s while the gradient is negative, then five at once. */
static void test_timely_steps(void **state)
{
	struct flow f;
	uint64_t before;

	start(&f, ADV_CC_TIMELY, 10000);
	rtt_of(&f, 400);
	rtt_of(&f, 450);
	for (unsigned i = 1; i <= 7; i++) {
		before = f.cc.rate;
		rtt_of(&f, 400 - 20 * i);
		assert_int_equal(f.cc.rate - before, i < 5 ? 10000 : 50000);
	}
	/* A positive gradient ends the row. */
	rtt_of(&f, 400);
	before = f.cc.rate;
	rtt_of(&f, 100);
	assert_int_equal(f.cc.rate - before, 10000);
	for (unsigned i = 0; i < 100; i++)
		rtt_of(&f, 50000);
	assert_int_equal(f.cc.rate, 10000);
}

/* ---- Swift ---- */

static void delay_of(struct flow *f, uint64_t now_us, uint64_t ns)
{
	ack(f, (struct adv_cc_ack){.packets = 1, .rtt = ns, .now = now_us * US});
}

static void test_swift(void **state)
{
	double window = 312.5, beta = 819 / 1024.0;
	struct flow f;

	start(&f, ADV_CC_SWIFT, 100000);
	near(f.cc.window, window * FRAME);
	assert_int_equal(f.cc.rate, 0);
	/* 25 us for windows of 100 packets and more. */
	delay_of(&f, 1000, 24999);
	window += 1 / window;
	near(f.cc.window, window * FRAME);
	delay_of(&f, 1001, 31250);
	window *= 1 - beta * 0.2;
	near(f.cc.window, window * FRAME);
	/* Once in a round trip. */
	delay_of(&f, 1032, 31250);
	near(f.cc.window, window * FRAME);
	/* At most by a half. */
	delay_of(&f, 1201, 200000);
	window *= 0.5;
	near(f.cc.window, window * FRAME);
}

/* A window of one packet has a target of 25 + 100 (1 - 0.1) / (sqrt(10) - 0.1) us: 54.4. */
static void test_swift_small_windows(void **state)
{
	struct flow f;

	start(&f, ADV_CC_SWIFT, 320);
	near(f.cc.window, FRAME);
	delay_of(&f, 1000, 54200);
	near(f.cc.window, 2 * FRAME);
	start(&f, ADV_CC_SWIFT, 320);
	delay_of(&f, 1000, 54600);
	/* Below a packet the window is a packet in RTT / window. */
	assert_int_equal(f.cc.window, FRAME);
	near(f.cc.rate, FRAME * 8e6 / 54600 * (1 - 819 / 1024.0 * 0.2 / 54.6));
	for (unsigned i = 0; i < 100; i++)
		delay_of(&f, 2000 + 1000 * i, 900000);
	near(f.cc.rate, FRAME * 8e6 / 900000 * 10 / 1024);
}

/* ---- HPCC ---- */

/* An ACK whose telemetry has one port of 100 Gb/s: `bytes` sent since the last one, 13 us ago, and
 * `queue` bytes that wait. */
static void report(struct flow *f, uint64_t bytes, uint32_t queue, bool round)
{
	struct adv_telemetry_hop *hop = &f->telemetry.hop[0];

	f->telemetry.hops = 1;
	hop->at += 13 * US;
	hop->bytes += bytes;
	hop->queue = queue;
	hop->mbps = 100000;
	ack(f, (struct adv_cc_ack){.packets = 1, .round = round, .telemetry = &f->telemetry});
}

static void test_hpcc(void **state)
{
	const uint64_t bdp = 162500; /* 100 Gb/s x 13 us */
	double window = bdp;
	struct flow f;

	start(&f, ADV_CC_HPCC, 100000);
	assert_int_equal(f.cc.window, bdp);
	assert_int_equal(f.cc.rate, 100000000);
	/* The first report has none before it. */
	report(&f, bdp, 0, true);
	assert_int_equal(f.cc.window, bdp);
	/* A full cable: eta / 1, and W_AI. */
	report(&f, bdp, 0, true);
	window = window * 0.95 + 80;
	near(f.cc.window, window);
	near(f.cc.rate, window * 8e6 / 13000);
	/* Within the round trip the reference stays: the same result, not a further reduction. */
	report(&f, bdp, 0, false);
	near(f.cc.window, window * 0.95 + 80);
	report(&f, bdp, 0, false);
	near(f.cc.window, window * 0.95 + 80);
	/* A queue counts by the smaller of two reports. */
	report(&f, bdp, bdp, false);
	near(f.cc.window, window * 0.95 + 80);
	report(&f, bdp, bdp, true);
	window = window * 0.95 / 2 + 80;
	near(f.cc.window, window);
	/* Below eta: five steps of W_AI, then at once to eta. */
	for (unsigned i = 0; i < 5; i++) {
		report(&f, bdp / 2, 0, true);
		window += 80;
		near(f.cc.window, window);
	}
	report(&f, bdp / 2, 0, true);
	window = window * 0.95 / 0.5 + 80;
	near(f.cc.window, window);
	/* Never more than the line carries in the base RTT. */
	for (unsigned i = 0; i < 20; i++)
		report(&f, 1000, 0, true);
	assert_int_equal(f.cc.window, bdp);
}

/* Of several ports the busiest counts. A change of the path is not compared. */
static void test_hpcc_paths(void **state)
{
	const uint64_t bdp = 162500;
	struct flow f;

	start(&f, ADV_CC_HPCC, 100000);
	for (unsigned i = 1; i <= 2; i++) {
		f.telemetry.hops = 2;
		for (unsigned k = 0; k < 2; k++)
			f.telemetry.hop[k] =
				(struct adv_telemetry_hop){.at = i * 13 * US,
							   .bytes = i * (k ? bdp : bdp / 10),
							   .mbps = 100000};
		ack(&f, (struct adv_cc_ack){.packets = 1, .telemetry = &f.telemetry});
	}
	near(f.cc.window, bdp * 0.95 + 80);
	f.telemetry.hops = 1;
	f.telemetry.hop[0].at += 13 * US;
	f.telemetry.hop[0].bytes += 10 * bdp;
	ack(&f, (struct adv_cc_ack){.packets = 1, .telemetry = &f.telemetry});
	near(f.cc.window, bdp * 0.95 + 80);
	ack(&f, (struct adv_cc_ack){.packets = 1});
	near(f.cc.window, bdp * 0.95 + 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dctcp),
		cmocka_unit_test(test_timely),
		cmocka_unit_test(test_timely_steps),
		cmocka_unit_test(test_swift),
		cmocka_unit_test(test_swift_small_windows),
		cmocka_unit_test(test_hpcc),
		cmocka_unit_test(test_hpcc_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
