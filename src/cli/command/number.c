/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads numbers of options. */
#include "cli/command/command.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"

uint32_t adv_cli_number(struct argp_state *state, const char *what, const char *arg)
{
	return adv_option_number(state, what, arg);
}

double adv_cli_seconds(struct argp_state *state, const char *what, const char *arg, double least,
		       double most)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !(seconds >= least && seconds <= most))
		argp_error(state, "%s: '%s' is not a number of seconds from %g to %g", what, arg,
			   least, most);
	return seconds;
}

uint64_t adv_cli_size(struct argp_state *state, const char *what, const char *arg, uint32_t plain,
		      uint64_t least, uint64_t most)
{
	char why[ADV_UNITS_WHY], low[ADV_UNITS_TEXT], high[ADV_UNITS_TEXT];
	uint64_t bytes;

	if (adv_number_read(arg, strlen(arg), UINT32_MAX, &bytes))
		bytes *= plain;
	else if (!adv_units_parse(ADV_UNIT_BYTES, arg, strlen(arg), &bytes, why))
		argp_error(state, "%s: %s", what, why);
	if (bytes < least || bytes > most)
		argp_error(state, "%s: '%s' is not from %s to %s", what, arg,
			   adv_units_exact(ADV_UNIT_BYTES, least, low),
			   adv_units_exact(ADV_UNIT_BYTES, most, high));
	return bytes;
}
