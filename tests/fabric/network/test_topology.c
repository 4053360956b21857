/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "net.h"

/* Returns the number of switches that a flow passes from host to host; 0: it does not arrive. */
static unsigned hops(const struct adv_topology *t, uint32_t from, uint32_t to, uint32_t flow)
{
	uint32_t node = adv_topology_peer(t, from, 0);
	unsigned n = 0;

	while (node >= t->hosts && node != UINT32_MAX && n < 64) {
		const struct adv_route_table *r = &t->routes[node - t->hosts];
		const struct adv_route_set *set = adv_route_find(r, to);

		if (set->count == 0)
			return 0;
		node = adv_topology_peer(t, node, adv_route_pick(r, set, flow, node));
		n++;
	}
	return node == to ? n : 0;
}

static void test_fat_tree(void **state)
{
	struct adv_topology t;

	assert_int_equal(adv_topology_fat_tree(&t, 4, cable_of(1), cable_of(10)), 0);
	assert_int_equal(t.hosts, 16);
	assert_int_equal(t.switches, 20);
	assert_int_equal(t.links, 16 + 16 + 16);
	for (uint32_t s = 0; s < t.switches; s++)
		assert_int_equal(t.ports[t.hosts + s], 4);
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < 16; b++)
			for (uint32_t flow = 0; a != b && flow < 8; flow++)
				assert_int_equal(hops(&t, a, b, flow), a / 2 == b / 2	? 1
								       : a / 4 == b / 4 ? 3
											: 5);
	/* To other pods, an edge uses both aggregations, and an aggregation both of its cores. */
	assert_int_equal(adv_route_find(&t.routes[0], 15)->count, 2);
	assert_int_equal(adv_route_find(&t.routes[8], 15)->count, 2);
	assert_int_equal(adv_route_find(&t.routes[16], 15)->count, 1);
	adv_topology_free(&t);
}

/* Three servers of four NICs in each of two pods. */
static void test_rails(void **state)
{
	const struct adv_rails r = {.rails = 4, .pods = 2, .servers = 3, .spines = 5};
	struct adv_topology t;

	assert_int_equal(adv_topology_rails(&t, &r, cable_of(1), cable_of(10)), 0);
	assert_int_equal(t.hosts, 24);
	assert_int_equal(t.switches, 8 + 5);
	assert_int_equal(t.links, 24 + 8 * 5);
	for (uint32_t a = 0; a < 24; a++)
		for (uint32_t b = 0; b < 24; b++)
			if (a != b)
				assert_int_equal(hops(&t, a, b, 7),
						 a / 12 == b / 12 && a % 4 == b % 4 ? 1 : 3);
	assert_int_equal(adv_route_find(&t.routes[0], 1)->count, 5);
	adv_topology_free(&t);
}

/* Every router has its ports in use, and a host is at most a local, a global and a local cable
 * away.
 */
static void test_dragonfly(void **state)
{
	static const struct adv_dragonfly sizes[] = {{4, 2, 2}, {2, 1, 1}, {3, 2, 4}, {1, 3, 2}};

	for (unsigned i = 0; i < 4; i++) {
		const struct adv_dragonfly *d = &sizes[i];
		uint32_t groups = d->routers * d->globals + 1, longest = 0;
		struct adv_topology t;

		assert_int_equal(
			adv_topology_dragonfly(&t, d, cable_of(1), cable_of(2), cable_of(100)), 0);
		assert_int_equal(t.switches, groups * d->routers);
		assert_int_equal(t.hosts, t.switches * d->hosts);
		for (uint32_t s = 0; s < t.switches; s++)
			assert_int_equal(t.ports[t.hosts + s],
					 d->hosts + d->routers - 1 + d->globals);
		for (uint32_t b = 1; b < t.hosts; b++) {
			uint32_t n = hops(&t, 0, b, b);

			assert_in_range(n, 1, 4);
			longest = n > longest ? n : longest;
		}
		assert_int_equal(longest, d->routers > 1 ? 4 : 2);
		adv_topology_free(&t);
	}
}

static void test_others(void **state)
{
	struct adv_topology t;

	assert_int_equal(adv_topology_leaf_spine(&t, 4, 3, 5, cable_of(1), cable_of(10)), 0);
	assert_int_equal(t.hosts, 20);
	assert_int_equal(adv_route_find(&t.routes[0], 19)->count, 3);
	assert_int_equal(hops(&t, 0, 4, 1), 1);
	assert_int_equal(hops(&t, 0, 19, 1), 3);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_parking_lot(&t, 5, 2, cable_of(1), cable_of(1)), 0);
	assert_int_equal(hops(&t, 0, 9, 1), 5);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_dumbbell(&t, 3, cable_of(1), cable_of(1)), 0);
	assert_int_equal(hops(&t, 0, 2, 1), 1);
	assert_int_equal(hops(&t, 0, 3, 1), 2);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_ring(&t, 6, 1, cable_of(1), cable_of(1)), 0);
	assert_int_equal(hops(&t, 0, 5, 1), 2);
	assert_int_equal(hops(&t, 0, 2, 1), 3);
	assert_int_equal(adv_topology_ring_one_way(&t), 0);
	assert_int_equal(hops(&t, 0, 5, 1), 6);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_incast(&t, 9, cable_of(1)), 0);
	assert_int_equal(t.hosts, 10);
	assert_int_equal(hops(&t, 8, 9, 1), 1);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_pair(&t, cable_of(1)), 0);
	assert_int_equal(adv_topology_peer(&t, 0, 0), 1);
	adv_topology_free(&t);
}

/* Follows all paths that frames for `host` may take from a directed cable, and records for each
 * cable the cables for which it may wait. */
static void depend(const struct adv_topology *t, uint32_t host, bool *edge, uint32_t in)
{
	uint32_t node = t->link[in / 2].end[1 - in % 2].node;
	const struct adv_route_table *r;
	const struct adv_route_set *set;

	if (node < t->hosts)
		return;
	r = &t->routes[node - t->hosts];
	set = adv_route_find(r, host);
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t out = 0; out < 2 * t->links; out++) {
			const struct adv_link_end *e = &t->link[out / 2].end[out % 2];

			if (e->node != node || e->port != r->port[set->first + i])
				continue;
			if (edge[in * 2 * t->links + out])
				continue;
			edge[in * 2 * t->links + out] = true;
			depend(t, host, edge, out);
		}
}

static bool is_cyclic(const bool *edge, uint32_t n)
{
	bool *gone = calloc(n, sizeof(*gone)), changed = true, left = false;

	while (changed) {
		changed = left = false;
		for (uint32_t i = 0; i < n; i++) {
			bool waits = false;

			for (uint32_t k = 0; !gone[i] && k < n; k++)
				waits |= edge[i * n + k] && !gone[k];
			changed |= !gone[i] && !waits;
			left |= waits;
			gone[i] = !waits;
		}
	}
	free(gone);
	return left;
}

/* True if buffers may wait for each other in a cycle with the current routes. The frames of each
 * host are followed separately, because a search ends at an edge that exists already. */
static bool has_cyclic_dependency(const struct adv_topology *t)
{
	uint32_t n = 2 * t->links;
	bool *all = calloc((size_t)n * n, sizeof(*all)), *one = calloc((size_t)n * n, sizeof(*one));
	bool result;

	for (uint32_t to = 0; to < t->hosts; to++) {
		memset(one, 0, (size_t)n * n * sizeof(*one));
		for (uint32_t in = 0; in < n; in++)
			if (t->link[in / 2].end[in % 2].node < t->hosts)
				depend(t, to, one, in);
		for (uint32_t i = 0; i < n * n; i++)
			all[i] |= one[i];
	}
	result = is_cyclic(all, n);
	free(all);
	free(one);
	return result;
}

static void test_up_down_has_no_cycle(void **state)
{
	struct adv_topology t;
	uint32_t host;

	assert_int_equal(adv_topology_ring(&t, 6, 1, cable_of(1), cable_of(1)), 0);
	assert_true(has_cyclic_dependency(&t));
	assert_int_equal(adv_topology_route(&t, ADV_ROUTES_UP_DOWN, &host), 0);
	assert_false(has_cyclic_dependency(&t));
	for (uint32_t a = 0; a < 6; a++)
		for (uint32_t b = 0; b < 6; b++)
			assert_true(a == b || hops(&t, a, b, 1));
	assert_int_equal(adv_topology_ring_one_way(&t), 0);
	assert_true(has_cyclic_dependency(&t));
	adv_topology_free(&t);
	assert_int_equal(adv_topology_fat_tree(&t, 4, cable_of(1), cable_of(1)), 0);
	assert_false(has_cyclic_dependency(&t));
	assert_int_equal(adv_topology_route(&t, ADV_ROUTES_UP_DOWN, &host), 0);
	assert_false(has_cyclic_dependency(&t));
	for (uint32_t b = 1; b < 16; b++)
		assert_int_equal(hops(&t, 0, b, 3), b == 1 ? 1 : b < 4 ? 3 : 5);
	adv_topology_free(&t);
}

/* In any connected network, up-down routes reach all hosts and have no cyclic dependency. */
static void test_up_down_of_random_networks(void **state)
{
	struct adv_rng r;

	adv_rng_seed(&r, 7);
	for (unsigned round = 0; round < 30; round++) {
		uint32_t n = 3 + (uint32_t)adv_rng_below(&r, 7), host;
		struct adv_topology t;

		assert_int_equal(adv_topology_init(&t, n, n), 0);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(adv_topology_link(&t, i, n + i, cable_of(1)), 0);
		for (uint32_t i = 1; i < n; i++)
			assert_int_equal(adv_topology_link(&t, n + i,
							   n + (uint32_t)adv_rng_below(&r, i),
							   cable_of(1)),
					 0);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t a = (uint32_t)adv_rng_below(&r, n);
			uint32_t b = (uint32_t)adv_rng_below(&r, n);

			if (a != b)
				assert_int_equal(adv_topology_link(&t, n + a, n + b, cable_of(1)),
						 0);
		}
		assert_int_equal(adv_topology_route(&t, ADV_ROUTES_UP_DOWN, &host), 0);
		assert_false(has_cyclic_dependency(&t));
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < n; b++)
				assert_true(a == b || hops(&t, a, b, round));
		adv_topology_free(&t);
	}
}

static void test_errors(void **state)
{
	struct adv_topology t;
	uint32_t host;

	assert_int_equal(adv_topology_init(&t, 0, 1), EINVAL);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_init(&t, 2, 2), 0);
	assert_int_equal(adv_topology_link(&t, 0, 0, cable_of(1)), EINVAL);
	assert_int_equal(adv_topology_link(&t, 0, 4, cable_of(1)), EINVAL);
	assert_int_equal(adv_topology_link(&t, 0, 2, (struct adv_cable){0, 0}), EINVAL);
	assert_int_equal(adv_topology_link(&t, 0, 2, cable_of(1)), 0);
	assert_int_equal(adv_topology_link(&t, 0, 3, cable_of(1)), EINVAL);
	assert_int_equal(adv_topology_route(&t, ADV_ROUTES_SHORTEST, &host), EHOSTUNREACH);
	assert_int_equal(adv_topology_link(&t, 1, 3, cable_of(1)), 0);
	assert_int_equal(adv_topology_route(&t, ADV_ROUTES_SHORTEST, &host), EHOSTUNREACH);
	assert_int_equal(host, 0);
	assert_int_equal(adv_topology_route_by(&t, 2, 1, 3), EINVAL);
	assert_int_equal(adv_topology_link(&t, 2, 3, cable_of(1)), 0);
	assert_int_equal(adv_topology_route(&t, ADV_ROUTES_UP_DOWN, &host), 0);
	assert_int_equal(adv_topology_route_by(&t, 2, 1, 3), 0);
	assert_int_equal(adv_topology_peer(&t, 3, 9), UINT32_MAX);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_fat_tree(&t, 3, cable_of(1), cable_of(1)), EINVAL);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_ring(&t, 2, 1, cable_of(1), cable_of(1)), EINVAL);
	adv_topology_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fat_tree),
		cmocka_unit_test(test_rails),
		cmocka_unit_test(test_dragonfly),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_up_down_has_no_cycle),
		cmocka_unit_test(test_up_down_of_random_networks),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
