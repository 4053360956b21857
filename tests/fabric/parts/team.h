/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ranks of a simulation that are threads of this process. */
#ifndef ADV_TESTS_FABRIC_PARTS_TEAM_H
#define ADV_TESTS_FABRIC_PARTS_TEAM_H

#include "fabric/parts/ranks.h"

#define TEAM_MAX 4

/* Calls each() in `count` threads, one for each rank; rank 0 is the caller's. Returns when all have
 * returned. If a rank fails the test fails. */
void team_run(uint32_t count, void (*each)(const struct adv_ranks *ranks, void *user), void *user);

#endif
