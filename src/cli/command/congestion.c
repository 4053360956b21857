/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the congestion control of the command line, so that an error is reported before the program
 * starts. */
#include "cli/command/command.h"

#include <stdlib.h>

#include "nic/congestion/congestion.h"

bool adv_cli_set_congestion(const char *text)
{
	struct adv_cc_config config;
	char line[ADV_CC_TEXT];

	if (!adv_cc_parse(&config, text, line, sizeof(line))) {
		fprintf(stderr, "adverb run: --cc: %s\n", line);
		return false;
	}
	adv_cc_print(&config, line, sizeof(line));
	return setenv(ADV_CC_VARIABLE, line, 1) == 0;
}
