/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/responder/refusal.h"

struct adv_refusal adv_refusal_of(enum adv_vendor_err why)
{
	switch (why) {
	case ADV_ERR_RKEY:
	case ADV_ERR_RKEY_PD:
	case ADV_ERR_REMOTE_ACCESS:
	case ADV_ERR_REMOTE_BOUNDS:
	case ADV_ERR_REMOTE_UNMAPPED:
	case ADV_ERR_INVALIDATE:
		return (struct adv_refusal){ADV_NAK_REMOTE_ACCESS_ERROR, IBV_EVENT_QP_ACCESS_ERR,
					    IBV_WC_LOC_ACCESS_ERR};
	case ADV_ERR_RECV_TOO_SMALL:
		return (struct adv_refusal){ADV_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR,
					    IBV_WC_LOC_LEN_ERR};
	case ADV_ERR_LKEY:
	case ADV_ERR_LKEY_PD:
	case ADV_ERR_LOCAL_ACCESS:
	case ADV_ERR_LOCAL_BOUNDS:
	case ADV_ERR_LOCAL_UNMAPPED:
		/* The memory of the receive request is not valid: an error of the responder's own
		 * side (IBTA 9.7.5.2.7). */
		return (struct adv_refusal){ADV_NAK_REMOTE_OPERATIONAL_ERROR, IBV_EVENT_QP_FATAL,
					    IBV_WC_LOC_PROT_ERR};
	default:
		return (struct adv_refusal){ADV_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR,
					    IBV_WC_REM_INV_REQ_ERR};
	}
}
