/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of durations, and how an engine fills its own. */
#include "harness.h"
#include "nic/engine/latency.h"
#include "nic/engine/resources.h"

/* Each duration is in the bucket whose bounds enclose it; the buckets leave no gap. */
static void bounds(void **state)
{
	uint64_t below = 0;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++) {
		uint64_t bound = adv_latency_bound(i);

		assert_true(bound > below);
		assert_int_equal(bound % ADV_LATENCY_UNIT, 0);
		if (below >= 1000)
			assert_true((bound - below) * 4 <= below + 4 * 64);
		if (bound / ADV_LATENCY_UNIT <= UINT32_MAX) {
			assert_int_equal(adv_latency_bucket((uint32_t)(bound / 64) - 1), i);
			assert_int_equal(adv_latency_bucket((uint32_t)(bound / 64)), i + 1);
		}
		below = bound;
	}
	assert_int_equal(adv_latency_bucket(0), 0);
	assert_true(adv_latency_bucket(UINT32_MAX) < ADV_LATENCY_BUCKETS);
	assert_int_equal(adv_latency_bound(3), 256);
	assert_int_equal(adv_latency_bound(7), 256 + 512);
}

/* Time stamps wrap; a duration across the wrap is right. */
static void wraps(void **state)
{
	uint64_t posted = ((1ull << 38) - 640) + (5ull << 38), now = posted + 1280;

	assert_int_equal(adv_latency_time(now) - adv_latency_time(posted), 20);
}

static void quantiles(void **state)
{
	uint64_t bucket[ADV_LATENCY_BUCKETS] = {0};

	assert_int_equal(adv_latency_quantile(bucket, 0.5), 0);
	assert_int_equal(adv_latency_count(bucket), 0);
	/* 99 durations of 2 us and one of 1 ms */
	bucket[adv_latency_bucket(2000 / 64)] = 99;
	bucket[adv_latency_bucket(1000000 / 64)] = 1;
	assert_int_equal(adv_latency_count(bucket), 100);
	assert_in_range(adv_latency_quantile(bucket, 0.5), 1600, 2400);
	assert_in_range(adv_latency_quantile(bucket, 0.99), 1600, 2400);
	assert_in_range(adv_latency_quantile(bucket, 0.995), 800000, 1200000);
	assert_in_range(adv_latency_quantile(bucket, 1), 800000, 1200000);
	assert_in_range(adv_latency_sum(bucket), 1000000, 1400000);
	/* durations that are spread evenly: the estimate is exact up to a unit */
	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		bucket[i] = 0;
	for (uint32_t ns = 0; ns < 1000000; ns += ADV_LATENCY_UNIT)
		bucket[adv_latency_bucket(ns / ADV_LATENCY_UNIT)]++;
	assert_in_range(adv_latency_quantile(bucket, 0.1), 99000, 101000);
	assert_in_range(adv_latency_quantile(bucket, 0.5), 495000, 505000);
	assert_in_range(adv_latency_sum(bucket) / adv_latency_count(bucket), 490000, 510000);
}

/* ---- an engine's own ---- */

struct bed {
	struct net *net;
	struct end *a, *b;
	struct region *ra, *rb;
};

static void bed_open(struct bed *bed, const struct adv_engine_config *c, enum ibv_qp_type type)
{
	struct options o = options_default(type);

	bed->net = net_open_config(2, c);
	bed->ra = region_open(&bed->net->node[0], 65536, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 65536, ALL_ACCESS);
	pair_open(bed->net, &o, &bed->a, &bed->b);
}

static const struct adv_engine_work *work_of(const struct bed *bed, unsigned node)
{
	return adv_engine_work(bed->net->node[node].e);
}

/* Posts requests of several kinds, signaled and not, and one that is flushed. */
static void use(struct bed *bed)
{
	end_recv(bed->b, 1, bed->rb, 0, 64);
	end_op(bed->a, IBV_WR_SEND, 1, bed->ra, 0, 64, NULL, 0);
	end_op(bed->a, IBV_WR_RDMA_WRITE, 2, bed->ra, 0, 8192, bed->rb, 0);
	end_op(bed->a, IBV_WR_RDMA_READ, 3, bed->ra, 0, 64, bed->rb, 0);
	net_until(bed->net, bed->a, 3, 0, SEC);
	assert_int_equal(end_to_state(bed->a, IBV_QPS_ERR), 0);
	end_op(bed->a, IBV_WR_RDMA_WRITE, 4, bed->ra, 0, 64, bed->rb, 0);
	net_until(bed->net, bed->a, 4, 0, SEC);
}

static void check_counts(bool no_fast_path, bool no_latency)
{
	struct adv_engine_config c = {
		.seed = {1}, .no_fast_path = no_fast_path, .no_latency = no_latency};
	const struct adv_engine_work *w;
	struct bed bed;

	bed_open(&bed, &c, IBV_QPT_RC);
	use(&bed);
	w = work_of(&bed, 0);
	assert_int_equal(adv_latency_count(w->send_latency), no_latency ? 0 : 3);
	assert_int_equal(w->recv_completed, 0);
	assert_int_equal(w->qps_created - w->qps_destroyed, 1);
	w = work_of(&bed, 1);
	assert_int_equal(adv_latency_count(w->send_latency), 0);
	assert_int_equal(w->recv_completed, 1);
	end_close(bed.b);
	assert_int_equal(w->qps_destroyed, 1);
	end_close(bed.a);
	net_close(bed.net);
}

static void counts(void **state)
{
	check_counts(false, false);
	check_counts(true, false);
	check_counts(false, true);
}

/* A request is as old as the wait for its receive request, not as its transmission. */
static void from_post(void **state)
{
	struct adv_engine_config c = {.seed = {1}};
	const uint64_t wait = 50 * MS;
	struct bed bed;
	uint64_t took;

	bed_open(&bed, &c, IBV_QPT_RC);
	end_op(bed.a, IBV_WR_SEND, 1, bed.ra, 0, 64, NULL, 0);
	net_run(bed.net, wait);
	end_recv(bed.b, 1, bed.rb, 0, 64);
	net_until(bed.net, bed.a, 1, 0, SEC);
	took = adv_latency_quantile(work_of(&bed, 0)->send_latency, 1);
	assert_in_range(took, wait, wait + 100 * MS);
	end_close(bed.a);
	end_close(bed.b);
	net_close(bed.net);
}

/* Reads the histogram of the only QP of a node as tools do. Returns the number of pieces. */
static unsigned read_pieces(const struct bed *bed, unsigned node,
			    uint64_t bucket[ADV_LATENCY_BUCKETS], uint32_t *qpn)
{
	struct adv_object o[4];
	const void *owners[4];
	uint64_t from = 0;
	unsigned pieces = 0;

	while (from != ADV_RESOURCES_END) {
		unsigned n = adv_engine_resources(bed->net->node[node].e, ADV_RESOURCE_LATENCY,
						  &from, o, owners, 1);

		for (unsigned i = 0; i < n; i++) {
			*qpn = o[i].number;
			for (unsigned k = 0; k < ADV_RESOURCE_BUCKETS; k++)
				bucket[o[i].latency.first + k] += o[i].latency.count[k];
		}
		pieces += n;
	}
	return pieces;
}

/* Each queue pair has a histogram of its own from its first request on, which tools read. */
static void of_queue_pairs(void **state)
{
	struct adv_engine_config c = {.seed = {1}};
	uint64_t bucket[ADV_LATENCY_BUCKETS] = {0};
	struct bed bed;
	uint32_t qpn = 0;

	bed_open(&bed, &c, IBV_QPT_RC);
	assert_int_equal(read_pieces(&bed, 0, bucket, &qpn), 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 64, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	/* This one takes more than 2 ms, so it is in the second piece. */
	end_op(bed.a, IBV_WR_SEND, 2, bed.ra, 0, 64, NULL, 0);
	net_run(bed.net, 50 * MS);
	end_recv(bed.b, 1, bed.rb, 0, 64);
	net_until(bed.net, bed.a, 2, 0, SEC);
	assert_int_equal(read_pieces(&bed, 0, bucket, &qpn), 2);
	assert_int_equal(qpn, bed.a->qp->qpn);
	assert_memory_equal(bucket, work_of(&bed, 0)->send_latency, sizeof(bucket));
	assert_int_equal(adv_latency_count(bucket), 2);
	assert_int_equal(read_pieces(&bed, 1, bucket, &qpn), 0);
	end_close(bed.a);
	end_close(bed.b);
	net_close(bed.net);
}

/* An engine that keeps no histograms has none for tools, and one that counts in its caller's memory
 * moves what it has counted there. */
static void elsewhere(void **state)
{
	struct adv_engine_config c = {.seed = {1}};
	uint64_t first[ADV_LATENCY_BUCKETS], second[ADV_LATENCY_BUCKETS];
	struct bed bed;
	uint32_t qpn;

	bed_open(&bed, &c, IBV_QPT_RC);
	adv_engine_set_latency(bed.net->node[0].e, first);
	assert_int_equal(adv_latency_count(first), 0);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 64, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(adv_latency_count(first), 1);
	adv_engine_set_latency(bed.net->node[0].e, second);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 2, bed.ra, 0, 64, bed.rb, 0);
	net_until(bed.net, bed.a, 2, 0, SEC);
	assert_int_equal(adv_latency_count(first), 1);
	assert_int_equal(adv_latency_count(second), 2);
	end_close(bed.a);
	end_close(bed.b);
	net_close(bed.net);
	c.no_latency = true;
	bed_open(&bed, &c, IBV_QPT_RC);
	adv_engine_set_latency(bed.net->node[0].e, first);
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 64, bed.rb, 0);
	net_until(bed.net, bed.a, 1, 0, SEC);
	assert_int_equal(adv_latency_count(first), 1);
	assert_int_equal(read_pieces(&bed, 0, second, &qpn), 0);
	end_close(bed.a);
	end_close(bed.b);
	net_close(bed.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),    cmocka_unit_test(wraps),
		cmocka_unit_test(quantiles), cmocka_unit_test(counts),
		cmocka_unit_test(from_post), cmocka_unit_test(of_queue_pairs),
		cmocka_unit_test(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
