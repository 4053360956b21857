/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists the objects of all programs that use the device, and of adverbd. */
#ifndef ADV_RUNTIME_EXCHANGE_RESOURCES_H
#define ADV_RUNTIME_EXCHANGE_RESOURCES_H

#include <stdbool.h>

#include "runtime/control/control.h"
#include "nic/engine/resources.h"

/* Handles one object. Returns false if no more objects are needed. */
typedef bool adv_resource_fn(void *user, const struct adv_object *r);

/* Handles a process that may be queried but does not answer. error: ETIMEDOUT: it is stopped or too
 * busy; EPIPE: it ended, or uses an older version of Adverb; others. */
typedef void adv_resource_silent_fn(void *user, uint32_t pid, int error);

struct adv_resource_query {
	enum adv_resource_kind kind;
	uint32_t pid; /* lists the objects of this process only; 0: of all processes */
	/* Name of the only device whose objects are listed; NULL: of all devices. A CM_ID is of all
	 * devices. */
	const char *device;
	adv_resource_fn *fn;
	adv_resource_silent_fn *silent; /* NULL: such processes are only logged */
	void *user;			/* argument of fn and silent */
};

/*
 * Calls fn for each object of a kind, in all processes that the caller may query: those of its
 * user, or all if it is root. For ADV_RESOURCE_SUMMARY, calls fn once for each kind, with the sums.
 * Changes the numbers of objects other than QPs and MRs so that they differ between processes.
 * Skips a process that does not answer within half a second, and all further processes after five
 * seconds. 0, or errno: ECONNRESET: the connection to adverbd is lost; ENOMEM. No other thread may
 * use the connection during the call.
 */
int adv_resources_each(struct adv_control *c, const struct adv_resource_query *query);

#endif
