/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and the SRQs of XRC requests (IBTA annex A14). */
#include "nic/memory/domain.h"
#include "nic/queue/qpn.h"
#include "nic/queue/srq.h"
#include "nic/queue/xrc.h"
#include "nic/queue/xrc_number.h"

struct adv_qp *adv_xrcd_find_qp(const struct adv_xrcd *xrcd, uint32_t qpn)
{
	struct adv_qp *qp = adv_qp_number_find(xrcd->engine, qpn);

	return qp && qp->xrcd == xrcd ? qp : NULL;
}

enum adv_vendor_err adv_xrc_select(struct adv_qp *qp, uint32_t number)
{
	struct adv_srq *srq = adv_xrc_number_find(qp->engine, number);

	if (!srq || srq->xrcd != qp->xrcd)
		return ADV_ERR_XRC_SRQ;
	if (srq == qp->srq)
		return ADV_ERR_NONE;
	if (qp->resp.message != ADV_MSG_NONE || qp->resp.recv)
		return ADV_ERR_XRC_SRQ_CHANGED;
	qp->pd = srq->pd;
	qp->recv_cq = srq->cq;
	qp->srq = srq;
	return ADV_ERR_NONE;
}
