/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets the congestion control and its parameters from [host]. */
#include <string.h>

#include "fabric/scenario/builder.h"

/* Line rates, Mb/s, for which R_AI and R_HAI are meant: the paper's testbed has 40 Gb/s. The
 * authors of HPCC (SIGCOMM 2019) use mlx5's for 25 Gb/s and others in proportion, in their
 * simulator's run.py. */
#define PAPER_MBPS   40000
#define MLX5_MBPS    25000

#define RPG_AI_RATE  offsetof(struct adv_cc_params, rpg_ai_rate)
#define RPG_HAI_RATE offsetof(struct adv_cc_params, rpg_hai_rate)

/* The unit of a scenario's value, and how many of it are one of the parameter's unit. */
static const struct {
	const char *name;
	const char *words;
	enum adv_unit unit;
	uint64_t scale;
} units[] = {
	{"us", "whole microseconds", ADV_UNIT_TIME, ADV_PS_PER_US},
	{"Mb/s", "whole Mb/s", ADV_UNIT_RATE, 1000000},
	{"%", "a whole percentage", ADV_UNIT_RATIO, ADV_RATIO_ONE / 100},
	{"bytes", "", ADV_UNIT_BYTES, 1},
	{"", "", ADV_UNIT_COUNT, 1},
};

static bool set_parameter(struct adv_scenario_builder *b, const struct adv_cc_parameter *p,
			  const uint64_t *value, struct adv_cc_params *params)
{
	char text[ADV_UNITS_TEXT];
	unsigned u = 0;
	uint32_t v;

	while (strcmp(units[u].name, p->unit) != 0)
		u++;
	if (*value % units[u].scale)
		return adv_scenario_fail(
			b, adv_scenario_line(b, value), "[host] %s = %s: expected %s", p->name,
			adv_units_print(units[u].unit, *value, text), units[u].words);
	v = (uint32_t)(*value / units[u].scale);
	memcpy((char *)params + p->offset, &v, sizeof(v));
	return true;
}

bool adv_scenario_congestion(struct adv_scenario_builder *b, struct adv_fabric_config *c,
			     struct adv_cc_config *cc)
{
	const struct adv_scenario_host *host = &b->s->host;
	const struct adv_cc_parameter *p;
	char least[ADV_UNITS_TEXT], most[ADV_UNITS_TEXT];

	*cc = host->dcqcn == ADV_SCENARIO_DCQCN_MLX5 ? adv_cc_mlx5() : adv_cc_default();
	cc->algorithm = (enum adv_cc_algorithm)host->control;
	if (host->dcqcn != ADV_SCENARIO_DCQCN_PAPER)
		c->ai_rate_at = c->hai_rate_at =
			host->dcqcn == ADV_SCENARIO_DCQCN_MLX5 ? MLX5_MBPS : PAPER_MBPS;
	for (unsigned i = 0; (p = adv_cc_parameter(i)); i++) {
		if (host->cc[i] == UINT64_MAX)
			continue;
		if (!set_parameter(b, p, &host->cc[i], &cc->params))
			return false;
		if (p->offset == RPG_AI_RATE)
			c->ai_rate_at = 0;
		if (p->offset == RPG_HAI_RATE)
			c->hai_rate_at = 0;
	}
	if (adv_cc_valid(cc))
		return true;
	if (cc->params.timely_t_low > cc->params.timely_t_high)
		return adv_scenario_fail(
			b, 0, "[host] timely_t_low = %u us is more than timely_t_high = %u us",
			cc->params.timely_t_low, cc->params.timely_t_high);
	return adv_scenario_fail(
		b, 0, "[host] rpg_min_rate = %s is more than rpg_max_rate = %s",
		adv_units_print(ADV_UNIT_RATE, cc->params.rpg_min_rate * 1000000ull, least),
		adv_units_print(ADV_UNIT_RATE, cc->params.rpg_max_rate * 1000000ull, most));
}
