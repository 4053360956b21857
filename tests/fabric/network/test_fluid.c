/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the simulated network with the fluid model of DCQCN. The network has hosts with the
 * transport engine, and a switch that marks. The model consists of differential equations without
 * packets and randomness.
 *
 * The network supplies two inputs of the model: the size of a packet with its headers (in queues
 * and on the wire), and the delay of a mark. A mark is set when a packet leaves the queue. It takes
 * effect after the delays of the packet and of the CNP, two cables each.
 */
#include "fluid.h"
#include "net.h"
#include "nic/engine/engine.h"

#define LINE	  40e9
#define PS_BYTE	  200u /* time of a byte at 40 Gb/s */
#define MTU	  1024u
#define FRAME	  (MTU + 12 + 4 + 8 + 20 + 18) /* BTH, ICRC, UDP, IPv4, Ethernet with FCS */
#define OVERHEAD  20			       /* preamble and gap */
#define K_MIN	  5000u
#define K_MAX	  200000u
#define P_MAX_PPM 10000u
#define SAMPLE	  (2 * US)

struct measured {
	struct net n;
	uint32_t port; /* towards the receiver */
	uint64_t from; /* begin of sampling, ps */
	double sum;    /* sum of the queue's bytes at all samples */
	uint64_t samples;
};

static void sample(void *user, const struct adv_fabric_event *e)
{
	struct measured *m = user;

	if (e->kind != ADV_FABRIC_SAMPLE || e->at < m->from)
		return;
	m->sum += (double)adv_switch_egress(adv_fabric_switch(m->n.f, 0), m->port)->queue[3].bytes;
	m->samples++;
}

/* Makes senders and one receiver, without flows. */
static void open_network(struct measured *m, unsigned senders)
{
	struct adv_cable cable = {PS_BYTE, 10 * 5000};

	memset(m, 0, sizeof(*m));
	assert_int_equal(adv_topology_incast(&m->n.t, senders, cable), 0);
	net_open(&m->n);
	m->n.config.mtu = MTU;
	m->n.config.buffer = 12000000;
	m->n.config.engine.window = 1 << 14;
	m->n.config.class[3].ecn_min = K_MIN;
	m->n.config.class[3].ecn_max = K_MAX;
	m->n.config.class[3].ecn_ppm = P_MAX_PPM;
	net_start(&m->n);
	adv_fabric_count_received(m->n.f);
	adv_fabric_watch(m->n.f, sample, m);
	assert_int_equal(adv_fabric_sample(m->n.f, SAMPLE), 0);
	m->port = senders;
}

/* Lets host `from` send to the receiver without end. Returns the connection's number. */
static uint32_t start_flow(struct measured *m, uint32_t from, uint64_t at)
{
	uint32_t c = net_connect(&m->n, from, m->n.t.hosts - 1, ADV_FABRIC_WRITE, 26);

	assert_true(adv_fabric_transfer(m->n.f, c, UINT64_MAX, at) >= 0);
	return c;
}

static struct fluid model(unsigned flows)
{
	return (struct fluid){.params = adv_cc_default().params,
			      .count = flows,
			      .packet = FRAME,
			      .overhead = OVERHEAD,
			      .line = LINE,
			      .delay = 1,
			      .k_min = K_MIN,
			      .k_max = K_MAX,
			      .p_max = P_MAX_PPM / 1e6};
}

static double goodput(uint64_t bytes, uint64_t time)
{
	return (double)bytes * 8 * (double)ADV_PS_PER_S / (double)time;
}

/* Checks that each flow has its share within 15 %, and that the sum is the line rate within 1 %. */
static void expect_shares(const struct measured *m, unsigned flows, const uint64_t *before,
			  uint64_t time)
{
	double line = LINE * MTU / (FRAME + OVERHEAD), sum = 0;

	for (unsigned i = 0; i < flows; i++) {
		double rate = goodput(adv_fabric_received(m->n.f, i) - before[i], time);

		sum += rate;
		if (rate < line / flows * 0.85 || rate > line / flows * 1.15)
			fail_msg("%u flows: one has %.2f Gb/s", flows, rate / 1e9);
	}
	assert_true(sum > line * 0.99 && sum < line * 1.01);
}

/* The network reaches the model's fixed point: equal rates with the line rate as their sum, and the
 * model's mean queue. */
static void test_fixed_point(void **state)
{
	static const unsigned counts[] = {2, 4, 8, 16};

	for (unsigned k = 0; k < 4; k++) {
		uint64_t before[FLUID_FLOWS];
		struct fluid f = model(counts[k]);
		struct measured m;
		double fluid, queue;

		open_network(&m, counts[k]);
		m.from = 50 * MS;
		for (unsigned i = 0; i < counts[k]; i++) {
			start_flow(&m, i, 0);
			fluid_start(&f, i);
		}
		adv_fabric_run(m.n.f, m.from);
		for (unsigned i = 0; i < counts[k]; i++)
			before[i] = adv_fabric_received(m.n.f, i);
		adv_fabric_run(m.n.f, 150 * MS);
		expect_shares(&m, counts[k], before, 100 * MS);
		queue = m.sum / (double)m.samples;
		fluid_run(&f, 100000);
		fluid = fluid_run(&f, 200000);
		print_message("%2u flows: mean queue %.0f bytes, fluid model %.0f\n", counts[k],
			      queue, fluid);
		assert_true(fluid > queue * 0.7 && fluid < queue * 1.1);
		net_close(&m.n);
	}
}

/* Returns the model's goodput of two flows over `us` microseconds. */
static void fluid_rates(struct fluid *f, unsigned us, double rate[2])
{
	rate[0] = rate[1] = 0;
	for (unsigned t = 0; t < us; t++) {
		fluid_step(f);
		for (unsigned i = 0; i < 2; i++)
			rate[i] += f->flow[i].rc * MTU * 8 / us;
	}
}

/* A second flow begins while the first flow has the whole link. From 10 to 20 ms later, while the
 * rates converge, both rates equal those of the model. */
static void test_convergence(void **state)
{
	struct fluid f = model(1);
	uint64_t before[2];
	struct measured m;
	double rate[2];

	open_network(&m, 2);
	start_flow(&m, 0, 0);
	start_flow(&m, 1, 10 * MS);
	fluid_start(&f, 0);
	fluid_run(&f, 10000);
	f.count = 2;
	fluid_start(&f, 1);
	fluid_rates(&f, 10000, rate);
	fluid_rates(&f, 10000, rate);
	adv_fabric_run(m.n.f, 20 * MS);
	for (unsigned i = 0; i < 2; i++)
		before[i] = adv_fabric_received(m.n.f, i);
	adv_fabric_run(m.n.f, 30 * MS);
	for (unsigned i = 0; i < 2; i++) {
		double got = goodput(adv_fabric_received(m.n.f, i) - before[i], 10 * MS);

		print_message("flow %u: %.2f Gb/s, fluid model %.2f\n", i, got / 1e9,
			      rate[i] / 1e9);
		assert_true(got > rate[i] * 0.8 && got < rate[i] * 1.2);
	}
	net_close(&m.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_point),
		cmocka_unit_test(test_convergence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
