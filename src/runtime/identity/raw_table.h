/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of a RoCE v1 link, for processes and adverbd. */
#ifndef ADV_RUNTIME_IDENTITY_RAW_TABLE_H
#define ADV_RUNTIME_IDENTITY_RAW_TABLE_H

#include "runtime/control/gid_table.h"
#include "runtime/link/raw.h"

/* Gives the link the addresses of the table. Frames neither leave from nor arrive at loopback
 * addresses. */
void adv_raw_table_set(struct adv_link *raw, const struct adv_gid_table *table);

#endif
