/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program has queried. A program that has not is taken to rely on constants. All calls
 * need the lock of report.h. */
#ifndef ADV_ABI_RULES_QUERIES_H
#define ADV_ABI_RULES_QUERIES_H

#include "abi/check/observer.h"

void adv_check_query_made(enum adv_check_query query);
/* True if the program has made this query. */
bool adv_check_has_queried(enum adv_check_query query);

#endif
