/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fluid.h"

#include <math.h>

#define STEP 1e-6

double fluid_marking(const struct fluid *f, double bytes)
{
	if (bytes <= f->k_min)
		return 0;
	return bytes > f->k_max ? 1 : (bytes - f->k_min) / (f->k_max - f->k_min) * f->p_max;
}

double fluid_capacity(const struct fluid *f)
{
	return f->line / 8 / (f->packet + f->overhead);
}

void fluid_start(struct fluid *f, unsigned i)
{
	f->flow[i] = (struct fluid_flow){fluid_capacity(f), fluid_capacity(f), 1};
}

/* Returns how often, per sent packet, n packets in a row have no mark: p / ((1 - p)^-n - 1). */
static double unmarked(double p, double n)
{
	return p > 0 && p < 1 ? p / (pow(1 - p, -n) - 1) : p >= 1 ? 0 : 1 / n;
}

static void step_flow(const struct fluid *f, struct fluid_flow *s, double p)
{
	const struct adv_cc_params *c = &f->params;
	const double g = 1 - c->dce_tcp_g / 1024.0, tau = c->min_time_between_cnps * 1e-6;
	const double tau_alpha = c->dce_tcp_rtt * 1e-6, timer = c->rpg_time_reset * 1e-6;
	const double bytes = c->rpg_byte_reset / f->packet, stages = c->rpg_threshold;
	const double ai = c->rpg_ai_rate * 1e6 / 8 / f->packet, capacity = fluid_capacity(f);
	double cut = 1 - pow(1 - p, tau * s->rc);
	double by_bytes = s->rc * unmarked(p, bytes);
	double by_time = s->rc * unmarked(p, timer * s->rc);
	double d_alpha = g / tau_alpha * (1 - pow(1 - p, tau_alpha * s->rc) - s->alpha);
	double d_rt = -(s->rt - s->rc) / tau * cut + ai * pow(1 - p, stages * bytes) * by_bytes +
		      ai * pow(1 - p, stages * timer * s->rc) * by_time;
	double d_rc =
		-s->rc * s->alpha / (2 * tau) * cut + (s->rt - s->rc) / 2 * (by_bytes + by_time);

	s->alpha += STEP * d_alpha;
	s->rt += STEP * d_rt;
	s->rc += STEP * d_rc;
	s->rt = s->rt > capacity ? capacity : s->rt;
	s->rc = s->rc > s->rt ? s->rt : s->rc;
}

void fluid_step(struct fluid *f)
{
	double p, in = 0;

	f->past[f->now % FLUID_PAST] = f->queue * f->packet;
	p = fluid_marking(f, f->past[(f->now + FLUID_PAST - f->delay) % FLUID_PAST]);
	for (unsigned i = 0; i < f->count; i++) {
		in += f->flow[i].rc;
		step_flow(f, &f->flow[i], p);
	}
	f->queue += STEP * (in - fluid_capacity(f));
	f->queue = f->queue < 0 ? 0 : f->queue;
	f->now++;
}

double fluid_run(struct fluid *f, unsigned long us)
{
	double sum = 0;

	for (unsigned long i = 0; i < us; i++) {
		fluid_step(f);
		sum += f->queue * f->packet;
	}
	return sum / (double)us;
}
