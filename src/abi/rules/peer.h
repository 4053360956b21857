/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the two ends of a connection: each end's attributes must fit those of the other end. The
 * other end may belong to this process, or to another checked process of the user (ends.h). All
 * calls need the lock of report.h. */
#ifndef ADV_ABI_RULES_PEER_H
#define ADV_ABI_RULES_PEER_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* Compares `qp`, of which the attributes in mask have changed, with its peer, if a checked process
 * of this machine has the peer. */
void adv_check_peer(struct adv_check_call *call, struct adv_check_qp *qp, int mask);

/* The queue pair is reset or destroyed: its attributes are no longer compared. */
void adv_check_peer_ends(struct adv_check_qp *qp);

#endif
