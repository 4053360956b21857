/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets the window of the hosts, and their recovery from losses, from [host]. */
#include "fabric/scenario/builder.h"

/* IRN, SIGCOMM 2018, 4.1: RTO_low and RTO_high. */
#define RTO_LOW	 (100 * ADV_PS_PER_US)
#define RTO_HIGH (320 * ADV_PS_PER_US)

static uint64_t value_or(uint64_t value, uint64_t initial)
{
	return value == UINT64_MAX ? initial : value;
}

static bool without_effect(struct adv_scenario_builder *b, const uint64_t *value, const char *key)
{
	return adv_scenario_fail(b, adv_scenario_line(b, value),
				 "[host] %s has an effect only with retransmission = selective",
				 key);
}

static bool check_timers(struct adv_scenario_builder *b, uint64_t low, uint64_t high)
{
	const struct adv_scenario_host *host = &b->s->host;
	uint64_t line = adv_scenario_line(b, &host->rto_low);
	char low_text[ADV_UNITS_TEXT], high_text[ADV_UNITS_TEXT];

	if (low <= high)
		return true;
	return adv_scenario_fail(b, line ? line : adv_scenario_line(b, &host->rto_high),
				 "[host] rto-low = %s is more than rto-high = %s",
				 adv_units_print(ADV_UNIT_TIME, low, low_text),
				 adv_units_print(ADV_UNIT_TIME, high, high_text));
}

bool adv_scenario_recovery(struct adv_scenario_builder *b, struct adv_fabric_config *c)
{
	const struct adv_scenario_host *host = &b->s->host;
	uint64_t low = value_or(host->rto_low, RTO_LOW), high = value_or(host->rto_high, RTO_HIGH);

	c->engine.window = (uint32_t)host->window;
	c->bdp_window = host->bdp_window;
	c->engine.go_back_0 = host->retransmission == ADV_SCENARIO_GO_BACK_0;
	c->engine.selective = host->retransmission == ADV_SCENARIO_SELECTIVE;
	c->engine.fixed_window = !host->loss_window;
	if (host->bdp_window && adv_scenario_line(b, &host->window))
		return adv_scenario_fail(b, adv_scenario_line(b, &host->window),
					 "[host] window has no effect with bdp-window = yes");
	if (host->bdp_window && c->engine.go_back_0)
		return adv_scenario_fail(
			b, adv_scenario_line(b, &host->bdp_window),
			"[host] bdp-window = yes: go-back-0 needs a window for whole messages");
	if (c->engine.selective) {
		c->engine.reorder = (uint32_t)value_or(host->reorder, 0);
		c->engine.rto_low = (uint32_t)(low / ADV_PS_PER_NS);
		c->engine.rto_high = (uint32_t)(high / ADV_PS_PER_NS);
		return check_timers(b, low, high);
	}
	if (host->reorder != UINT64_MAX)
		return without_effect(b, &host->reorder, "reorder");
	if (host->rto_low != UINT64_MAX)
		return without_effect(b, &host->rto_low, "rto-low");
	if (host->rto_high != UINT64_MAX)
		return without_effect(b, &host->rto_high, "rto-high");
	return true;
}
