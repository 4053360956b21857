/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads numbers of options. */
#include "cli/command.h"

#include <argp.h>
#include <stdlib.h>

uint32_t adv_cli_number(struct argp_state *state, const char *what, const char *arg)
{
	char *end;
	bool hexadecimal = arg[0] == '0' && (arg[1] == 'x' || arg[1] == 'X');
	unsigned long n = strtoul(arg, &end, hexadecimal ? 16 : 10);

	if (end == arg || *end || arg[0] == '-' || n == 0 || n > INT32_MAX)
		argp_error(state, "%s: '%s' is not a number from 1", what, arg);
	return (uint32_t)n;
}
