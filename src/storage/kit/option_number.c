/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/option_number.h"

#include <string.h>

uint64_t adv_kit_option_number(struct argp_state *state, enum adv_unit unit, const char *arg,
			       uint64_t least, uint64_t most)
{
	char why[ADV_UNITS_WHY], low[ADV_UNITS_TEXT], high[ADV_UNITS_TEXT];
	uint64_t value;

	if (!adv_units_parse_plain(unit, arg, strlen(arg), &value, why)) {
		argp_error(state, "%s", why);
		return least;
	}
	if (value < least || value > most) {
		argp_error(state, "'%s' is not from %s to %s", arg,
			   adv_units_exact(unit, least, low), adv_units_exact(unit, most, high));
		return least;
	}
	return value;
}

bool adv_kit_option_json(struct argp_state *state, const char *text)
{
	bool json = strcmp(text, "json") == 0;

	if (!json && strcmp(text, "normal") != 0)
		argp_error(state, "--output-format: '%s' is neither normal nor json", text);
	return json;
}
