/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The simulator beside results that follow from its rules by hand, and from published formulas.
 * Other tests have the headroom (test_fabric.c: a byte less loses a frame; test_plan_headroom.c:
 * IEEE 802.1Q) and the equations of DCQCN (test_fluid.c). */
#include <math.h>
#include <stdio.h>

#include "../scenario/run.h"

static const char *const operations[] = {"write", "send", "read"};

/* ---- times ---- */

/* Bytes on the wire of the data of a transfer of `frames` full frames. */
static uint64_t data_bytes(enum adv_fabric_operation operation, uint64_t frames, uint64_t mtu)
{
	uint64_t bytes = frames * RUN_MIDDLE(mtu);

	if (operation == ADV_FABRIC_WRITE)
		return bytes + 16;
	if (operation == ADV_FABRIC_SEND)
		return bytes;
	return bytes + (frames > 1 ? 8 : 4);
}

/* A transfer over one cable ends when its data is there, and the answer back: of a WRITE and a SEND
 * an ACK, of a READ the request before. Exact to the picosecond. */
static void test_completion_times(void **state)
{
	static const unsigned gbps[] = {10, 25, 40, 50, 100, 200, 400};
	static const unsigned mtus[] = {256, 1024, 4096};

	for (unsigned i = 0; i < 63; i++) {
		unsigned speed = gbps[i / 9], mtu = mtus[i / 3 % 3];
		enum adv_fabric_operation operation = i % 3;
		uint64_t answer = operation == ADV_FABRIC_READ ? RUN_FIRST(0) : RUN_ACK;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = pair\nspeed = %uGb/s\ncable = 3m\n[host]\nmtu = "
			 "%uB\n"
			 "[flow]\nfrom = 0\nto = 1\nbytes = %uB\noperation = %s\n",
			 speed, mtu, 7 * mtu, operations[operation]);
		run_to_end(&r);
		assert_int_equal(adv_fabric_get_transfer(r.f, 0)->end,
				 (data_bytes(operation, 7, mtu) + answer) * (8000 / speed) +
					 2 * 15 * NS);
		assert_int_equal(adv_fabric_ideal(r.f, 0, 7 * mtu),
				 adv_fabric_get_transfer(r.f, 0)->end);
		run_close(&r);
	}
}

/* A frame is received completely at each of up to five switches before it is sent on, over cables
 * of different speeds. */
static void test_store_and_forward(void **state)
{
	static const unsigned gbps[] = {100, 25, 400, 40, 10, 200};

	for (unsigned switches = 1; switches <= 5; switches++) {
		uint64_t expected = 0;
		char links[640] = "";
		size_t n = 0;
		struct run r;

		for (unsigned i = 0; i <= switches; i++) {
			n += (size_t)snprintf(links + n, sizeof(links) - n,
					      "[link]\nfrom = %c%u\nto = %c%u\nspeed = %uGb/s\n",
					      i ? 's' : 'h', i ? i - 1 : 0,
					      i < switches ? 's' : 'h', i < switches ? i : 1,
					      gbps[i]);
			expected += (RUN_FIRST(4096) + RUN_ACK) * (8000 / gbps[i]) + 2 * 50 * NS;
		}
		run_open(&r,
			 "[network]\ntopology = links\nhosts = 2\nswitches = %u\n%s"
			 "[flow]\nfrom = 0\nto = 1\nbytes = 4096B\n",
			 switches, links);
		run_to_end(&r);
		assert_int_equal(adv_fabric_get_transfer(r.f, 0)->end, expected);
		assert_int_equal(adv_fabric_ideal(r.f, 0, 4096), expected);
		run_close(&r);
	}
}

/* The time in an empty network is that of the only transfer in one: over equal and different
 * cables, with a short last packet, and of many messages. (The ACK before the last one can delay
 * that one, if the last packet is shorter than an ACK. This is not part of the time.) */
static void test_ideal(void **state)
{
	static const unsigned gbps[][4] = {
		{100, 100, 100, 100}, {100, 400, 100, 25}, {25, 100, 40, 400}, {40, 50, 40, 40}};
	static const unsigned sizes[] = {1, 4096, 4097, 8192, 40000, 100000, 262544};
	static const unsigned messages[] = {1, 4, 5, 64, 1024}; /* KiB */

	for (unsigned i = 0; i < 4 * 7 * 5 * 3; i++) {
		const unsigned *speed = gbps[i / 105];
		unsigned size = sizes[i / 15 % 7], message = messages[i / 3 % 5];
		struct run r;

		run_open(&r,
			 "[network]\ntopology = links\nhosts = 2\nswitches = 3\n"
			 "[link]\nfrom = h0\nto = s0\nspeed = %uGb/s\n"
			 "[link]\nfrom = s0\nto = s1\nspeed = %uGb/s\n"
			 "[link]\nfrom = s1\nto = s2\nspeed = %uGb/s\n"
			 "[link]\nfrom = s2\nto = h1\nspeed = %uGb/s\n"
			 "[host]\nmtu = 1024B\n"
			 "[flow]\nfrom = 0\nto = 1\nbytes = %uB\noperation = %s\nmessage = %uB\n"
			 "depth = 512\n",
			 speed[0], speed[1], speed[2], speed[3], size, operations[i % 3],
			 message * 1024);
		run_to_end(&r);
		assert_int_equal(adv_fabric_ideal(r.f, 0, size),
				 adv_fabric_get_transfer(r.f, 0)->end);
		run_close(&r);
	}
}

/* The cable to the receiver of an incast is never idle: it starts when the first frames are at the
 * switch, and then sends all of them. */
static void test_incast(void **state)
{
	static const unsigned senders[] = {2, 4, 8, 16, 32, 64};

	for (unsigned i = 0; i < 12; i++) {
		unsigned n = senders[i / 2], frames = i % 2 ? 9 : 1;
		uint64_t last = 0, bytes = RUN_FIRST(4096) + n * data_bytes(0, frames, 4096);
		struct run r;

		run_open(&r,
			 "[network]\ntopology = incast\nsenders = %u\n"
			 "[switch]\nbuffer = 64MB\n[priority 3]\nalpha = 8\n"
			 "[flow]\nfrom = 0-%u\nto = %u\nbytes = %uB\n",
			 n, n - 1, n, frames * 4096);
		run_to_end(&r);
		for (uint32_t t = 0; t < n; t++)
			if (adv_fabric_get_transfer(r.f, t)->end > last)
				last = adv_fabric_get_transfer(r.f, t)->end;
		assert_int_equal(last, (bytes + 2 * RUN_ACK) * GBPS_100 + 4 * 50 * NS);
		run_close(&r);
	}
}

/* ---- shares ---- */

#define LINE_MBPS 37034 /* payload of 1,024 bytes in frames of 1,106, 40 Gb/s */

static void gets(const struct run *r, uint32_t transfer, double share, unsigned percent)
{
	uint64_t expected = (uint64_t)(LINE_MBPS * share);

	assert_in_range(run_mbps(r, transfer), expected * (100 - percent) / 100,
			expected * (100 + percent) / 100);
}

/* Three saturating classes share a cable by their weights. */
static void test_ets(void **state)
{
	static const unsigned weights[6][3] = {{1, 1, 1},   {50, 30, 20}, {80, 10, 10},
					       {60, 39, 1}, {33, 33, 34}, {5, 15, 80}};

	for (unsigned i = 0; i < 6; i++) {
		const unsigned *w = weights[i];
		struct run r;

		run_open(&r,
			 "[network]\ntopology = incast\nsenders = 3\nspeed = 40Gb/s\n"
			 "[host]\nmtu = 1024B\ncongestion-control = none\nack-priority = 7\n"
			 "[priority 1]\nlossless = yes\nweight = %u\n[priority 2]\nlossless = yes\n"
			 "weight = %u\n[priority 3]\nweight = %u\n[priority 7]\nweight = 0\n"
			 "[flow]\nfrom = 0\nto = 3\nendless = yes\ndscp = 8\n"
			 "[flow]\nfrom = 1\nto = 3\nendless = yes\ndscp = 16\n"
			 "[flow]\nfrom = 2\nto = 3\nendless = yes\ndscp = 24\n",
			 w[0], w[1], w[2]);
		adv_fabric_run(r.f, 40 * MS);
		for (unsigned c = 0; c < 3; c++)
			gets(&r, c, (double)w[c] / (w[0] + w[1] + w[2]), 2);
		run_close(&r);
	}
}

/* Each pause costs a round trip, so a large limit is near the ideal shares. */
#define PFC_ONLY                                                                                   \
	"speed = 40Gb/s\n[host]\nmtu = 1024B\ncongestion-control = none\n[priority 3]\nxoff = "    \
	"400kB\n"

/* With PFC alone each switch halves what came before: the parking lot. */
static void test_parking_lot(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = parking-lot\nswitches = 5\n" PFC_ONLY
		     "[flow]\nfrom = 0-3\nto = 4\nendless = yes\n");
	adv_fabric_run(r.f, 60 * MS);
	gets(&r, 0, 1.0 / 8, 3);
	gets(&r, 1, 1.0 / 8, 3);
	gets(&r, 2, 1.0 / 4, 3);
	gets(&r, 3, 1.0 / 2, 3);
	run_close(&r);
}

/* Hosts 0 and 1 share the cable between two switches. Host 0 sends to host 4, which host 3 uses
 * too; host 1's receiver is idle, but it gets as little as host 0, since pauses stop both. */
static void test_victim(void **state)
{
	struct run r;

	run_open(
		&r,
		"[network]\ntopology = dumbbell\nhosts = 3\n" PFC_ONLY
		"[flow]\nfrom = 0\nto = 4\nendless = yes\n[flow]\nfrom = 1\nto = 5\nendless = yes\n"
		"[flow]\nfrom = 3\nto = 4\nendless = yes\n");
	adv_fabric_run(r.f, 60 * MS);
	for (unsigned i = 0; i < 3; i++)
		gets(&r, i, 0.5, 3);
	run_close(&r);
}

/* A host pauses without end for half of the time. A flow to another host over the same cable stops
 * with the one to the host: it gets a half of its half. */
static void test_bystander_of_a_storm(void **state)
{
	struct run r;

	run_open(&r, "[network]\ntopology = dumbbell\nhosts = 2\n" PFC_ONLY
		     "[flow]\nfrom = 0-1\nto = 2-3\nendless = yes\n"
		     "[storm]\nhost = 2\nfrom = 20ms\nto = 40ms\n");
	adv_fabric_run(r.f, 40 * MS);
	gets(&r, 0, 0.25, 3);
	gets(&r, 1, 0.25, 3);
	run_close(&r);
}

/* Flows spread over 8 paths like a fair die: chi-squared with 7 degrees of freedom is below 24.3 in
 * 999 of 1,000 cases. */
static void test_ecmp(void **state)
{
	enum { FLOWS = 1024, PATHS = 8 };
	double chi = 0;
	struct run r;

	run_open(&r,
		 "[network]\ntopology = leaf-spine\nleaves = 2\nspines = %u\nhosts = 32\n"
		 "[flow]\nfrom = 0-31\nto = 32-62\nbytes = 100B\n[flow]\nfrom = 0-31\nto = 63\n"
		 "bytes = 100B\n",
		 PATHS);
	run_to_end(&r);
	for (uint32_t s = 2; s < 2 + PATHS; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(r.f, s));
		/* Data has 162 bytes and each ACK 66: the spine's bytes give the number of flows.
		 */
		double frames = (double)c->rx_frames, bytes = (double)c->rx_bytes;
		double flows = (bytes - 66 * frames) / (RUN_FIRST(100) - 20 - 66);

		chi += (flows - FLOWS / PATHS) * (flows - FLOWS / PATHS) / (FLOWS / PATHS);
	}
	assert_true(chi < 24.3);
	run_close(&r);
}

/* ---- published formulas ---- */

/* Zhu et al., ECN or Delay, CoNEXT 2016: the marking probability at DCQCN's fixed point. C is in
 * packets a second, N the number of flows; t is the CNP interval, T and B the intervals of
 * increases. */
static double fixed_point_queue(unsigned flows, double kmin, double kmax, double pmax)
{
	double packet = (double)RUN_MIDDLE(1024) * 8, c = 40e9 / packet, ai = 40e6 / packet;
	double t = 50e-6, T = 55e-6, b = 10e6 / (double)RUN_MIDDLE(1024), n = flows;
	double increase = 1 / b + n / (T * c);
	double p = cbrt(ai * n * n / (t * c * c) * increase * increase);

	return p > pmax ? kmax : kmin + p / pmax * (kmax - kmin);
}

static void test_dcqcn_fixed_points(void **state)
{
	static const unsigned flows[] = {2, 4, 8, 16};

	for (unsigned i = 0; i < 4; i++) {
		double expected = fixed_point_queue(flows[i], 5e3, 200e3, 0.01), sum = 0;
		unsigned n = flows[i], samples = 0;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = incast\nsenders = %u\nspeed = 40Gb/s\n"
			 "[host]\nmtu = 1024B\nwindow = 16384\n"
			 "[priority 3]\necn-min = 5kB\necn-max = 200kB\necn-probability = 1%%\n"
			 "[flow]\nfrom = 0-%u\nto = %u\nendless = yes\n",
			 n, n - 1, n);
		for (uint64_t at = 60 * MS; at < 100 * MS; at += 10 * US, samples++) {
			adv_fabric_run(r.f, at);
			sum += (double)adv_switch_egress(adv_fabric_switch(r.f, 0), n)
				       ->queue[3]
				       .bytes;
		}
		assert_in_range((uint64_t)(sum / samples), (uint64_t)(expected * 0.85),
				(uint64_t)(expected * 1.15));
		run_close(&r);
	}
}

/* Hu et al., HotNets 2016: two switches send a flow to each other. The loop of n cables of
 * bandwidth B deadlocks if more than n B / TTL enters: 2 x 40 Gb/s / 64 = 1.25 Gb/s. */
static void test_routing_loop(void **state)
{
	static const unsigned mbps[] = {1000, 1250, 1280, 1600, 2000};

	for (unsigned i = 0; i < 5; i++) {
		struct run r;

		run_open(&r,
			 "[network]\ntopology = links\nhosts = 2\nswitches = 2\nspeed = 40Gb/s\n"
			 "[link]\nfrom = h0\nto = s0\nspeed = %uMb/s\n[link]\nfrom = h1\nto = s1\n"
			 "[link]\nfrom = s0\nto = s1\n[route]\nat = s1\nto = h1\nby = s0\n"
			 "[priority 3]\nxoff = 100kB\n[host]\nmtu = 1024B\nwindow = "
			 "100000\ncongestion-control = none\n"
			 "[flow]\nfrom = 0\nto = 1\nbytes = 16MB\nmessage = 16MB\nendless = no\n",
			 mbps[i]);
		assert_int_equal(adv_fabric_run(r.f, 60 * MS),
				 mbps[i] > 1250 ? ADV_FABRIC_DEADLOCK : ADV_FABRIC_UNTIL);
		run_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completion_times),
		cmocka_unit_test(test_store_and_forward),
		cmocka_unit_test(test_ideal),
		cmocka_unit_test(test_incast),
		cmocka_unit_test(test_ets),
		cmocka_unit_test(test_parking_lot),
		cmocka_unit_test(test_victim),
		cmocka_unit_test(test_bystander_of_a_storm),
		cmocka_unit_test(test_ecmp),
		cmocka_unit_test(test_dcqcn_fixed_points),
		cmocka_unit_test(test_routing_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
