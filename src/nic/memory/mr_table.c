/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "nic/memory/mr_table.h"

#define TABLE_MIN 64u

int adv_mr_table_reserve(struct adv_mr_table *table)
{
	struct adv_mr_table bigger = {.room = table->room ? table->room * 2 : TABLE_MIN};

	if (table->count >= ADV_MAX_MR)
		return ENOMEM;
	if (2 * (table->count + 1) <= table->room)
		return 0;
	bigger.slot = calloc(bigger.room, sizeof(struct adv_mr *));
	if (!bigger.slot)
		return ENOMEM;
	for (uint32_t i = 0; i < table->room; i++)
		if (table->slot[i])
			bigger.slot[adv_mr_table_probe(&bigger, table->slot[i]->key)] =
				table->slot[i];
	bigger.count = table->count;
	free(table->slot);
	*table = bigger;
	return 0;
}

bool adv_mr_table_add(struct adv_mr_table *table, struct adv_mr *mr)
{
	uint32_t i = adv_mr_table_probe(table, mr->key);

	/* Keys whose upper 24 bits are 0 stay unused, because programs treat 0 as "no key". */
	if (mr->key >> 8 == 0 || table->slot[i])
		return false;
	table->slot[i] = mr;
	table->count++;
	return true;
}

/* Removes a key. Moves the following keys up into the gap, so that no probe ends too early. */
void adv_mr_table_remove(struct adv_mr_table *table, uint32_t key)
{
	uint32_t mask = table->room - 1;
	uint32_t gap = adv_mr_table_probe(table, key);

	assert(table->slot[gap]);
	for (uint32_t i = (gap + 1) & mask; table->slot[i]; i = (i + 1) & mask) {
		uint32_t distance = (i - adv_mr_table_home(table, table->slot[i]->key)) & mask;

		if (distance < ((i - gap) & mask))
			continue;
		table->slot[gap] = table->slot[i];
		gap = i;
	}
	table->slot[gap] = NULL;
	table->count--;
}
