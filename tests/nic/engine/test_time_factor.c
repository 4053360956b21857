/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests engines of a network whose time is slower than the clock: by the network's time, everything
 * happens as in a network that follows the clock. */
#include "../congestion/flow_bed.h"

#define SLOWER 100u

/* ---- conversions ---- */

static void test_conversions(void **state)
{
	static const struct adv_time_factor factors[] = {{1, 1}, {1, 100}, {1, 3}, {2, 7}, {5, 1}};
	static const uint64_t times[] = {0, 1, 2, 4096, 123456789, 1ull << 40, 1ull << 50};

	for (unsigned i = 0; i < 5; i++) {
		const struct adv_time_factor *f = &factors[i];

		for (unsigned k = 0; k < 7; k++) {
			uint64_t clock = adv_time_of_clock(f, times[k]);

			/* A timer that is set to `clock` does not fire early, and not late. */
			assert_true(adv_time_of_network(f, clock) >= times[k]);
			assert_true(!clock || adv_time_of_network(f, clock - 1) < times[k]);
		}
		assert_true(adv_time_of_clock(f, UINT64_MAX) == UINT64_MAX);
		assert_int_equal(adv_rate_of_clock(f, 0), 0);
		assert_true(adv_rate_of_clock(f, 1) >= 1);
	}
	assert_int_equal(adv_rate_of_clock(&factors[1], 40000000), 400000);
	assert_int_equal(adv_rate_of_network(&factors[1], 400), 40000);
	assert_int_equal(adv_time_factor_scale(UINT64_MAX, 3, 2), UINT64_MAX);
}

/* ---- engines ---- */

/* The network of the test is slower by this factor, as its packets are. */
static unsigned slower;

static void slow_hook(struct net *net, struct wire *w)
{
	hook(net, w);
	w->delay *= slower;
}

static void open_slow(struct bed *bed, const struct options *o, unsigned factor,
		      const struct adv_cc_config *cc)
{
	struct adv_engine_config c = {.seed = {1}, .cc = cc, .time = {1, factor}};

	slower = factor;
	memset(bed, 0, sizeof(*bed));
	bed->net = net_open_config(2, &c);
	for (unsigned i = 0; i < 2; i++)
		adv_engine_set_line_rate(bed->net->node[i].e, 40000 / factor);
	bed->net->hook = slow_hook;
	bed->net->arg = bed;
	pair_open(bed->net, o, &bed->end[0], &bed->end[1]);
	for (unsigned i = 0; i < 2; i++) {
		bed->region[i] = region_open(&bed->net->node[i], SIZE, ALL_ACCESS);
		region_fill(bed->region[i], (uint8_t)(i + 1));
	}
}

/* Runs a write of 1 MiB. The sender gets two CNPs, or the packets get marks. */
static void run_write(struct bed *bed, unsigned factor, const char *control, bool marks)
{
	struct options o = options_default(marks ? IBV_QPT_RC : IBV_QPT_UC);
	struct adv_cc_config cc;
	char why[ADV_CC_TEXT];

	assert_true(adv_cc_parse(&cc, control, why, sizeof(why)));
	open_slow(bed, &o, factor, &cc);
	bed->net->now += 1000 * US * factor - bed->net->now % (1000 * US * factor);
	bed->mark = marks ? DATA : 0;
	if (!marks)
		give_cnp(bed, 0);
	post_write(bed, 0, SIZE);
	pass(bed->net, 75 * US * factor);
	if (!marks)
		give_cnp(bed, 0);
	net_run(bed->net, 200 * MS * factor);
	assert_int_equal(bed->packets, 1024);
}

static void expect_same_times(const char *control, bool marks)
{
	struct bed one, slow;

	run_write(&one, 1, control, marks);
	run_write(&slow, SLOWER, control, marks);
	for (unsigned i = 1; i < one.packets; i++) {
		uint64_t fast = one.time[i] - one.time[0];
		uint64_t stretched = (slow.time[i] - slow.time[0]) / SLOWER;

		/* Times are rounded to a ns, and rates to a kb/s. */
		if (stretched + 2 + fast / 1000 < fast || stretched > fast + 2 + fast / 1000)
			fail_msg("%s: packet %u left at %llu ns, not at %llu", control, i,
				 (unsigned long long)stretched, (unsigned long long)fast);
	}
	/* The limits of the rate at the end, too. */
	assert_in_range(limit(&slow, 0) * SLOWER + SLOWER, limit(&one, 0),
			limit(&one, 0) + 2 * SLOWER);
	assert_true(marks || one.time[1023] - one.time[0] > 300 * US);
	net_abandon(one.net);
	net_abandon(slow.net);
}

/* The increases of the rate are a thousandth of the line rate: at 1/100 less than 1 Mb/s. */
static void test_dcqcn(void **state)
{
	expect_same_times("dcqcn", false);
	expect_same_times("dcqcn", true);
}

static void test_round_trips(void **state)
{
	expect_same_times("timely", true);
	expect_same_times("swift", true);
}

static void test_cnp_interval(void **state)
{
	struct bed bed;

	run_write(&bed, SLOWER, "dcqcn min_time_between_cnps=7", true);
	assert_true(bed.cnps > 3);
	for (unsigned i = 1; i < bed.cnps; i++)
		assert_true(bed.cnp_time[i] - bed.cnp_time[i - 1] >= 7 * US * SLOWER);
	assert_true(bed.cnp_time[1] - bed.cnp_time[0] < 10 * US * SLOWER);
	net_abandon(bed.net);
}

/* ---- timers of queue pairs ---- */

static unsigned attempts;
static uint64_t attempted[16];

static void lose_requests(struct net *net, struct wire *w)
{
	if (w->from != 0)
		return;
	if (attempts < 16)
		attempted[attempts++] = net->now;
	w->copies = 0;
}

static void test_ack_timeout(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	open_slow(&bed, &o, SLOWER, NULL);
	bed.net->hook = lose_requests;
	attempts = 0;
	post_write(&bed, 0, 64);
	net_run(bed.net, 5 * SLOWER * MS);
	assert_int_equal(attempts, 2);
	/* 4.096 us x 2^10 */
	assert_int_equal(attempted[1] - attempted[0], 4096ull * 1024 * SLOWER);
	net_abandon(bed.net);
}

static void test_rnr_nak_timer(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;
	uint64_t at;

	open_slow(&bed, &o, SLOWER, NULL);
	at = bed.net->now;
	/* There is no receive: the requester tries again after 10 us of the network. */
	end_op(bed.end[0], IBV_WR_SEND, 1, bed.region[0], 0, 64, NULL, 0);
	pass(bed.net, 10 * US * SLOWER / 2);
	assert_int_equal(counters(&bed, 0)->rnr_nak_retry_err, 1);
	pass(bed.net, 10 * US * SLOWER / 4);
	assert_int_equal(counters(&bed, 0)->rnr_nak_retry_err, 1);
	pass(bed.net, 10 * US * SLOWER);
	assert_int_equal(counters(&bed, 0)->rnr_nak_retry_err, 2);
	assert_true(bed.net->now - at < 20 * US * SLOWER);
	net_abandon(bed.net);
}

/* The longest timeouts of the slowest network do not overflow. */
static void test_slowest(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct bed bed;

	o.timeout = 31;
	open_slow(&bed, &o, ADV_TIME_FACTOR_MOST, NULL);
	post_write(&bed, 0, 64);
	assert_true(adv_engine_deadline(bed.net->node[0].e) > bed.net->now);
	net_until(bed.net, bed.end[0], 1, 0, 10 * SEC);
	expect_send(bed.end[0], 0, 1, IBV_WC_SUCCESS);
	net_close(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversions), cmocka_unit_test(test_dcqcn),
		cmocka_unit_test(test_round_trips), cmocka_unit_test(test_cnp_interval),
		cmocka_unit_test(test_ack_timeout), cmocka_unit_test(test_rnr_nak_timer),
		cmocka_unit_test(test_slowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
