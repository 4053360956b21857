/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/plan/dcbx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mac.h"
#include "nic/wire/headers.h"

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

/* Sentences for the caller. */
struct findings {
	adv_plan_differs_fn *fn;
	void *user;
	unsigned remedies; /* sentences that need one */
};

__attribute__((format(printf, 3, 4))) static void add_note(struct findings *f, bool needs_remedy,
							   const char *format, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	f->remedies += needs_remedy;
	f->fn(f->user, text);
}

struct comparison {
	const struct adv_plan_dcb *plan;
	const struct adv_dcbx *port;
	struct findings findings;
};

static void compare_pfc(struct comparison *c)
{
	unsigned lossless = (unsigned)__builtin_popcount(c->plan->lossless);

	if (!c->port->pfc.present) {
		add_note(&c->findings, true,
			 "The port advertises no PFC. If it has none, its neighbour's pauses do "
			 "not stop it, and frames are dropped.");
		return;
	}
	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		bool wanted = c->plan->lossless & (1u << p), has = c->port->pfc.enabled & (1u << p);

		if (wanted && !has)
			add_note(&c->findings, true,
				 "Priority %u has no PFC: its frames are dropped when a buffer is "
				 "full.",
				 p);
		else if (has && !wanted)
			add_note(&c->findings, true,
				 "Priority %u has PFC, which the scenario does not have: it takes "
				 "headroom, and its pauses can spread.",
				 p);
	}
	if (c->port->pfc.classes && c->port->pfc.classes < lossless)
		add_note(&c->findings, true,
			 "The port can have PFC for %u traffic class%s only; the scenario has %u "
			 "lossless priorities.",
			 c->port->pfc.classes, c->port->pfc.classes == 1 ? "" : "es", lossless);
	if (c->port->pfc.willing)
		add_note(&c->findings, true,
			 "The port is willing to change its PFC: it takes what its neighbour "
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
				add_note(&c->findings, true,
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
			add_note(&c->findings, true,
				 "Priority %u is served by shares, not strictly first as in the "
				 "scenario.",
				 p);
		else if (!strict && e->algorithm[class] == ADV_DCBX_STRICT)
			add_note(&c->findings, true,
				 "Priority %u is strict: it can starve the others. The scenario "
				 "gives it %u %%.",
				 p, c->plan->percent[p]);
		else if (!strict && e->algorithm[class] == ADV_DCBX_ETS &&
			 e->percent[class] < c->plan->percent[p])
			add_note(&c->findings, true,
				 "Priority %u has %u %% of the link at least; the scenario gives "
				 "it %u %%.",
				 p, e->percent[class], c->plan->percent[p]);
	}
}

static void compare_ets(struct comparison *c)
{
	const struct adv_dcbx_ets *e = &c->port->configuration;

	if (!e->present) {
		add_note(&c->findings, true,
			 "The port advertises no ETS: its shares are not known.");
		return;
	}
	compare_classes(c, e);
	compare_shares(c, e);
	if (e->willing)
		add_note(&c->findings, true,
			 "The port is willing to change its ETS: it takes what its neighbour "
			 "recommends.");
}

static void compare_apps(struct comparison *c)
{
	for (unsigned i = 0; i < c->port->apps; i++) {
		const struct adv_dcbx_app *a = &c->port->app[i];

		if (a->selector == ADV_DCBX_DSCP && a->protocol < 64 &&
		    a->priority != c->plan->priority_of_dscp[a->protocol])
			add_note(&c->findings, true,
				 "DSCP %u has priority %u; the scenario gives it %u.", a->protocol,
				 a->priority, c->plan->priority_of_dscp[a->protocol]);
		if (a->selector == ADV_DCBX_UDP && a->protocol == ADV_ROCE_UDP_PORT &&
		    !(c->plan->lossless & (1u << a->priority)))
			add_note(&c->findings, true,
				 "RoCE v2 (UDP port %u) has priority %u, which is not lossless in "
				 "the scenario.",
				 ADV_ROCE_UDP_PORT, a->priority);
	}
}

unsigned adv_plan_dcbx_compare(const struct adv_plan_dcb *plan, const struct adv_dcbx *port,
			       adv_plan_differs_fn *fn, void *user)
{
	struct comparison c = {plan, port, {fn, user, 0}};
	bool some = port->pfc.present || port->configuration.present || port->apps;

	if (!some && port->old) {
		add_note(&c.findings, true,
			 "The port speaks an older DCBX (CEE or Cisco's), which is not read: set "
			 "it to IEEE.");
	} else if (!some) {
		add_note(&c.findings, true, "The port speaks LLDP without DCBX.");
	} else {
		compare_pfc(&c);
		compare_ets(&c);
		compare_apps(&c);
	}
	return c.findings.remedies;
}

/* ---- both ends of a cable ---- */

/* Writes priorities such as "3, 4". */
static const char *priorities_text(uint8_t mask, char text[32])
{
	size_t n = 0;

	snprintf(text, 32, "none");
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		if (mask & (1u << p))
			n += (size_t)snprintf(text + n, 32 - n, "%s%u", n ? ", " : "", p);
	return text;
}

/* Both ends should have one PFC. The end that is willing takes that of the other. */
static void state_pfc(struct findings *f, const struct adv_dcbx *one, const struct adv_dcbx *other)
{
	const uint8_t differing = one->pfc.enabled ^ other->pfc.enabled;
	const struct adv_dcbx *taker = one->pfc.willing ? one : other;
	const struct adv_dcbx *giver = one->pfc.willing ? other : one;
	char mac[ADV_MAC_TEXT], list[32];

	if (!one->pfc.present || !other->pfc.present || !differing)
		return;
	if (one->pfc.willing && other->pfc.willing)
		add_note(f, true,
			 "Both ends are willing and their PFC differs (priorities %s): the MAC "
			 "addresses decide which end takes the other's. Set one to 'willing off'.",
			 priorities_text(differing, list));
	else if (one->pfc.willing || other->pfc.willing)
		add_note(f, false,
			 "Port %s is willing: it takes the PFC of the other end, priorities %s.",
			 adv_mac_print(taker->mac, mac), priorities_text(giver->pfc.enabled, list));
	else
		add_note(f, true,
			 "Neither end is willing and their PFC differs: priorities %s have it at "
			 "one end only. The other end does not stop, and their frames are dropped.",
			 priorities_text(differing, list));
}

static bool same_shares(const struct adv_dcbx_ets *a, const struct adv_dcbx_ets *b)
{
	return memcmp(a->class_of, b->class_of, sizeof(a->class_of)) == 0 &&
	       memcmp(a->percent, b->percent, sizeof(a->percent)) == 0 &&
	       memcmp(a->algorithm, b->algorithm, sizeof(a->algorithm)) == 0;
}

/* The ends may differ in ETS. A willing end takes what the other recommends. */
static void state_ets(struct findings *f, const struct adv_dcbx *taker,
		      const struct adv_dcbx *giver)
{
	const struct adv_dcbx_ets *own = &taker->configuration;
	char mac[ADV_MAC_TEXT];

	if (!own->present || !own->willing)
		return;
	if (!giver->recommendation.present)
		add_note(f, false,
			 "Port %s is willing to take ETS, but the other end recommends none: it "
			 "keeps its own.",
			 adv_mac_print(taker->mac, mac));
	else if (!same_shares(own, &giver->recommendation))
		add_note(f, false,
			 "Port %s is willing: it takes the shares and classes that the other end "
			 "recommends.",
			 adv_mac_print(taker->mac, mac));
}

unsigned adv_plan_dcbx_cable(const struct adv_dcbx *one, const struct adv_dcbx *other,
			     adv_plan_differs_fn *fn, void *user)
{
	struct findings f = {.fn = fn, .user = user};

	state_pfc(&f, one, other);
	state_ets(&f, one, other);
	state_ets(&f, other, one);
	return f.remedies;
}
