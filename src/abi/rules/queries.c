/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/queries.h"

static bool made[ADV_CHECK_QUERIES];

void adv_check_query_made(enum adv_check_query query)
{
	made[query] = true;
}

bool adv_check_has_queried(enum adv_check_query query)
{
	return made[query];
}
