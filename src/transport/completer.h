/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of the requester. */
#ifndef ADV_TRANSPORT_COMPLETER_H
#define ADV_TRANSPORT_COMPLETER_H

#include "transport/incoming.h"
#include "transport/qp_state.h"

/* Handles an acknowledgement or a response. */
void adv_completer_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);

#endif
