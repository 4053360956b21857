/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/datagram.h"

#include "abi/check/fault.h"
#include "abi/rules/queries.h"

#define QKEY_HIGH_BIT 0x80000000u
#define GRH_LENGTH    40
#define ETHERNET_MOST 1024 /* payload of one packet with an Ethernet MTU of 1500 */

static void check_qkey(struct adv_check_call *call, const struct adv_check_qp *qp,
		       const struct ibv_send_wr *wr)
{
	const struct adv_check_object *ah = adv_check_object_find(ADV_CHECK_AH, wr->wr.ud.ah);
	const bool is_controlled = wr->wr.ud.remote_qkey & QKEY_HIGH_BIT;
	const uint32_t sent = is_controlled ? qp->attr.qkey : wr->wr.ud.remote_qkey;
	const struct adv_check_qp *peer;

	if (!(qp->known & IBV_QP_QKEY))
		return;
	if (is_controlled && wr->wr.ud.remote_qkey != qp->attr.qkey) {
		adv_check_fault(call, ADV_RULE_QKEY_HIGH_BIT, &qp->base,
				"remote_qkey 0x%08x has the high bit: the queue pair's own Q_Key "
				"0x%08x is sent instead",
				wr->wr.ud.remote_qkey, qp->attr.qkey);
		return;
	}
	if (!ah || !((const struct adv_check_ah *)ah)->is_here)
		return;
	peer = adv_check_qp_numbered(wr->wr.ud.remote_qpn);
	if (peer && peer->qp->qp_type == IBV_QPT_UD && peer->known & IBV_QP_QKEY &&
	    peer->attr.qkey != sent)
		adv_check_fault_with(call, ADV_RULE_QKEY_MISMATCH, &qp->base,
				     "the receiver was created here", &peer->base.created,
				     "Q_Key 0x%08x is sent, and the receiver %s has 0x%08x", sent,
				     peer->base.name, peer->attr.qkey);
}

void adv_check_datagram_send(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct ibv_send_wr *wr, const struct adv_check_work *w)
{
	if (qp->qp->qp_type != IBV_QPT_UD)
		return;
	check_qkey(call, qp, wr);
	if (w->length > ETHERNET_MOST && !adv_check_has_queried(ADV_CHECK_QUERY_PORT))
		adv_check_fault(call, ADV_RULE_UD_OVER_ETHERNET_MTU, &qp->base,
				"a message of %llu bytes is more than the %d bytes of one packet "
				"with an Ethernet MTU of 1500",
				(unsigned long long)w->length, ETHERNET_MOST);
}

void adv_check_datagram_recv(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct adv_check_work *w)
{
	if (qp->qp->qp_type == IBV_QPT_UD && w->length < GRH_LENGTH)
		adv_check_fault(call, ADV_RULE_GRH_FORGOTTEN, &qp->base,
				"a receive of %llu bytes has no room for the %d bytes of the GRH",
				(unsigned long long)w->length, GRH_LENGTH);
}
