/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the user wants of iWARP's start-up frames: the text of ADVERB_IWARP, such as "crc=require
 * markers=yes". */
#ifndef ADV_RUNTIME_IDENTITY_IWARP_OPTIONS_H
#define ADV_RUNTIME_IDENTITY_IWARP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "nic/iwarp/negotiation.h"

#define ADV_IWARP_VARIABLE "ADVERB_IWARP"

struct adv_iwarp_options {
	enum adv_mpa_crc crc;
	bool markers; /* the peers are to send markers */
};

/* Reads options separated by spaces or commas; those that the text does not name keep the value
 * that *o has. False: the text is wrong; *o is then undefined, and why has a line about it. */
bool adv_iwarp_options_parse(const char *text, struct adv_iwarp_options *o, char *why,
			     size_t why_len);

/* Returns the options of this process, which the environment sets: the defaults if it has none, or
 * a wrong text. The first call of this function or the next one decides. */
const struct adv_iwarp_options *adv_iwarp_options(void);

/* Returns false if the environment has a wrong text, with a line about it in why. */
bool adv_iwarp_options_check(char *why, size_t why_len);

#endif
