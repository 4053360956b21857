/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations that do not exist here. */
#ifndef ADV_ABI_VERBS_ABSENT_H
#define ADV_ABI_VERBS_ABSENT_H

#include <infiniband/verbs.h>

/* Enters operations that fail with EOPNOTSUPP and a line in the log. Call it first:
 * the caller then replaces those that its device has. */
void adv_ibv_absent_fill(struct verbs_context *v);

#endif
