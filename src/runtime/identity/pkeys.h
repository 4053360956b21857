/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The P_Key table that a program wants (ADVERB_PKEYS). Any thread. */
#ifndef ADV_RUNTIME_IDENTITY_PKEYS_H
#define ADV_RUNTIME_IDENTITY_PKEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "nic/wire/pkey.h"

/* False if ADVERB_PKEYS is set and is not adverbd's table, because adverbd ran already: why[] then
 * has a line. */
bool adv_pkeys_are_wanted(const struct adv_pkey_table *table, char *why, size_t why_len);

#endif
