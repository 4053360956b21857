/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/pkeys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool adv_pkeys_are_wanted(const struct adv_pkey_table *table, char *why, size_t why_len)
{
	const char *text = secure_getenv(ADV_PKEYS_VARIABLE);
	struct adv_pkey_table wanted;
	char reason[80];

	if (!text || !*text)
		return true;
	if (!adv_pkey_table_parse(text, &wanted, reason, sizeof(reason))) {
		snprintf(why, why_len, ADV_PKEYS_VARIABLE "=%.200s has no effect: %s", text,
			 reason);
		return false;
	}
	if (wanted.count == table->count &&
	    memcmp(wanted.pkey, table->pkey, table->count * sizeof(table->pkey[0])) == 0)
		return true;
	snprintf(why, why_len,
		 ADV_PKEYS_VARIABLE
		 "=%.200s has no effect: adverbd runs, with another P_Key table of length %u; wait "
		 "until its programs have ended, or use another network namespace",
		 text, table->count);
	return false;
}
