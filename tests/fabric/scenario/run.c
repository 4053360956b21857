/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "run.h"

#include <stdio.h>

void run_open(struct run *r, const char *format, ...)
{
	char text[2048], why[ADV_SCENARIO_WHY] = "";
	va_list args;

	va_start(args, format);
	assert_in_range(vsnprintf(text, sizeof(text), format, args), 1, sizeof(text) - 1);
	va_end(args);
	if (!adv_scenario_read(&r->s, "x.ini", text, strlen(text), why) ||
	    !adv_scenario_build(&r->s, &r->t, &r->f, why))
		fail_msg("%s", why);
}

void expect_refused(const char *text, const char *expected)
{
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f = NULL;
	bool good = adv_scenario_read(&s, "x.ini", text, strlen(text), why);

	if (good)
		good = adv_scenario_build(&s, &t, &f, why);
	adv_scenario_free(&s);
	if (good || !strstr(why, expected))
		fail_msg("expected '%s', got '%s' of\n%s", expected, good ? "no error" : why, text);
}

void run_close(struct run *r)
{
	adv_fabric_destroy(r->f);
	adv_topology_free(&r->t);
	adv_scenario_free(&r->s);
}

struct run_shown run_show(const struct run *r)
{
	struct run_shown x = {.now = adv_fabric_now(r->f),
			      .events = adv_fabric_events(r->f),
			      .lost = adv_fabric_lost(r->f),
			      .received = adv_fabric_received(r->f, 0)};

	adv_fabric_outside(r->f, &x.outside, &x.bytes);
	for (uint32_t s = 0; s < r->t.switches; s++) {
		const struct adv_switch *sw = adv_fabric_switch(r->f, s);
		const struct adv_switch_counters *c = adv_switch_counters(sw);

		x.used += adv_switch_used(sw);
		x.rx += c->rx_frames;
		x.tx += c->tx_frames;
		x.marked += c->ecn_marked;
		x.pauses += c->tx_pause;
	}
	return x;
}

void run_ignore(void *user, const struct adv_fabric_event *e)
{
}

void run_to_end(struct run *r)
{
	assert_int_equal(adv_fabric_run(r->f, 100 * MS), ADV_FABRIC_DONE);
}

uint64_t run_mbps(const struct run *r, uint32_t transfer)
{
	return adv_fabric_acknowledged(r->f, transfer) * 8 * US / adv_fabric_now(r->f);
}
