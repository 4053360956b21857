/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking adverbd what the device is like now, and what is done with it. */
#ifndef ADV_PRELOAD_QUERY_H
#define ADV_PRELOAD_QUERY_H

#include "host/resources.h"
#include "preload/contents.h"

/* Starts adverbd if need be. False: it cannot be reached, which is logged. As long as
 * adv_control_connect() at worst; allocates; errno is lost. */
bool adv_query_contents(struct adv_contents *c);

/* The same for what there is, as adv_resources_each(); ENODEV: adverbd cannot be reached. */
int adv_query_resources(enum adv_resource_kind kind, adv_resource_fn *fn, void *user);

#endif
