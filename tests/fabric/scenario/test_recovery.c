/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selective retransmission (IRN), windows of the bandwidth-delay product, and frames of one flow
 * over several paths, with computed expectations. tests/nic/requester/test_selective.c has the
 * protocol. */
#include <math.h>
#include <stdio.h>

#include "run.h"

static void near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance * expected)
		fail_msg("%g, not %g within %g %%", value, expected, tolerance * 100);
}

static const struct adv_engine_counters *counters(const struct run *r, uint32_t host)
{
	return adv_engine_counters(adv_fabric_engine(r->f, host));
}

/* ---- selective retransmission ---- */

/* A lost packet costs the time of one packet, over a cable of any length: the rate is 1 - p of the
 * cable's. (Go-back-N sends a window again for each loss: test_faults.c.) */
static void test_rate_with_losses(void **state)
{
	static const unsigned per_million[] = {100, 1000};

	for (unsigned i = 0; i < 2; i++) {
		double p = per_million[i] / 1e6;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = pair\ncable = 10km\n"
			 "[host]\ncongestion-control = none\nretransmission = selective\n"
			 "[loss]\nlink = 0\nprobability = %g\n"
			 "[flow]\nfrom = 0\nto = 1\nendless = yes\n",
			 p);
		adv_fabric_run(r.f, 20 * MS);
		near((double)adv_fabric_received(r.f, 0) * 8 / 20e6,
		     (1 - p) * 100 * 4096 / (double)RUN_MIDDLE(4096), 0.01);
		run_close(&r);
	}
}

/* Only what was lost is sent again. */
static void test_no_packet_twice(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = pair\ncable = 1km\n"
		     "[host]\ncongestion-control = none\nretransmission = selective\n"
		     "[loss]\nlink = 0\nprobability = 0.001\n"
		     "[flow]\nfrom = 0\nto = 1\nbytes = 20MB\n");
	run_to_end(&r);
	assert_true(adv_fabric_lost(r.f) > 3);
	/* Lost ACKs cause no retransmission either: a later ACK covers them. A timeout may, so
	 * some slack remains. */
	assert_in_range(counters(&r, 1)->duplicate_request, 0, 1);
	assert_int_equal(adv_fabric_received(r.f, 0), 20000000);
	run_close(&r);
}

/* ---- the window ---- */

/* Returns the packets of 4,096 bytes that are sent until the ACK of the first one arrives, over
 * `cables` cables of 100 Gb/s and `metres`. */
static uint32_t bdp(unsigned cables, unsigned metres)
{
	uint64_t there = cables * (RUN_FIRST(4096) * 80 + metres * 5 * NS);
	uint64_t back = cables * (RUN_ACK * 80 + metres * 5 * NS);
	uint64_t packet = RUN_MIDDLE(4096) * 80;

	return (uint32_t)((there + back + packet - 1) / packet);
}

/* Returns the time of a WRITE of 1 MB by one of 8 senders, with these keys of [host]. */
static uint64_t alone(const char *keys)
{
	uint64_t end;
	struct run r;

	run_open(&r,
		 "[network]\ntopology = incast\nsenders = 8\ncable = 500m\n"
		 "[host]\ncongestion-control = none\nretransmission = selective\n%s"
		 "[flow]\nfrom = 0\nto = 8\nbytes = 1MB\n",
		 keys);
	run_to_end(&r);
	end = adv_fabric_get_transfer(r.f, 0)->end;
	run_close(&r);
	return end;
}

/* A window of the bandwidth-delay product is just enough to fill the cable. */
static void test_bdp_window_is_enough(void **state)
{
	const uint64_t bytes = 1000000 + 245 * RUN_MIDDLE(0) + 16; /* the first packet's RETH */
	const uint64_t end = 80 * (bytes + RUN_FIRST(4096) + 2 * RUN_ACK) + 4 * 2500 * NS;
	char keys[32];

	assert_int_equal(alone("bdp-window = yes\n"), end);
	snprintf(keys, sizeof(keys), "window = %u\n", bdp(2, 500));
	assert_int_equal(alone(keys), end);
	snprintf(keys, sizeof(keys), "window = %u\n", bdp(2, 500) - 1);
	assert_true(alone(keys) > end);
}

/* N senders have at most N windows in the network: what is not on the way stands in the queue. A
 * buffer of that size loses nothing without PFC. */
static void test_bdp_window_bounds_the_queue(void **state)
{
	const double frame = (double)RUN_MIDDLE(4096) - 20;
	const struct adv_egress *e;
	struct run r;

	run_open(&r, "[network]\ntopology = incast\nsenders = 8\ncable = 500m\n"
		     "[switch]\nbuffer = 16MiB\n[priority 3]\nlossless = no\nalpha = 4\n"
		     "[host]\ncongestion-control = none\nretransmission = selective\n"
		     "bdp-window = yes\n"
		     "[flow]\nfrom = 0-7\nto = 8\nbytes = 4MB\n");
	run_to_end(&r);
	net_all_done(&(struct net){.f = r.f}, 8);
	e = adv_switch_egress(adv_fabric_switch(r.f, 0), 8);
	near((double)e->queue[3].most, (8 - 1) * bdp(2, 500) * frame, 0.02);
	assert_int_equal(adv_switch_counters(adv_fabric_switch(r.f, 0))->dropped_bytes, 0);
	run_close(&r);
}

/* ---- several paths ---- */

static void open_paths(struct run *r, const char *balancing, unsigned spines, const char *keys)
{
	run_open(r,
		 "[network]\ntopology = leaf-spine\nleaves = 2\nspines = %u\nhosts = 2\n"
		 "trunk-speed = 25Gb/s\n[switch]\nload-balancing = %s\n"
		 "[host]\ncongestion-control = none\nretransmission = selective\nreorder = 512\n%s",
		 spines, balancing, keys);
}

/* Frames that the leaf has sent to each of the spines, whose ports follow those of two hosts. */
static double share_of(const struct run *r, unsigned spine, unsigned spines)
{
	const struct adv_switch *leaf = adv_fabric_switch(r->f, 0);
	uint64_t sum = 0;

	for (unsigned i = 0; i < spines; i++)
		sum += adv_switch_egress(leaf, 2 + i)->queue[3].sent;
	return (double)adv_switch_egress(leaf, 2 + spine)->queue[3].sent / (double)sum;
}

/* A flow that takes one of 8 paths has its 25 Gb/s. Over all of them it has its own cable's 100
 * Gb/s, and no packet is lost or repeated. */
static void test_one_flow_over_all_paths(void **state)
{
	static const char *const balancing[] = {"ecmp", "spray", "adaptive"};
	const double cable = 100 * 4096 / (double)RUN_MIDDLE(4096);

	for (unsigned i = 0; i < 3; i++) {
		struct run r;

		open_paths(&r, balancing[i], 8, "[flow]\nfrom = 0\nto = 2\nendless = yes\n");
		adv_fabric_run(r.f, 10 * MS);
		near((double)run_mbps(&r, 0) / 1000, i == 0 ? cable / 4 : cable, 0.01);
		assert_int_equal(counters(&r, 2)->duplicate_request, 0);
		for (unsigned k = 0; i > 0 && k < 8; k++)
			near(share_of(&r, k, 8), 1 / 8.0, 0.05);
		run_close(&r);
	}
}

/* Three paths: another flow of 12.5 Gb/s has one of them by its route. Adaptive switches leave it
 * that half, and use the other paths fully: 25 + 25 + 12.5. Random spraying puts a third on each
 * path, so the shared one limits the others to what it has left. */
static void test_adaptive_paths_avoid_a_queue(void **state)
{
	const double cable = 4096 / (double)RUN_MIDDLE(4096);
	double rate[2];

	for (unsigned adaptive = 0; adaptive < 2; adaptive++) {
		struct run r;

		open_paths(&r, adaptive ? "adaptive" : "spray", 3,
			   "window = 24\n[route]\nat = s0\nto = h3\nby = s2\n"
			   "[flow]\nfrom = 1\nto = 3\nbytes = 62500B\ncount = 1000\n"
			   "interval = 40us\n[flow]\nfrom = 0\nto = 2\nendless = yes\n");
		adv_fabric_run(r.f, 20 * MS);
		rate[adaptive] = (double)adv_fabric_acknowledged(r.f, 1000) * 8 / 20e6;
		run_close(&r);
	}
	near(rate[1], 62.5 * cable, 0.03);
	assert_true(rate[0] < 0.8 * rate[1]);
}

/* Reordered packets of go-back-N count as lost: the same spraying costs most of the rate. */
static void test_go_back_n_needs_order(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = leaf-spine\nleaves = 2\nspines = 8\nhosts = 2\n"
		     "trunk-speed = 25Gb/s\n[switch]\nload-balancing = spray\n"
		     "[host]\ncongestion-control = none\nloss-window = no\n"
		     "[flow]\nfrom = 0\nto = 2\nendless = yes\n");
	adv_fabric_run(r.f, 10 * MS);
	assert_true(run_mbps(&r, 0) < 50000);
	assert_true(counters(&r, 2)->duplicate_request > 1000);
	run_close(&r);
}

/* ---- messages ---- */

#define INCAST "[network]\ntopology = incast\nsenders = 4\n"

static void test_errors_of_recovery(void **state)
{
	expect_refused(
		INCAST "[host]\nretransmission = go-back-0\nwindow = 255\n"
		       "[flow]\nfrom = 0\nto = 1\n",
		"x.ini:7: [host] retransmission = go-back-0 needs a window of 256 packets for "
		"messages of 1048576 bytes");
	expect_refused(
		INCAST "[host]\nrto-low = 1us\n",
		"x.ini:5: [host] rto-low has an effect only with retransmission = selective");
	expect_refused(
		INCAST "[host]\nrto-high = 1us\n",
		"x.ini:5: [host] rto-high has an effect only with retransmission = selective");
	expect_refused(
		INCAST "[host]\nreorder = 0\n",
		"x.ini:5: [host] reorder has an effect only with retransmission = selective");
	expect_refused(INCAST "[host]\nretransmission = selective\nrto-high = 99us\n",
		       "x.ini:6: [host] rto-low = 100 us is more than rto-high = 99 us");
	expect_refused(INCAST "[host]\nwindow = 9\nbdp-window = yes\n",
		       "x.ini:5: [host] window has no effect with bdp-window = yes");
	expect_refused(
		INCAST "[host]\nretransmission = go-back-0\nbdp-window = yes\n",
		"x.ini:6: [host] bdp-window = yes: go-back-0 needs a window for whole messages");
	expect_refused(
		INCAST "[host]\nretransmission = selective\n"
		       "[flow]\nfrom = 0\nto = 1\noperation = read\n",
		"x.ini:6: [flow] operation = read: selective retransmission does not cover READ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_with_losses),
		cmocka_unit_test(test_no_packet_twice),
		cmocka_unit_test(test_bdp_window_is_enough),
		cmocka_unit_test(test_bdp_window_bounds_the_queue),
		cmocka_unit_test(test_one_flow_over_all_paths),
		cmocka_unit_test(test_adaptive_paths_avoid_a_queue),
		cmocka_unit_test(test_go_back_n_needs_order),
		cmocka_unit_test(test_errors_of_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
