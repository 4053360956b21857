/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of adverbd: the present state of the device, and the objects of its processes. */
#ifndef ADV_RUNTIME_PRELOAD_QUERY_H
#define ADV_RUNTIME_PRELOAD_QUERY_H

#include "runtime/exchange/resources.h"
#include "runtime/preload/contents.h"

/* Reads the state of the devices. *c: all 0. Starts adverbd if it does not run. If adverbd cannot
 * be reached, logs that and returns false. Takes at most as long as adv_control_connect().
 * Allocates memory; changes errno. */
bool adv_query_contents(struct adv_contents *c);

/* Calls fn for each object of a device, like adv_resources_each(), and connects to adverbd like
 * adv_query_contents(). 0, the errno of adv_resources_each(), or ENODEV: adverbd cannot be
 * reached. */
int adv_query_resources(enum adv_resource_kind kind, const char *device, adv_resource_fn *fn,
			void *user);

#endif
