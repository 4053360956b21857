/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collectives, pipelines and random traffic beside times that follow from their definitions. */
#include <stdio.h>

#include "run.h"

#define CABLE (10 * 5 * NS) /* 10 m */

/* Time until a message of one or more full packets is at a host behind one switch, 100 Gb/s. */
static uint64_t arrival(uint64_t packets)
{
	return ((packets + 1) * RUN_MIDDLE(4096) + 16 + (packets == 1 ? 16 : 0)) * GBPS_100 +
	       2 * CABLE;
}

static void open_collective(struct run *r, unsigned hosts, const char *flow)
{
	run_open(r, "[network]\ntopology = incast\nsenders = %u\n[flow]\nfrom = all\n%s", hosts - 1,
		 flow);
}

/* Checks the end of the last transfer: `expected`, and up to an ACK that goes first for each of
 * `steps`. */
static void ends_at(struct run *r, uint64_t expected, unsigned steps)
{
	const struct adv_scenario_flow *flow = r->s.list[ADV_SCENARIO_FLOWS].item;
	uint64_t last = 0;

	run_to_end(r);
	for (uint32_t i = 0; i < flow->jobs; i++) {
		const struct adv_fabric_transfer_state *t =
			adv_fabric_get_transfer(r->f, flow->first_job + i);

		assert_int_equal(t->status, IBV_WC_SUCCESS);
		if (t->end > last)
			last = t->end;
	}
	expected += 2 * (RUN_ACK * GBPS_100 + CABLE);
	assert_in_range(last, expected, expected + steps * RUN_ACK * GBPS_100);
	run_close(r);
}

/* N - 1 steps of a ring, each of a packet; reduce: all but the first wait for the sum. */
static void test_rings(void **state)
{
	struct run r;

	open_collective(&r, 8, "pattern = allgather\nbytes = 32768B\n");
	ends_at(&r, 7 * arrival(1), 7);
	open_collective(&r, 8, "pattern = reduce-scatter\nbytes = 32768B\nreduce = 3us\n");
	ends_at(&r, 7 * arrival(1) + 6 * 3 * US, 7);
	open_collective(&r, 8, "pattern = allreduce\nbytes = 32768B\nreduce = 3us\n");
	ends_at(&r, 14 * arrival(1) + 7 * 3 * US, 14);
	open_collective(&r, 8, "pattern = allreduce\nbytes = 32768B\ncount = 3\ncompute = 20us\n");
	ends_at(&r, 3 * 14 * arrival(1) + 2 * 20 * US, 3 * 14);
}

/* Halving-doubling of 8 hosts: 4, 2 and 1 packets, and back. */
static void test_halving_doubling(void **state)
{
	struct run r;

	open_collective(&r, 8,
			"pattern = allreduce\nalgorithm = halving-doubling\nbytes = 32768B\n"
			"reduce = 1us\n");
	ends_at(&r, 2 * (arrival(4) + arrival(2) + arrival(1)) + 3 * US, 6);
}

/* Two groups of 4: 3 steps in each, 2 across, 3 in each. Pieces of 2, 1 and 2 packets. */
static void test_hierarchy(void **state)
{
	struct run r;

	open_collective(
		&r, 8,
		"pattern = allreduce\nalgorithm = hierarchical\ngroup = 4\nbytes = 32768B\n");
	ends_at(&r, 6 * arrival(2) + 2 * arrival(1), 2 * 8);
}

/* A chain of two ranks has the times of a tree: up, the sum, down. Of 7 ranks the two children of a
 * rank share its cable on the way up, and it sends to both on the way down. */
static void test_tree(void **state)
{
	uint64_t packet = RUN_FIRST(4096) * GBPS_100;
	struct run r;

	open_collective(&r, 2,
			"pattern = allreduce\nalgorithm = tree\nbytes = 4096B\nreduce = 2us\n");
	ends_at(&r, 2 * arrival(1) + 2 * US, 2);
	open_collective(&r, 7,
			"pattern = allreduce\nalgorithm = tree\nbytes = 4096B\nreduce = 2us\n");
	ends_at(&r, 4 * arrival(1) + 4 * packet + 2 * 2 * US, 8);
}

/* Each of 8 hosts sends 7 packets and receives 7 at the same time. */
static void test_all_to_all(void **state)
{
	const struct adv_scenario_flow *flow;
	struct run r;

	open_collective(&r, 8, "pattern = alltoall\nbytes = 32768B\n");
	flow = r.s.list[ADV_SCENARIO_FLOWS].item;
	assert_int_equal(flow->transfers, 8 * 7);
	run_to_end(&r);
	assert_in_range(adv_fabric_now(r.f), 7 * RUN_FIRST(4096) * GBPS_100,
			14 * RUN_FIRST(4096) * GBPS_100);
	run_close(&r);
}

/* GPipe: with M micro-batches and K stages of equal time c, M + K - 1 times c there and as many
 * back. The transfers of a packet between stages are K - 1 more each way. */
static void test_pipeline(void **state)
{
	enum { M = 5, K = 4 };
	const struct adv_scenario_flow *flow;
	uint64_t expected = 2 * ((M + K - 1) * 50 * US + (K - 1) * arrival(1)), last = 0;
	struct run r;

	open_collective(
		&r, K,
		"pattern = pipeline\npieces = 5\nbytes = 4096B\ncompute = 50us\nstart = 7us\n");
	flow = r.s.list[ADV_SCENARIO_FLOWS].item;
	assert_int_equal(flow->transfers, 2 * M * (K - 1));
	run_to_end(&r);
	for (uint32_t i = 0; i < flow->jobs; i++)
		if (adv_fabric_get_transfer(r.f, i)->end > last)
			last = adv_fabric_get_transfer(r.f, i)->end;
	/* The backward way of the last stage begins after its last micro-batch, without a transfer.
	 */
	assert_in_range(last, 7 * US + expected, 7 * US + expected + 2 * K * RUN_ACK * GBPS_100);
	run_close(&r);
}

/* Random destinations at 30 % of each host's cable: the offered payload is 30 % of the rate, within
 * the spread of some 10,000 transfers. All hosts are reached, and none sends to itself. */
static void test_load(void **state)
{
	static const char *const sizes[] = {"bytes = 20kB", "sizes = exponential\nbytes = 20kB",
					    "sizes = storage", "sizes = hadoop"};

	for (unsigned i = 0; i < 4; i++) {
		const struct adv_scenario_flow *flow;
		bool reached[16] = {false};
		double offered = 0;
		struct run r;

		run_open(
			&r,
			"[network]\ntopology = incast\nsenders = 15\n"
			"[flow]\nfrom = all\nto = random\nload = 0.3\n%s\n[run]\nduration = 40ms\n",
			sizes[i]);
		flow = r.s.list[ADV_SCENARIO_FLOWS].item;
		for (uint32_t k = 0; k < flow->jobs; k++) {
			const struct adv_fabric_transfer_state *t =
				adv_fabric_get_transfer(r.f, flow->first_job + k);
			const struct adv_fabric_connection *c =
				adv_fabric_get_connection(r.f, t->connection);

			offered += (double)t->bytes * 8;
			assert_int_not_equal(c->initiator, c->target);
			reached[c->target] = true;
		}
		assert_in_range((uint64_t)(offered / (16 * 100e9 * 0.040) * 1000), 270, 330);
		for (unsigned h = 0; h < 16; h++)
			assert_true(reached[h]);
		run_close(&r);
	}
}

static void refused(const char *flow, const char *expected)
{
	char text[512], why[ADV_SCENARIO_WHY] = "";
	struct run r;
	int n = snprintf(text, sizeof(text),
			 "[network]\ntopology = incast\nsenders = 5\n[flow]\nfrom = all\n%s\n",
			 flow);
	bool good = adv_scenario_read(&r.s, "x.ini", text, (size_t)n, why) &&
		    adv_scenario_build(&r.s, &r.t, &r.f, why);

	adv_scenario_free(&r.s);
	if (good || !strstr(why, expected))
		fail_msg("expected '%s', got '%s'", expected, good ? "no error" : why);
}

static void test_errors(void **state)
{
	refused("pattern = alltoall\nto = 0", "collective needs `from`");
	refused("pattern = alltoall\nsizes = hadoop", "has no `endless`, `sizes`");
	refused("pattern = alltoall\nalgorithm = tree", "algorithm is for pattern = allreduce");
	refused("pattern = allreduce\nalgorithm = halving-doubling",
		"halving-doubling: expected a power of two of hosts, `from` has 6");
	refused("pattern = allreduce\nalgorithm = hierarchical", "[flow] group = 0: ");
	refused("pattern = allreduce\nalgorithm = hierarchical\ngroup = 4", "[flow] group = 4: ");
	refused("pattern = allgather\npieces = 2", "[flow] pieces = 2: is for");
	refused("pattern = allgather\ncount = 10000000\n", "count = 10000000: expected");
	refused("to = next\nload = 0.5", "[flow] load = 0.5: is for to = random");
	refused("to = random", "to = random needs `load` or `interval`");
	refused("to = random\nload = 0.5\ninterval = 1us", "load = 0.5: has no effect");
	refused("to = next\nreduce = 1us", "are for the pattern of a collective");
	refused("to = random\nload = 2", "[flow] load = 2: expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings),	   cmocka_unit_test(test_halving_doubling),
		cmocka_unit_test(test_hierarchy),  cmocka_unit_test(test_tree),
		cmocka_unit_test(test_all_to_all), cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_load),	   cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
