/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Congestion controls beside DCQCN: what their papers compute or claim. docs/reproduced.md has the
 * sources. */
#include <math.h>
#include <stdlib.h>

#include "fabric/network/calendar.h"
#include "run.h"

#define FRAME ((double)RUN_MIDDLE(1024)) /* bytes on the wire */

/* Flows that do not end, one from each host to the last one. */
struct scene {
	struct run r;
	unsigned flows;
	double mean, least, most; /* of the queue, bytes */
	double rate[256];	  /* Gb/s of payload */
	double sum;
};

static void open_scene(struct scene *s, unsigned flows, const char *speed, const char *cable,
		       const char *keys)
{
	s->flows = flows;
	run_open(&s->r,
		 "[network]\ntopology = incast\nsenders = %u\nspeed = %s\ncable = %s\n"
		 "[flow]\nfrom = 0-%u\nto = %u\nendless = yes\n"
		 "[host]\nmtu = 1024B\nwindow = 16384\n%s",
		 flows, speed, cable, flows - 1, flows, keys);
}

/* Runs until `end`, and measures from `begin` on. */
static void measure(struct scene *s, uint64_t begin, uint64_t end)
{
	const struct adv_egress *e = adv_switch_egress(adv_fabric_switch(s->r.f, 0), s->flows);
	uint64_t before[256], samples = 0;

	s->mean = s->most = s->sum = 0;
	s->least = INFINITY;
	adv_fabric_run(s->r.f, begin);
	for (unsigned i = 0; i < s->flows; i++)
		before[i] = adv_fabric_acknowledged(s->r.f, i);
	for (uint64_t at = begin; at < end; at += 2 * US, samples++) {
		double bytes;

		adv_fabric_run(s->r.f, at);
		bytes = (double)e->queue[3].bytes;
		s->mean += bytes;
		s->least = fmin(s->least, bytes);
		s->most = fmax(s->most, bytes);
	}
	s->mean /= (double)samples;
	for (unsigned i = 0; i < s->flows; i++) {
		s->rate[i] = (double)(adv_fabric_acknowledged(s->r.f, i) - before[i]) * 8e3 /
			     (double)(end - begin);
		s->sum += s->rate[i];
	}
}

static void near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance * expected)
		fail_msg("%g, not %g within %g %%", value, expected, tolerance * 100);
}

static void no_pause(const struct scene *s)
{
	assert_int_equal(adv_switch_counters(adv_fabric_switch(s->r.f, 0))->tx_pause, 0);
}

/* DCTCP, SIGCOMM 2010, 3.3: the queue is at most K + N packets, and swings by
 * sqrt(2 N (C RTT + K)) / 2 packets; the cable stays full. */
static void test_dctcp_queue(void **state)
{
	static const unsigned flows[] = {2, 8, 20};

	for (unsigned i = 0; i < 3; i++) {
		double k = 70e3 / (FRAME - 20), n = flows[i], swing, rtt = 44e-6;
		struct scene s;

		open_scene(&s, flows[i], "10Gb/s", "2km",
			   "congestion-control = dctcp\n[priority 3]\necn-min = 70kB\necn-max = "
			   "70kB\n");
		measure(&s, 20 * MS, 40 * MS);
		swing = sqrt(2 * n * (10e9 * rtt / 8 / FRAME + k)) / 2;
		assert_true(s.most / (FRAME - 20) > k && s.most / (FRAME - 20) < k + n + 2);
		assert_true(s.least / (FRAME - 20) > k + n - swing - 10);
		near(s.sum, 10 * 1024 / FRAME, 0.005);
		no_pause(&s);
		run_close(&s.r);
	}
}

/* HPCC, SIGCOMM 2019: the cable is used at eta, 95 %, and nearly no queue remains. */
static void test_hpcc_utilization(void **state)
{
	static const unsigned flows[] = {1, 2, 16};

	for (unsigned i = 0; i < 3; i++) {
		struct scene s;

		open_scene(&s, flows[i], "100Gb/s", "500m", "congestion-control = hpcc\n");
		measure(&s, 2 * MS, 4 * MS);
		near(s.sum, 0.95 * 100 * 1024 / (FRAME + 42), 0.01);
		assert_true(s.mean < 3000 && s.most < 12000);
		for (unsigned k = 0; k < flows[i]; k++)
			near(s.rate[k], s.sum / flows[i], 0.3);
		no_pause(&s);
		run_close(&s.r);
	}
}

/* Returns Swift's window of each of n flows in packets, by its sections 3.1 and 3.5: the delay is
 * the target for that window, and the windows fill the cable for that time. */
static double swift_window(unsigned n, double packets_per_us, double *delay)
{
	double shortest = 1 / sqrt(100), longest = 1 / sqrt(102.0 / 1024), w = 1;

	for (unsigned i = 0; i < 200; i++) {
		double part = (1 / sqrt(w) - shortest) / (longest - shortest);

		*delay = 25 + 100 * fmax(0, fmin(part, 1));
		w = (w + *delay * packets_per_us / n) / 2;
	}
	return w;
}

/* Swift, SIGCOMM 2020: the delay is the target, which small windows raise; the cable stays full,
 * also with windows below a packet. */
static void test_swift_delay(void **state)
{
	static const struct {
		unsigned flows;
		const char *speed;
		double gbps;
		const char *keys;
	} cases[] = {{2, "100Gb/s", 100, "congestion-control = swift\n"},
		     {16, "100Gb/s", 100, "congestion-control = swift\n"},
		     /* A window below a packet grows by ai for each ACK: ai is 1/5. */
		     {200, "10Gb/s", 10, "congestion-control = swift\nswift_ai = 200\n"}};

	for (unsigned i = 0; i < 3; i++) {
		double per_us = cases[i].gbps * 1e3 / 8 / FRAME, delay, base;
		double w = swift_window(cases[i].flows, per_us, &delay);
		struct scene s;

		open_scene(&s, cases[i].flows, cases[i].speed, "500m", cases[i].keys);
		measure(&s, i < 2 ? 4 * MS : 50 * MS, i < 2 ? 6 * MS : 70 * MS);
		/* Cables, the frame twice, the ACK twice. */
		base = 10 + 2 * (FRAME + RUN_ACK) * 8 / cases[i].gbps / 1e3;
		near(s.mean, (delay - base) * per_us * (FRAME - 20), i < 2 ? 0.05 : 0.15);
		near(s.sum, cases[i].gbps * 1024 / FRAME, i < 2 ? 0.01 : 0.1);
		assert_true(i < 2 || w < 1);
		no_pause(&s);
		run_close(&s.r);
	}
}

/* Returns the share that the second of two flows gets, if it begins so many ms after the first. */
static double share_of_second(unsigned start, const char *keys)
{
	struct scene s;

	s.flows = 2;
	run_open(&s.r,
		 "[network]\ntopology = incast\nsenders = 2\nspeed = 10Gb/s\n"
		 "[flow]\nfrom = 0\nto = 2\nendless = yes\n"
		 "[flow]\nfrom = 1\nto = 2\nendless = yes\nstart = %ums\n"
		 "[host]\nmtu = 1024B\nwindow = 16384\n%s",
		 start, keys);
	measure(&s, 100 * MS, 150 * MS);
	near(s.sum, 10 * 1024 / FRAME, 0.1);
	/* T_high: 500 us at 10 Gb/s. */
	assert_true(s.most < 625e3);
	no_pause(&s);
	run_close(&s.r);
	return s.rate[1] / s.sum;
}

static double spread_of_shares(const char *keys)
{
	double least = 1, most = 0;

	for (unsigned start = 1; start <= 7; start += 3) {
		double share = share_of_second(start, keys);

		least = fmin(least, share);
		most = fmax(most, share);
	}
	return most - least;
}

/* Zhu et al., ECN or Delay, CoNEXT 2016, 4.2: TIMELY has no single fixed point, so the division of
 * a cable among flows depends on their start. DCQCN has one, and they share equally. TIMELY keeps
 * the delay below T_high. */
static void test_timely_fairness(void **state)
{
	assert_true(spread_of_shares("congestion-control = timely\n") > 0.2);
	assert_true(spread_of_shares("congestion-control = dcqcn\n[priority 3]\necn-min = 5kB\n"
				     "ecn-max = 200kB\necn-probability = 1%\n") < 0.1);
}

/* The queue of an incast of 16, once it has begun: HPCC's is a small part of DCQCN's. */
static void test_incast_queues(void **state)
{
	struct scene dcqcn, hpcc;

	open_scene(&dcqcn, 16, "100Gb/s", "500m",
		   "congestion-control = dcqcn\n[priority 3]\necn-min = 100kB\necn-max = 400kB\n"
		   "ecn-probability = 20%\n");
	measure(&dcqcn, 2 * MS, 10 * MS);
	run_close(&dcqcn.r);
	open_scene(&hpcc, 16, "100Gb/s", "500m", "congestion-control = hpcc\n");
	measure(&hpcc, 2 * MS, 10 * MS);
	run_close(&hpcc.r);
	assert_true(hpcc.mean < dcqcn.mean / 20);
}

static int longer(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the 99th percentile of the round-trip time of ten senders, us: the queue at the
 * receiver's port, and 10 us of an empty network. *use: share of the cable. */
static double tail_of_rtt(const char *keys, double *use)
{
	static double rtt[10000];
	const struct adv_egress *e;
	uint64_t before = 0, after = 0;
	struct scene s;

	open_scene(&s, 10, "10Gb/s", "500m", keys);
	e = adv_switch_egress(adv_fabric_switch(s.r.f, 0), 10);
	adv_fabric_run(s.r.f, 100 * MS);
	for (unsigned i = 0; i < 10; i++)
		before += adv_fabric_acknowledged(s.r.f, i);
	for (unsigned i = 0; i < 10000; i++) {
		adv_fabric_run(s.r.f, 100 * MS + (i + 1) * 5 * US);
		rtt[i] = 10 + (double)e->queue[3].bytes * 8 / 10e3;
	}
	for (unsigned i = 0; i < 10; i++)
		after += adv_fabric_acknowledged(s.r.f, i);
	*use = (double)(after - before) * 8e-9 / 50e-3 / (10 * 1024 / FRAME);
	run_close(&s.r);
	qsort(rtt, 10000, sizeof(rtt[0]), longer);
	return rtt[9900];
}

/* TIMELY, SIGCOMM 2015 (abstract): over a network with PFC it lowers the 99th percentile of the
 * latency by 9 times, with nearly the line rate. With PFC alone each of ten ports fills its 128
 * kB. */
static void test_timely_tail(void **state)
{
	double use, pfc, timely;

	pfc = tail_of_rtt("congestion-control = none\n[priority 3]\nxoff = 128kB\n", &use);
	near(use, 1, 0.01);
	near(pfc, 10 + 10 * 128e3 * 8 / 10e3, 0.05);
	timely = tail_of_rtt("congestion-control = timely\n[priority 3]\nxoff = 128kB\n", &use);
	assert_true(timely < pfc / 9 && timely > 10);
	near(use, 0.95, 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dctcp_queue),   cmocka_unit_test(test_hpcc_utilization),
		cmocka_unit_test(test_swift_delay),   cmocka_unit_test(test_timely_fairness),
		cmocka_unit_test(test_incast_queues), cmocka_unit_test(test_timely_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
