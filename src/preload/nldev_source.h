/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where answers to requests of NLDEV come from, and what names the device in them. */
#ifndef ADV_PRELOAD_NLDEV_SOURCE_H
#define ADV_PRELOAD_NLDEV_SOURCE_H

#include "host/resources.h"
#include "preload/contents.h"

#define ADV_NLDEV_INDEX	  1 /* of adverb0 */
#define ADV_NLDEV_PORT	  1
#define ADV_NLDEV_LONGEST 4096 /* bytes of a message of an answer */

/* Where the answers come from. */
struct adv_nldev_source {
	/* The device as it is now. False: there is none. */
	bool (*device)(void *user, struct adv_contents *contents);
	/* As adv_resources_each(). */
	int (*resources)(void *user, enum adv_resource_kind kind, adv_resource_fn *fn,
			 void *fn_user);
	bool keys; /* memory keys may be told */
	void *user;
};

#endif
