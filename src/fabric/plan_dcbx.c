/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan_dcbx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/headers.h"

void adv_plan_dcbx(const struct adv_plan_dcb *plan, struct adv_dcbx *d)
{
	struct adv_dcbx_ets *e = &d->configuration;
	unsigned rocev2 = ADV_PRIORITIES;

	memset(d, 0, sizeof(*d));
	e->present = true;
	e->max_classes = ADV_DCBX_CLASSES;
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		e->class_of[p] = (uint8_t)p;
		e->percent[p] = plan->percent[p];
		e->algorithm[p] = plan->strict & (1u << p) ? ADV_DCBX_STRICT : ADV_DCBX_ETS;
		if (rocev2 == ADV_PRIORITIES && (plan->lossless & plan->used & (1u << p)))
			rocev2 = p;
	}
	d->pfc.present = true;
	d->pfc.classes = ADV_DCBX_CLASSES;
	d->pfc.enabled = plan->lossless;
	for (unsigned i = 0; i < 64; i++)
		d->app[d->apps++] = (struct adv_dcbx_app){.priority = plan->priority_of_dscp[i],
							  .selector = ADV_DCBX_DSCP,
							  .protocol = (uint16_t)i};
	if (rocev2 < ADV_PRIORITIES)
		d->app[d->apps++] = (struct adv_dcbx_app){.priority = (uint8_t)rocev2,
							  .selector = ADV_DCBX_UDP,
							  .protocol = ADV_ROCE_UDP_PORT};
}

struct comparison {
	const struct adv_plan_dcb *plan;
	const struct adv_dcbx *port;
	adv_plan_differs_fn *fn;
	void *user;
	unsigned differences;
};

__attribute__((format(printf, 2, 3))) static void differs(struct comparison *c, const char *format,
							  ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	c->differences++;
	c->fn(c->user, text);
}

static void compare_pfc(struct comparison *c)
{
	unsigned lossless = (unsigned)__builtin_popcount(c->plan->lossless);

	if (!c->port->pfc.present) {
		differs(c, "The port advertises no PFC. If it has none, its neighbour's pauses do "
			   "not stop it, and frames are dropped.");
		return;
	}
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		bool wanted = c->plan->lossless & (1u << p), has = c->port->pfc.enabled & (1u << p);

		if (wanted && !has)
			differs(c,
				"Priority %u has no PFC: its frames are dropped when a buffer "
				"is full.",
				p);
		else if (has && !wanted)
			differs(c,
				"Priority %u has PFC, which the scenario does not have: it takes "
				"headroom, and its pauses can spread.",
				p);
	}
	if (c->port->pfc.classes && c->port->pfc.classes < lossless)
		differs(c,
			"The port can have PFC for %u traffic class%s only; the scenario has %u "
			"lossless priorities.",
			c->port->pfc.classes, c->port->pfc.classes == 1 ? "" : "es", lossless);
	if (c->port->pfc.willing)
		differs(c, "The port is willing to change its PFC: it takes what its neighbour "
			   "advertises. Set it to 'willing off', or trust the neighbour.");
}

/* Two priorities of the scenario must not share a traffic class if one of them is lossless. */
static void compare_classes(struct comparison *c, const struct adv_dcbx_ets *e)
{
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		for (unsigned q = p + 1; q < ADV_PRIORITIES; q++)
			if (e->class_of[p] == e->class_of[q] && (c->plan->used & (1u << p)) &&
			    (c->plan->used & (1u << q)) &&
			    (c->plan->lossless >> p & 1) != (c->plan->lossless >> q & 1))
				differs(c,
					"Priorities %u and %u share traffic class %u, and one of "
					"them is lossless: a pause of it stops both.",
					p, q, e->class_of[p]);
}

static void compare_shares(struct comparison *c, const struct adv_dcbx_ets *e)
{
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		unsigned class = e->class_of[p];
		bool strict = c->plan->strict & (1u << p), used = c->plan->used & (1u << p);

		if (!used || class >= ADV_DCBX_CLASSES)
			continue;
		if (strict && e->algorithm[class] != ADV_DCBX_STRICT)
			differs(c,
				"Priority %u is served by shares, not strictly first as in the "
				"scenario.",
				p);
		else if (!strict && e->algorithm[class] == ADV_DCBX_STRICT)
			differs(c,
				"Priority %u is strict: it can starve the others. The scenario "
				"gives it %u %%.",
				p, c->plan->percent[p]);
		else if (!strict && e->algorithm[class] == ADV_DCBX_ETS &&
			 e->percent[class] < c->plan->percent[p])
			differs(c,
				"Priority %u has %u %% of the link at least; the scenario gives "
				"it %u %%.",
				p, e->percent[class], c->plan->percent[p]);
	}
}

static void compare_ets(struct comparison *c)
{
	const struct adv_dcbx_ets *e = &c->port->configuration;

	if (!e->present) {
		differs(c, "The port advertises no ETS: its shares are not known.");
		return;
	}
	compare_classes(c, e);
	compare_shares(c, e);
	if (e->willing)
		differs(c, "The port is willing to change its ETS: it takes what its neighbour "
			   "recommends.");
}

static void compare_apps(struct comparison *c)
{
	for (unsigned i = 0; i < c->port->apps; i++) {
		const struct adv_dcbx_app *a = &c->port->app[i];

		if (a->selector == ADV_DCBX_DSCP && a->protocol < 64 &&
		    a->priority != c->plan->priority_of_dscp[a->protocol])
			differs(c, "DSCP %u has priority %u; the scenario gives it %u.",
				a->protocol, a->priority, c->plan->priority_of_dscp[a->protocol]);
		if (a->selector == ADV_DCBX_UDP && a->protocol == ADV_ROCE_UDP_PORT &&
		    !(c->plan->lossless & (1u << a->priority)))
			differs(c,
				"RoCE v2 (UDP port %u) has priority %u, which is not lossless in "
				"the scenario.",
				ADV_ROCE_UDP_PORT, a->priority);
	}
}

unsigned adv_plan_dcbx_compare(const struct adv_plan_dcb *plan, const struct adv_dcbx *port,
			       adv_plan_differs_fn *fn, void *user)
{
	struct comparison c = {plan, port, fn, user, 0};
	bool some = port->pfc.present || port->configuration.present || port->apps;

	if (!some && port->old) {
		differs(&c, "The port speaks an older DCBX (CEE or Cisco's), which is not read: "
			    "set it to IEEE.");
	} else if (!some) {
		differs(&c, "The port speaks LLDP without DCBX.");
	} else {
		compare_pfc(&c);
		compare_ets(&c);
		compare_apps(&c);
	}
	return c.differences;
}
