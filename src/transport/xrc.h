/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which SRQ an XRC request is for. */
#ifndef ADV_TRANSPORT_XRC_H
#define ADV_TRANSPORT_XRC_H

#include "transport/qp_state.h"

/*
 * An XRC_RECV QP has received the expected request. The SRQ that the request names lends the QP its
 * PD, its receive requests and its CQ until the next request (A14.4). ADV_ERR_NONE;
 * ADV_ERR_XRC_SRQ: no SRQ of the QP's domain has this number; ADV_ERR_XRC_SRQ_CHANGED: it is not
 * the SRQ of the message in progress.
 */
enum adv_vendor_err adv_xrc_select(struct adv_qp *qp, uint32_t number);

#endif
