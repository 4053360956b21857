/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of query.c: what other files of the library ask for. */
#ifndef ADV_VERBS_QUERY_H
#define ADV_VERBS_QUERY_H

#include <infiniband/verbs.h>

#include "host/gid_table.h"

/* A copy of the GID table, to be freed; NULL: ENOMEM. */
struct adv_gid_table *adv_ibv_gids_of(struct ibv_context *context);
/* The same for a query of a port: 0, or the error with errno set, EINVAL for another port than 1.
 */
int adv_ibv_gids_of_port(struct ibv_context *context, uint32_t port_num,
			 struct adv_gid_table **table);

#endif
