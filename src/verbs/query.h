/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of query.c: what other files of the library ask for. */
#ifndef ADV_VERBS_QUERY_H
#define ADV_VERBS_QUERY_H

#include <infiniband/verbs.h>

#include "host/gid_table.h"

/* A copy of the GID table, to be freed; NULL: ENOMEM. */
struct adv_gid_table *adv_gids_of(struct ibv_context *context);

#endif
