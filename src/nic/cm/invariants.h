/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is true of a connection manager and its ids whenever no call is in progress. Tests,
 * simulations and fuzzers ask after each step. */
#ifndef ADV_NIC_CM_INVARIANTS_H
#define ADV_NIC_CM_INVARIANTS_H

struct adv_cm;

/* Returns the first invariant that is not kept, as a sentence, or NULL. Changes nothing. */
const char *adv_cm_check(const struct adv_cm *cm);

#endif
