/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects the SRQ of an XRC request. */
#ifndef ADV_NIC_QUEUE_XRC_H
#define ADV_NIC_QUEUE_XRC_H

#include "nic/queue/qp_state.h"

/*
 * Lends the PD, the receive requests and the CQ of an SRQ to an XRC_RECV QP that has received the
 * expected request. `number` is the SRQ number of the request; the loan lasts until the next
 * request (A14.4). Returns ADV_ERR_NONE; ADV_ERR_XRC_SRQ: no SRQ of the QP's domain has this
 * number; ADV_ERR_XRC_SRQ_CHANGED: the message in progress uses another SRQ.
 */
enum adv_vendor_err adv_xrc_select(struct adv_qp *qp, uint32_t number);

#endif
