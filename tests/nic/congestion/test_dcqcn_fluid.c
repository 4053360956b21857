/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCQCN in a network: flows share a link with a marking queue, simulated packet by packet. The test
 * compares the flows with each other and with the paper's fluid model (section 5, equations 5 to
 * 9).
 */
#include <stdlib.h>

#include "fluid.h"
#include "../engine/harness.h"
#include "nic/congestion/dcqcn.h"
#include "nic/congestion/pacer.h"

#define LINE	 40000000ull /* kb/s, of each sender and of the bottleneck */
#define PACKET	 1024u
#define K_MIN	 5e3 /* bytes */
#define K_MAX	 200e3
#define P_MAX	 0.01
#define FEEDBACK (4 * US) /* time from a packet in the queue to the effect of its CNP */
#define FLOWS	 16
#define FLIGHTS	 64

struct flow {
	struct adv_dcqcn d;
	struct adv_pacer pacer;
	uint64_t start;
	uint64_t cnp_after;
	uint64_t cnp_at[FLIGHTS]; /* CNPs in flight */
	unsigned cnp_head, cnp_tail;
	uint64_t sent; /* packets sent since the measurement began */
};

struct link {
	struct adv_cc_params p;
	struct adv_rng rng;
	unsigned count;
	struct flow flow[FLOWS];
	uint64_t now;
	double queue; /* bytes, at `now` */
	double area;  /* integral of the queue over the measurement, byte ns */
	uint64_t from;
};

static double marking(double queue)
{
	if (queue <= K_MIN)
		return 0;
	return queue > K_MAX ? 1 : (queue - K_MIN) / (K_MAX - K_MIN) * P_MAX;
}

/* Drains the queue at the line rate up to the time `to`. */
static void drain(struct link *l, uint64_t to)
{
	double bytes = (double)(to - l->now) * LINE / 8e6;

	if (to > l->from) {
		double emptied = l->queue < bytes ? l->queue : bytes;

		l->area += emptied * 8e6 / LINE * (l->queue - emptied / 2);
	}
	l->queue = l->queue > bytes ? l->queue - bytes : 0;
	l->now = to;
}

static void update(struct link *l, struct flow *f)
{
	uint64_t at;

	for (;;) {
		bool cnp = f->cnp_tail != f->cnp_head;
		uint64_t before = f->d.rate;

		at = adv_dcqcn_next(&f->d);
		if (cnp && f->cnp_at[f->cnp_tail % FLIGHTS] < at)
			at = f->cnp_at[f->cnp_tail % FLIGHTS];
		else
			cnp = false;
		if (at > l->now)
			return;
		if (cnp) {
			f->cnp_tail++;
			adv_dcqcn_on_cnp(&f->d, &l->p, LINE, at);
		} else {
			adv_dcqcn_expire(&f->d, &l->p, LINE, at);
		}
		adv_pacer_change(&f->pacer, before ? before : LINE, f->d.rate ? f->d.rate : LINE,
				 at);
	}
}

static void send(struct link *l, struct flow *f)
{
	bool marked = (double)(adv_rng_next(&l->rng) >> 11) / (1ull << 53) < marking(l->queue);

	l->queue += PACKET;
	adv_pacer_charge(&f->pacer, PACKET, f->d.rate ? f->d.rate : LINE, 0, l->now);
	adv_dcqcn_on_sent(&f->d, &l->p, LINE, PACKET);
	f->sent += l->now >= l->from;
	if (!marked || l->now < f->cnp_after)
		return;
	f->cnp_after = l->now + l->p.min_time_between_cnps * US;
	f->cnp_at[f->cnp_head++ % FLIGHTS] = l->now + FEEDBACK;
}

/* Runs until `end`, and measures from `from` on. */
static void run(struct link *l, uint64_t from, uint64_t end)
{
	l->from = from;
	while (l->now < end) {
		uint64_t next = end;

		for (unsigned i = 0; i < l->count; i++) {
			struct flow *f = &l->flow[i];

			if (l->now < f->start) {
				next = f->start < next ? f->start : next;
				continue;
			}
			update(l, f);
			if (adv_pacer_open(&f->pacer, l->now))
				send(l, f);
			/* The flow is served again at its next rate change, which may make the next
			 * packet due earlier. */
			if (f->pacer.due < next)
				next = f->pacer.due;
			if (adv_dcqcn_next(&f->d) < next)
				next = adv_dcqcn_next(&f->d);
		}
		drain(l, next > l->now ? next : l->now + 1);
	}
}

static double mbps(const struct flow *f, uint64_t ns)
{
	return (double)f->sent * PACKET * 8e3 / (double)ns;
}

static void open_link(struct link *l, unsigned flows, uint64_t apart)
{
	memset(l, 0, sizeof(*l));
	l->p = adv_cc_default().params;
	adv_rng_seed(&l->rng, 7);
	l->count = flows;
	for (unsigned i = 0; i < flows; i++)
		l->flow[i].start = apart * i;
}

/* All flows get equal shares, independent of their start, and the link is fully used. */
static void test_fair_shares(void **state)
{
	static const unsigned counts[] = {2, 4, 8, 16};

	for (unsigned k = 0; k < 4; k++) {
		const uint64_t ns = 100 * MS;
		double sum = 0, share = 40000.0 / counts[k];
		struct link l;

		open_link(&l, counts[k], MS);
		run(&l, 100 * MS, 100 * MS + ns);
		for (unsigned i = 0; i < counts[k]; i++) {
			double rate = mbps(&l.flow[i], ns);

			sum += rate;
			if (rate < share * 0.85 || rate > share * 1.15)
				fail_msg("%u flows: one has %.0f Mb/s", counts[k], rate);
		}
		assert_true(sum > 40000 * 0.97 && sum <= 40000 * 1.01);
	}
}

/* ---- the fluid model ---- */

/* Returns the mean queue over the second half of the time, bytes. */
static double fluid_queue(const struct adv_cc_params *p, unsigned n, unsigned long us)
{
	struct fluid f = {.params = *p,
			  .count = n,
			  .packet = PACKET,
			  .line = LINE * 1e3,
			  .delay = FEEDBACK / US,
			  .k_min = K_MIN,
			  .k_max = K_MAX,
			  .p_max = P_MAX};

	for (unsigned i = 0; i < n; i++)
		fluid_start(&f, i);
	fluid_run(&f, us / 2);
	return fluid_run(&f, us / 2);
}

/* The model's queue is 0.7 to 1.1 times the simulated queue. The model has neither chance nor hyper
 * increase, which makes its queue shorter. */
static void test_fluid_model(void **state)
{
	static const unsigned counts[] = {2, 4, 8, 16};

	for (unsigned k = 0; k < 4; k++) {
		struct link l;
		double fluid, packets;

		open_link(&l, counts[k], 0);
		run(&l, 100 * MS, 300 * MS);
		packets = l.area / (double)(200 * MS);
		fluid = fluid_queue(&l.p, counts[k], 300000);
		print_message("%u flows: queue %.0f bytes, fluid model %.0f\n", counts[k], packets,
			      fluid);
		assert_true(fluid > packets * 0.7 && fluid < packets * 1.1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fair_shares),
		cmocka_unit_test(test_fluid_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
