/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults that a validation against formulas and other simulators has found. */
#include "../scenario/run.h"

/* Time from the beginning of a transfer until its data is at a host behind one switch, 100 Gb/s,
 * with cables of `delay`: the first host sends all frames. The switch is a frame behind; the frame
 * before a short last one delays that. */
static uint64_t piece_time(uint64_t bytes, uint64_t mtu, uint64_t delay)
{
	uint64_t frames = (bytes + mtu - 1) / mtu;
	uint64_t wire = bytes + frames * RUN_MIDDLE(0) + 16;
	uint64_t behind = frames > 1 ? RUN_MIDDLE(mtu) : RUN_FIRST(bytes);

	return (wire + behind) * GBPS_100 + 2 * delay;
}

/* Acknowledgements during a piece: every 16 packets. The last one comes after the piece. */
static uint64_t acks_within(uint64_t bytes, uint64_t mtu)
{
	return ((bytes + mtu - 1) / mtu - 1) / 16;
}

/* An all-reduce in a ring of 8 hosts takes 14 times the time of a piece, since a host sends on when
 * the piece has arrived. Between two pieces it sends the acknowledgement of the one that has
 * arrived. Its other acknowledgements share the cable to the switch with its own piece. */
static void test_allreduce_depends_on_arrival(void **state)
{
	static const uint64_t sizes[] = {65536, 1000000, 4000000};
	static const uint64_t mtus[] = {1024, 4096};

	for (unsigned i = 0; i < 6; i++) {
		uint64_t bytes = sizes[i / 2], mtu = mtus[i % 2], last = 0, expected;
		const struct adv_scenario_flow *flow;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = incast\nsenders = 7\ncable = 100m\n[host]\nmtu = "
			 "%uB\n"
			 "[flow]\npattern = allreduce\nfrom = all\nbytes = %uB\n",
			 (unsigned)mtu, (unsigned)bytes);
		flow = r.s.list[ADV_SCENARIO_FLOWS].item;
		assert_int_equal(adv_fabric_run(r.f, 100 * MS), ADV_FABRIC_DONE);
		for (uint32_t t = flow->transfers - 8; t < flow->transfers; t++)
			if (adv_fabric_get_transfer(r.f, t)->end > last)
				last = adv_fabric_get_transfer(r.f, t)->end;
		expected = 14 * piece_time(bytes / 8, mtu, 500 * NS) + 13 * RUN_ACK * GBPS_100 +
			   14 * acks_within(bytes / 8, mtu) * RUN_ACK * GBPS_100;
		/* The acknowledgement of the last piece. */
		expected += 2 * (RUN_ACK * GBPS_100 + 500 * NS);
		assert_in_range(last, expected * 999 / 1000, expected * 1001 / 1000);
		run_close(&r);
	}
}

/* The bytes of a flow that never ends include the packets of the message that is on its way. */
static void test_endless_flow_counts_packets(void **state)
{
	static const char *const operations[] = {"write", "send", "read"};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t bytes;
		struct run r;

		run_open(&r,
			 "[network]\ntopology = pair\n[host]\nmtu = 1024B\n"
			 "[flow]\nfrom = 0\nto = 1\nendless = yes\noperation = %s\n",
			 operations[i]);
		/* Half of the first message of 1 MiB, 82 ns a frame. */
		assert_int_equal(adv_fabric_run(r.f, 42 * US), ADV_FABRIC_UNTIL);
		bytes = adv_fabric_acknowledged(r.f, 0);
		assert_int_equal(adv_fabric_get_transfer(r.f, 0)->done, 0);
		assert_in_range(bytes, 460000, 42 * US / GBPS_100 * 1024 / RUN_MIDDLE(1024));
		assert_int_equal(bytes % 1024, 0);
		assert_int_equal(adv_fabric_run(r.f, 10 * MS), ADV_FABRIC_UNTIL);
		assert_in_range(adv_fabric_acknowledged(r.f, 0), 115000000,
				10 * MS / GBPS_100 * 1024 / RUN_MIDDLE(1024));
		run_close(&r);
	}
}

/* Payload rate of go-back-N without a window that losses reduce, Mb/s: each loss costs the packets
 * that are sent until its NAK has come back. */
static uint64_t go_back_n_rate(double loss, uint64_t round_trip)
{
	double packet = (double)(RUN_MIDDLE(4096) * GBPS_100),
	       lost = loss * (double)round_trip / packet;

	return (uint64_t)(4096.0 / (double)RUN_MIDDLE(4096) * 100000 / (1 + lost));
}

/* Over 10 km, a card's go-back-N has the rate that the round trip gives. With the window that
 * losses halve it has less. */
static void test_go_back_n_of_cards(void **state)
{
	static const char *const losses[] = {"1e-4", "1e-3"};
	static const double values[] = {1e-4, 1e-3};
	uint64_t rate[2][2];

	for (unsigned i = 0; i < 4; i++) {
		struct run r;

		run_open(&r,
			 "[network]\ntopology = pair\ncable = 10km\n[host]\nloss-window = %s\n"
			 "window = 1024\n[flow]\nfrom = 0\nto = 1\nendless = yes\ntimeout = 8\n"
			 "[loss]\nlink = 0\nprobability = %s\n",
			 i / 2 ? "yes" : "no", losses[i % 2]);
		adv_fabric_run(r.f, 400 * MS);
		rate[i / 2][i % 2] = adv_fabric_acknowledged(r.f, 0) * 8 * US / (400 * MS);
		run_close(&r);
	}
	for (unsigned i = 0; i < 2; i++) {
		uint64_t expected = go_back_n_rate(values[i], 100 * US);

		/* A lost NAK or a lost repetition costs a timeout of 1 ms. */
		assert_in_range(rate[0][i], expected * 93 / 100, expected * 103 / 100);
		assert_true(rate[1][i] < expected / 2);
	}
}

/* Mean time of 20 small writes that meet the queue of a large flow in the other direction, ps. */
static uint64_t time_beside_bulk(const char *host)
{
	uint64_t sum = 0;
	struct run r;

	run_open(&r,
		 "[network]\ntopology = dumbbell\nhosts = 3\n[host]\ncongestion-control = none\n%s"
		 "[priority 3]\nxoff = 100kB\n"
		 "[flow]\nfrom = 0\nto = 3\nbytes = 64B\ncount = 20\ninterval = 20us\nstart = "
		 "100us\n"
		 "[flow]\nfrom = 3-5\nto = 1\nendless = yes\n[flow]\nfrom = 3\nto = 0\nendless = "
		 "yes\n",
		 host);
	adv_fabric_run(r.f, 2 * MS);
	for (uint32_t i = 0; i < 20; i++) {
		const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(r.f, i);

		assert_int_equal(t->status, IBV_WC_SUCCESS);
		assert_true(t->end != ADV_CALENDAR_NEVER);
		sum += t->end - t->start;
	}
	run_close(&r);
	return sum / 20;
}

/* Acknowledgements of the data's priority wait in its queues, and stop with it when it is paused.
 * In a strict priority of their own they do neither. */
static void test_ack_priority(void **state)
{
	uint64_t behind = time_beside_bulk(""), apart = time_beside_bulk("ack-priority = 6\n");

	assert_true(behind > 10 * US);
	/* Four cables of 10 m and a frame that is being sent at each of three. */
	assert_true(apart < 8 * 50 * NS + 4 * RUN_MIDDLE(4096) * GBPS_100);
}

/* Time in which a flow gets from nine tenths of the line rate, to which the first CNP sets it, back
 * to all of it, by additive increase alone. */
static uint64_t time_to_recover(unsigned gbps, const char *host)
{
	uint64_t at = 100 * US;
	struct run r;

	run_open(&r,
		 "[network]\ntopology = incast\nsenders = 2\nspeed = %uGb/s\n"
		 "[priority 3]\necn-min = 1kB\necn-max = 2kB\necn-probability = 100%%\n"
		 "[host]\nrpg_byte_reset = 0B\nrate_to_set_on_first_cnp = %uMb/s\n%s"
		 "[flow]\nfrom = 0\nto = 2\nendless = yes\n"
		 "[flow]\nfrom = 1\nto = 2\nbytes = 5kB\n",
		 gbps, gbps * 900, host);
	adv_fabric_run(r.f, at);
	assert_int_equal(adv_fabric_rate_limit(r.f, 0), gbps * 900);
	while (adv_fabric_rate_limit(r.f, 0) && at < 100 * MS) {
		at += 50 * US;
		adv_fabric_run(r.f, at);
	}
	run_close(&r);
	return at;
}

/* Five steps of fast recovery, `steps` of additive increase, and up to 20 in which the rate, half
 * of the distance at a time, gets to the target; 55 us each. The time is sampled every 50 us. */
static void recovers_in(unsigned gbps, const char *host, unsigned steps)
{
	assert_in_range(time_to_recover(gbps, host), (5 + steps + 14) * 55 * US,
			(5 + steps + 20) * 55 * US + 100 * US);
}

/* The step of additive increase grows with the line rate, so the recovery takes as long at 40 Gb/s
 * as at 400 Gb/s. With the paper's value, which is for 40 Gb/s, it takes ten times as long. Given
 * values are used as they are. */
static void test_rates_follow_the_line_rate(void **state)
{
	recovers_in(40, "", 100);
	recovers_in(400, "", 100);
	recovers_in(40, "dcqcn-parameters = paper\n", 100);
	recovers_in(400, "dcqcn-parameters = paper\n", 1000);
	recovers_in(400, "rpg_ai_rate = 800Mb/s\n", 50);
}

/* 99th percentile of the times in which 128 hosts of a fat tree send 1 MB to another host, 1 KB
 * frames, 100 Gb/s, ps; the mean goes to *mean. */
static uint64_t permutation_p99(const char *host, uint64_t *mean)
{
	uint64_t longest[2] = {0, 0};
	struct run r;

	run_open(&r,
		 "[network]\ntopology = fat-tree\nports = 8\n"
		 "[priority 3]\necn-min = 100kB\necn-max = 400kB\necn-probability = 20%%\n"
		 "[host]\nmtu = 1024B\n%s[flow]\nfrom = all\nto = permutation\n",
		 host);
	assert_int_equal(adv_fabric_run(r.f, 20 * MS), ADV_FABRIC_DONE);
	*mean = 0;
	for (uint32_t i = 0; i < 128; i++) {
		uint64_t took = adv_fabric_get_transfer(r.f, i)->end;

		*mean += took / 128;
		if (took > longest[0]) {
			longest[1] = longest[0];
			longest[0] = took;
		} else if (took > longest[1]) {
			longest[1] = took;
		}
	}
	run_close(&r);
	return longest[1];
}

/* ns-3 HPCC's 99th percentile, 351 to 499 us, is that of its parameter CLAMP_TARGET_RATE 0: a
 * second cut keeps the target, so fast recovery goes back to the line rate. In the paper each cut
 * sets the target. Acknowledgements that queue behind data add some per cent to the mean. */
static void test_tail_of_a_fat_tree(void **state)
{
	uint64_t mean, mean_apart, kept;

	assert_true(permutation_p99("", &mean) > 600 * US);
	kept = permutation_p99("clamp_tgt_rate = 0\n", &mean);
	assert_in_range(kept, 350 * US, 500 * US);
	permutation_p99("clamp_tgt_rate = 0\nack-priority = 6\n", &mean_apart);
	assert_in_range(mean_apart, mean * 9 / 10, mean * 99 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allreduce_depends_on_arrival),
		cmocka_unit_test(test_endless_flow_counts_packets),
		cmocka_unit_test(test_go_back_n_of_cards),
		cmocka_unit_test(test_ack_priority),
		cmocka_unit_test(test_rates_follow_the_line_rate),
		cmocka_unit_test(test_tail_of_a_fat_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
