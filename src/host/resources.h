/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking all programs that use the device, and adverbd, what objects they have. */
#ifndef ADV_HOST_RESOURCES_H
#define ADV_HOST_RESOURCES_H

#include <stdbool.h>

#include "host/control.h"
#include "transport/resources.h"

/* False: no more are wanted. */
typedef bool adv_resource_fn(void *user, const struct adv_object *r);

/*
 * Calls fn for each object of a kind (for ADV_RESOURCE_SUMMARY: each kind once, added up) of those
 * processes that the caller may ask: its own user's, or with root all. Numbers of objects but QPs
 * and MRs are made such that no two processes' are the same. A process that does not answer within
 * half a second is passed over, and all after five. 0, or errno: ECONNRESET the daemon went away,
 * ENOMEM. Uses the connection, which nobody else may meanwhile.
 */
int adv_resources_each(struct adv_control *c, enum adv_resource_kind kind, adv_resource_fn *fn,
		       void *user);

#endif
