/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bounds for unanswered requests: of a listener (its backlog) and of a remote address. */
#ifndef ADV_CM_BACKLOG_H
#define ADV_CM_BACKLOG_H

#include "cm/state.h"

/*
 * Counts one more request for a listener's backlog, and for the address it came from. Returns false
 * if either has too many, or if there is no memory. On success the caller calls
 * adv_cm_backlog_enter() or adv_cm_backlog_cancel().
 */
bool adv_cm_backlog_reserve(struct adv_cm_id *listener, const struct adv_gid *from,
			    struct adv_cm_host **host);
void adv_cm_backlog_cancel(struct adv_cm *cm, struct adv_cm_host *host);
/* Makes `id` the request that was reserved. */
void adv_cm_backlog_enter(struct adv_cm_id *id, struct adv_cm_id *listener,
			  struct adv_cm_host *host);
/* Removes an answered or ended request from the count of its sender. */
void adv_cm_id_answered(struct adv_cm_id *id);

#endif
