/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a completion queue that is used in several shards of the device. */
#ifndef ADV_ABI_VERBS_CQ_PART_H
#define ADV_ABI_VERBS_CQ_PART_H

#include "abi/verbs/objects.h"

/* Returns the CQ's part in this shard. Creates it if there is none. NULL with errno.
 * Call it without a device's lock. */
struct adv_cq *adv_ibv_cq_part_in(struct adv_ibv_cq *cq, struct adv_device *device);
/* Copies all parts to part[ADV_ENGINES_SHARING], and returns their number. */
unsigned adv_ibv_cq_parts(const struct adv_ibv_cq *cq, struct adv_ibv_cq_part *part);
/* For a CQ of several parts, returns the index of the part to poll first. */
unsigned adv_ibv_cq_turn(struct adv_ibv_cq *cq);
/* For a CQ of several parts, or in a child of fork(). As adv_ibv_poll_cq(). */
int adv_ibv_cq_poll_parts(struct adv_ibv_cq *cq, int n, struct ibv_wc *wc);
/* For a CQ of several parts. As adv_ibv_req_notify_cq(). */
void adv_ibv_cq_arm_parts(struct adv_ibv_cq *cq, bool solicited_only);
/* True if the completion event of a part is the event for which the program has armed
 * the CQ. False: another part has raised that event. */
bool adv_ibv_cq_takes_event(struct adv_ibv_cq *cq);
/* Destroys all parts but the first, if no part is in use. 0 or EBUSY. */
int adv_ibv_cq_drop_parts(struct adv_ibv_cq *cq);
/* Frees the list of parts. */
void adv_ibv_cq_free_parts(struct adv_ibv_cq *cq);

#endif
