/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/pkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adv_pkey_table_default(struct adv_pkey_table *table)
{
	memset(table, 0, sizeof(*table));
	table->count = 1;
	table->pkey[0] = ADV_PKEY_DEFAULT;
}

int adv_pkey_index(const struct adv_pkey_table *table, uint16_t pkey)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (table->pkey[i] == pkey)
			return (int)i;
	return -1;
}

int adv_pkey_match_index(const struct adv_pkey_table *table, uint16_t pkey)
{
	int limited = -1;

	for (uint32_t i = 0; i < table->count; i++) {
		if (!adv_pkey_matches(table->pkey[i], pkey))
			continue;
		if (table->pkey[i] & ADV_PKEY_FULL)
			return (int)i;
		limited = (int)i;
	}
	return limited;
}

bool adv_pkey_table_parse(const char *text, struct adv_pkey_table *table, char *why, size_t why_len)
{
	memset(table, 0, sizeof(*table));
	for (;;) {
		char *end;
		unsigned long pkey = strtoul(text, &end, 0);
		int len = (int)strcspn(text, ",");

		if (end != text + len || *text < '0' || *text > '9' || pkey > 0xffff) {
			snprintf(why, why_len, "'%.*s' is not a P_Key from 0x0001 to 0xffff",
				 len < 32 ? len : 32, text);
			return false;
		}
		if (!(pkey & ADV_PKEY_BASE)) {
			snprintf(why, why_len, "the P_Key 0x%04lx is invalid (IBTA 10.9.1)", pkey);
			return false;
		}
		if (adv_pkey_index(table, (uint16_t)pkey) >= 0) {
			snprintf(why, why_len, "the P_Key 0x%04lx is named twice", pkey);
			return false;
		}
		if (table->count == ADV_PKEYS_MAX) {
			snprintf(why, why_len, "there are more than %d P_Keys", ADV_PKEYS_MAX);
			return false;
		}
		table->pkey[table->count++] = (uint16_t)pkey;
		if (!*end)
			return true;
		text = end + 1;
	}
}
