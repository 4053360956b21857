/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares the planners' results with the simulated switch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/units.h"
#include "../switch/bench.h"
#include "fabric/plan/buffer.h"
#include "fabric/plan/ecn.h"
#include "fabric/plan/ets.h"
#include "fabric/plan/headroom.h"
#include "fabric/plan/network.h"
#include "../network/net.h"

/* Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4, FCS 4, and 4,096 of payload. */
#define FRAME (14 + 20 + 8 + 12 + 16 + 4096 + 4 + 4)

/* ---- headroom ---- */

/* Returns the largest headroom that a port used in an incast with traffic both ways, and the
 * lost frames. */
static uint32_t headroom_used(unsigned metres, uint32_t headroom, uint64_t *lost)
{
	uint32_t most = 0;
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(metres)), 0);
	net_open(&n);
	n.config.class[3].xoff = 50000;
	n.config.class[3].headroom = headroom;
	net_start(&n);
	for (uint32_t h = 0; h < 4; h++) {
		net_write(&n, h, 4, 26, 1000000);
		net_write(&n, 4, h, 26, 1000000);
	}
	adv_fabric_run(n.f, 500 * US);
	for (unsigned p = 0; p < 5; p++) {
		const struct adv_ingress *in = adv_switch_ingress(adv_fabric_switch(n.f, 0), p, 3);

		most = in->most_headroom > most ? in->most_headroom : most;
	}
	*lost = net_drops(&n, ADV_DROP_HEADROOM);
	net_close(&n);
	return most;
}

/* With the planned headroom no frame is lost, and at most three frames of the headroom are unused.
 */
static void test_headroom(void **state)
{
	struct adv_fabric_config defaults;

	adv_fabric_defaults(&defaults);
	for (unsigned metres = 0; metres <= 500; metres = metres ? 3 * metres : 5) {
		struct adv_plan_link l = {.speed = 100000000000,
					  .delay = metres * 5000ull,
					  .max_frame = FRAME,
					  .lossless_frame = FRAME,
					  .whole_frames = true};
		struct adv_plan_headroom h;
		uint64_t lost;
		uint32_t used;

		l.response_bits = adv_plan_bits(l.speed, defaults.pause_response);
		assert_null(adv_plan_headroom(&l, &h));
		used = headroom_used(metres, (uint32_t)h.headroom, &lost);
		print_message("%4u m: %u bytes planned, %u used\n", metres, (unsigned)h.headroom,
			      used);
		assert_int_equal(lost, 0);
		assert_in_range(used, h.headroom - 3 * FRAME, h.headroom);
		headroom_used(metres, (uint32_t)h.headroom - 3 * FRAME, &lost);
		assert_true(lost > 0);
	}
}

/* ---- buffer ---- */

/* Fills priority 3 of `ports` ports in turn until each port is paused. Sets held[] to the bytes of
 * each port then. */
static void fill(struct bench *b, unsigned ports, uint64_t held[BENCH_PORTS])
{
	unsigned paused = 0;

	for (unsigned i = 0; i < 100000 && paused < ports; i++) {
		unsigned port = i % ports;
		const struct adv_ingress *in = adv_switch_ingress(b->s, port, 3);

		if (in->paused)
			continue;
		bench_in(b, 0, port, 3, 3, 200);
		if (!in->paused)
			continue;
		held[port] = in->used;
		paused++;
	}
	assert_int_equal(paused, ports);
}

static void test_dynamic_threshold(void **state)
{
	static const uint32_t alphas[] = {64, 128, 512, 1024, 8192}; /* in units of 1/1024 */

	for (unsigned i = 0; i < 5; i++)
		for (unsigned ports = 1; ports <= 3; ports++) {
			uint64_t held[BENCH_PORTS] = {0}, shared, want;
			struct bench b;

			bench_open(&b);
			b.class[3].xoff = 0;
			b.class[3].alpha_1024 = alphas[i];
			bench_start(&b);
			shared = b.config.buffer - BENCH_PORTS * b.class[3].headroom;
			want = adv_plan_dynamic_threshold(shared, alphas[i] * ADV_RATIO_ONE / 1024,
							  ports);
			fill(&b, ports, held);
			for (unsigned p = 0; p < ports; p++)
				assert_in_range(held[p], want - 400 * ports, want + 400 * ports);
			while (bench_out(&b, 0, 3, NULL) || bench_out(&b, 0, 0, NULL) ||
			       bench_out(&b, 0, 1, NULL) || bench_out(&b, 0, 2, NULL))
				;
			bench_close(&b);
		}
}

/* ---- ecn ---- */

/* Sends random frames from one ingress to stopped outputs and keeps each output queue below
 * `limit`. Returns the number of pauses of the ingress. */
static uint64_t pauses_below(const struct adv_plan_ecn_switch *plan, uint64_t limit)
{
	uint64_t filled[BENCH_PORTS] = {0}, pauses;
	struct adv_rng rng;
	struct bench b;

	adv_rng_seed(&rng, 1);
	bench_open(&b);
	b.config.buffer = plan->buffer;
	b.class[3].xoff = 0;
	b.class[3].headroom = (uint32_t)plan->headroom;
	b.class[3].alpha_1024 = (uint32_t)(plan->beta * 1024 / ADV_RATIO_ONE);
	bench_start(&b);
	for (unsigned i = 0; i < 100000; i++) {
		unsigned to = (unsigned)adv_rng_below(&rng, BENCH_PORTS);
		uint32_t bytes = 64 + (uint32_t)adv_rng_below(&rng, 200);

		if (filled[to] + bytes > limit)
			continue;
		filled[to] += bytes;
		bench_in(&b, 0, 0, to, 3, bytes);
	}
	pauses = b.events[ADV_SWITCH_XOFF];
	for (unsigned p = 0; p < BENCH_PORTS; p++)
		while (bench_out(&b, 0, p, NULL))
			;
	bench_close(&b);
	return pauses;
}

/* All queued frames have arrived at one port. If the output queues are below the bound of K_min,
 * the port is not paused; above the bound it is. (The resolution is that of the switch's alpha,
 * 1/1024.) */
static void test_ecn_before_pfc(void **state)
{
	static const uint64_t beta_1024[] = {64, 128, 1024, 8192};

	for (unsigned i = 0; i < 4; i++) {
		struct adv_plan_ecn_switch plan = {1000000, BENCH_PORTS, 1, 20000,
						   beta_1024[i] * ADV_RATIO_ONE / 1024};
		struct adv_plan_ecn e;

		assert_null(adv_plan_ecn(&plan, &e));
		assert_int_equal(pauses_below(&plan, e.t_ecn), 0);
		assert_true(pauses_below(&plan, e.t_ecn + 400) > 0);
	}
}

/* ---- ets ---- */

struct source {
	uint64_t bytes_due; /* bytes on the wire that are due to be sent, times 10^6 */
	uint64_t sent;	    /* bytes on the wire */
};

/* Sends for 1 ms at 100 Gb/s from classes with the demands of c[]. */
static void run_ets(const struct adv_plan_class c[8], struct source s[8])
{
	uint8_t weight[ADV_PRIORITIES] = {0};
	struct adv_packet_pool pool = {0};
	struct adv_egress e = {0};

	for (unsigned i = 0; i < 8; i++)
		weight[i] = (uint8_t)(c[i].strict ? 0 : c[i].share / (ADV_RATIO_ONE / 100));
	adv_egress_init(&e, GBPS_100, weight);
	for (uint64_t now = 0, step; now < 1000 * US; now += step) {
		struct adv_packet *p = adv_egress_pop(&e);

		step = p ? adv_wire_time(GBPS_100, p->bytes) : 10 * NS;
		if (p) {
			s[p->priority].sent += p->bytes + ADV_WIRE_OVERHEAD;
			adv_packet_give_back(&pool, p);
		}
		for (unsigned i = 0; i < 8; i++) {
			/* bit/s x ps / 8 = 10^-12 bytes */
			s[i].bytes_due += c[i].demand / 1000000 * step / 8;
			while (c[i].used && s[i].bytes_due >= 1020 * 1000000ull &&
			       e.queue[i].count < 100) {
				p = adv_packet_take(&pool);
				assert_non_null(p);
				*p = (struct adv_packet){.priority = (uint8_t)i, .bytes = 1000};
				adv_egress_push(&e, p);
				s[i].bytes_due -= 1020 * 1000000ull;
			}
		}
	}
	for (unsigned i = 0; i < 8; i++)
		for (struct adv_packet *p; (p = adv_egress_flush(&e, i));)
			adv_packet_give_back(&pool, p);
	adv_packet_pool_free(&pool);
}

static void test_ets(void **state)
{
	const uint64_t g = 1000000000, pct = ADV_RATIO_ONE / 100;
	const struct adv_plan_class cases[][8] = {
		{[0] = {true, false, 30 * pct, 100 * g}, [3] = {true, false, 70 * pct, 100 * g}},
		{[0] = {true, false, 50 * pct, 20 * g},
		 [3] = {true, false, 30 * pct, 100 * g},
		 [4] = {true, false, 20 * pct, 25 * g}},
		{[0] = {true, false, 50 * pct, 100 * g},
		 [3] = {true, false, 50 * pct, 10 * g},
		 [6] = {true, true, 0, 5 * g},
		 [7] = {true, true, 0, 20 * g}},
		{[0] = {true, false, 100 * pct, 40 * g}, [7] = {true, true, 0, g}},
	};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct source s[8] = {{0}};
		struct adv_plan_ets e;

		assert_null(adv_plan_ets(cases[i], 100 * g, FRAME, &e));
		run_ets(cases[i], s);
		for (unsigned k = 0; k < 8; k++) {
			uint64_t rate = s[k].sent * 8 * 1000; /* bits per ms, per second */

			assert_in_range(rate, e.got[k] - e.got[k] / 50,
					e.got[k] + e.got[k] / 50 + g / 10);
		}
	}
}

/* ---- deadlock ---- */

struct found {
	uint32_t buffers, dependencies, cycle_length;
};

static struct found found_of(struct adv_plan_topology *t, struct adv_plan_deadlock *d,
			     const struct adv_plan_error *error)
{
	struct found found;

	if (!d)
		fail_msg("%u: %s", error->line, error->text);
	found = (struct found){d->buffers, d->dependencies, d->cycle_length};
	adv_plan_deadlock_free(d);
	adv_plan_topology_free(t);
	return found;
}

/* Writes the topology as text, appends `more`, and returns the planner's result for it. */
static struct found planned(const struct adv_topology *t, const char *more)
{
	struct adv_plan_topology *plan;
	struct adv_plan_deadlock *d;
	struct adv_plan_error error;
	size_t room;
	char *text;
	FILE *f = open_memstream(&text, &room);

	assert_non_null(f);
	for (uint32_t i = 0; i < t->hosts + t->switches; i++)
		fprintf(f, "%s n%u\n", i < t->hosts ? "host" : "switch", i);
	for (uint32_t i = 0; i < t->links; i++)
		fprintf(f, "link n%u n%u\n", t->link[i].end[0].node, t->link[i].end[1].node);
	fprintf(f, "%s", more);
	fclose(f);
	plan = adv_plan_topology_parse(text, strlen(text), &error);
	d = plan ? adv_plan_deadlock(plan, &error) : NULL;
	free(text);
	return found_of(plan, d, &error);
}

static uint32_t planned_cycle(const struct adv_topology *t, const char *more)
{
	return planned(t, more).cycle_length;
}

/* Returns the planner's result for the routing tables of the switches. */
static struct found by_tables(const struct adv_topology *t)
{
	struct adv_plan_topology *plan;
	struct adv_plan_error error;
	struct adv_plan_deadlock *d = adv_plan_network(t, &plan, &error);

	return found_of(plan, d, &error);
}

/* A ring of six switches with one host each. Packets go two hops round the ring, or by up-down
 * routes. A deadlock occurs if and only if the planner finds a cycle. */
static void test_ring(void **state)
{
	for (unsigned up_down = 0; up_down < 2; up_down++) {
		const char *routes = "routing = updown\n";
		char round[2000];
		size_t at = 0;
		struct net n;
		uint32_t host;

		assert_int_equal(adv_topology_ring(&n.t, 6, 1, cable_of(10), cable_of(10)), 0);
		if (up_down)
			assert_int_equal(adv_topology_route(&n.t, ADV_ROUTES_UP_DOWN, &host), 0);
		else
			assert_int_equal(adv_topology_ring_one_way(&n.t), 0);
		for (unsigned h = 0; h < 6; h++)
			at += (size_t)snprintf(round + at, sizeof(round) - at,
					       "route n%u n%u n%u n%u n%u\n", h, 6 + h,
					       6 + (h + 1) % 6, 6 + (h + 2) % 6, (h + 2) % 6);
		assert_int_equal(planned_cycle(&n.t, up_down ? routes : round), up_down ? 0 : 6);
		assert_int_equal(by_tables(&n.t).cycle_length, up_down ? 0 : 6);
		net_open(&n);
		n.config.buffer = 1000000;
		net_start(&n);
		/* two senders for each output, so that buffers fill */
		for (uint32_t h = 0; h < 6; h++) {
			net_write(&n, h, (h + 2) % 6, 26, 4000000);
			net_write(&n, h, (h + 3) % 6, 26, 4000000);
		}
		assert_int_equal(adv_fabric_run(n.f, 100 * MS),
				 up_down ? ADV_FABRIC_DONE : ADV_FABRIC_DEADLOCK);
		net_close(&n);
	}
}

static void test_named_topologies(void **state)
{
	struct adv_topology t;

	assert_int_equal(adv_topology_fat_tree(&t, 4, cable_of(10), cable_of(10)), 0);
	assert_int_equal(planned_cycle(&t, "routing = shortest\n"), 0);
	assert_int_equal(planned_cycle(&t, "routing = updown\n"), 0);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_leaf_spine(&t, 4, 3, 5, cable_of(10), cable_of(10)), 0);
	assert_int_equal(planned_cycle(&t, "routing = shortest\n"), 0);
	adv_topology_free(&t);
	assert_int_equal(adv_topology_ring(&t, 7, 2, cable_of(10), cable_of(10)), 0);
	assert_int_equal(planned_cycle(&t, "routing = shortest\n"), 7);
	assert_int_equal(planned_cycle(&t, "routing = updown\nroot = n16\n"), 0);
	adv_topology_free(&t);
}

/* The planner's shortest paths equal those of the simulator's tables. Up-down tables have no
 * cycle. */
static void test_tables(void **state)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, 3);
	for (unsigned run = 0; run < 200; run++) {
		uint32_t switches = 2 + (uint32_t)adv_rng_below(&rng, 7), host;
		struct found text, tables;
		struct adv_topology t;

		assert_int_equal(adv_topology_init(&t, switches + 2, switches), 0);
		for (uint32_t h = 0; h < switches + 2; h++)
			assert_int_equal(
				adv_topology_link(&t, h, switches + 2 + h % switches, cable_of(1)),
				0);
		for (uint32_t i = 1; i < 2 * switches;
		     i++) { /* makes a tree and further links, some of them parallel to others */
			uint32_t a = i < switches ? i : (uint32_t)adv_rng_below(&rng, switches);
			uint32_t b = (uint32_t)adv_rng_below(&rng, i < switches ? i : switches);

			if (a != b)
				assert_int_equal(adv_topology_link(&t, switches + 2 + a,
								   switches + 2 + b, cable_of(1)),
						 0);
		}
		/* The tables have no routes yet. */
		assert_int_equal(by_tables(&t).dependencies, 0);
		assert_int_equal(adv_topology_route(&t, ADV_ROUTES_SHORTEST, &host), 0);
		text = planned(&t, "routing = shortest\n");
		tables = by_tables(&t);
		assert_int_equal(text.dependencies, tables.dependencies);
		assert_int_equal(text.buffers, tables.buffers);
		assert_int_equal(text.cycle_length > 0, tables.cycle_length > 0);
		assert_int_equal(adv_topology_route(&t, ADV_ROUTES_UP_DOWN, &host), 0);
		assert_int_equal(by_tables(&t).cycle_length, 0);
		adv_topology_free(&t);
	}
}

static void test_too_large(void **state)
{
	struct adv_plan_topology *plan;
	struct adv_plan_error error;
	struct adv_topology t;

	assert_int_equal(adv_topology_init(&t, ADV_PLAN_NODES_MAX, 1), 0);
	assert_null(adv_plan_network(&t, &plan, &error));
	assert_null(plan);
	assert_non_null(strstr(error.text, "more than 4096 nodes"));
	adv_topology_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headroom),       cmocka_unit_test(test_dynamic_threshold),
		cmocka_unit_test(test_ecn_before_pfc), cmocka_unit_test(test_ets),
		cmocka_unit_test(test_ring),	       cmocka_unit_test(test_named_topologies),
		cmocka_unit_test(test_tables),	       cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests_name("planners, simulated", tests, NULL, NULL);
}
