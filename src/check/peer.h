/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the two ends of a connection within one process: each end's attributes must fit those of
 * the other end. */
#ifndef ADV_CHECK_PEER_H
#define ADV_CHECK_PEER_H

#include "check/call.h"
#include "check/object.h"

/* Compares `qp`, of which the attributes in mask have changed, with its peer, if this process has
 * the peer. Needs the lock of report.h. */
void adv_check_peer(struct adv_check_call *call, const struct adv_check_qp *qp, int mask);

#endif
