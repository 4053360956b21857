/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers, sizes and output formats in options. */
#ifndef ADV_STORAGE_KIT_OPTION_NUMBER_H
#define ADV_STORAGE_KIT_OPTION_NUMBER_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

/* Parses a quantity from `least` to `most`. Bytes need no unit. Otherwise calls argp_error(), and
 * if that returns, returns `least`. */
uint64_t adv_kit_option_number(struct argp_state *state, enum adv_unit unit, const char *arg,
			       uint64_t least, uint64_t most);

/* Reads the argument of --output-format. True: json; false: normal. Anything else is an error of
 * argp, which ends the program with a message. */
bool adv_kit_option_json(struct argp_state *state, const char *text);

#endif
