/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits the unanswered requests of a listener (its backlog) and of a remote address. */
#ifndef ADV_NIC_CM_BACKLOG_H
#define ADV_NIC_CM_BACKLOG_H

#include "nic/cm/state.h"

/*
 * Reserves a place for one more request in a listener's backlog, and in the count of the request's
 * source address. Returns false if one of the two is full, or if there is no memory. After success
 * the caller calls adv_cm_backlog_enter() or adv_cm_backlog_cancel().
 */
bool adv_cm_backlog_reserve(struct adv_cm_id *listener, const struct adv_gid *from,
			    struct adv_cm_host **host);
void adv_cm_backlog_cancel(struct adv_cm *cm, struct adv_cm_host *host);
/* Enters `id` as the request for which adv_cm_backlog_reserve() reserved the place. */
void adv_cm_backlog_enter(struct adv_cm_id *id, struct adv_cm_id *listener,
			  struct adv_cm_host *host);
/* Removes an answered or ended request from the count of its source address. */
void adv_cm_id_answered(struct adv_cm_id *id);

#endif
