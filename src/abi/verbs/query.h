/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of query.c that other files of the library use. */
#ifndef ADV_ABI_VERBS_QUERY_H
#define ADV_ABI_VERBS_QUERY_H

#include <infiniband/verbs.h>

#include "runtime/control/gid_table.h"

/* Returns a copy of the GID table, which the caller frees. NULL: ENOMEM. */
struct adv_gid_table *adv_ibv_gids_of(struct ibv_context *context);
/* As adv_ibv_gids_of(), for a query of port port_num by the function `call`. Returns 0 or the error
 * number, sets errno to it, and logs it: EINVAL if the port is not 1; ENOMEM. */
int adv_ibv_gids_of_port(struct ibv_context *context, uint32_t port_num, const char *call,
			 struct adv_gid_table **table);

#endif
