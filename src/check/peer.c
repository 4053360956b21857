/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/peer.h"

#include "check/fault.h"

#define CONNECTED (IBV_QP_AV | IBV_QP_DEST_QPN)
#define PEER	  "the peer was created here"

static bool is_connected(const struct adv_check_qp *qp)
{
	return (qp->known & CONNECTED) == CONNECTED &&
	       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

/* Returns the queue pair to which `qp` sends, or NULL if this process does not have it. */
static struct adv_check_qp *find_peer(const struct adv_check_qp *qp)
{
	struct adv_check_qp *peer;

	if (!is_connected(qp) || !qp->peer_is_here)
		return NULL;
	peer = adv_check_qp_numbered(qp->attr.dest_qp_num);
	return peer && peer->qp->qp_type == qp->qp->qp_type ? peer : NULL;
}

/* Compares what `from` sends with what `to` expects; one of them is `called`. changed: the
 * attributes that the call has set. */
static void compare_direction(struct adv_check_call *call, const struct adv_check_qp *called,
			      const struct adv_check_qp *from, const struct adv_check_qp *to,
			      int changed)
{
	const int psn = called == from ? IBV_QP_SQ_PSN : IBV_QP_RQ_PSN;
	const int reads = called == from ? IBV_QP_MAX_QP_RD_ATOMIC : IBV_QP_MAX_DEST_RD_ATOMIC;
	const struct adv_check_stack *other = &(called == from ? to : from)->base.created;

	if (from->known & IBV_QP_SQ_PSN && to->known & IBV_QP_RQ_PSN && changed & psn &&
	    from->attr.sq_psn != to->attr.rq_psn)
		adv_check_fault_with(call, ADV_RULE_PSN_MISMATCH, &called->base, PEER, other,
				     "%s sends from sq_psn 0x%06x, its peer %s expects rq_psn "
				     "0x%06x",
				     from->base.name, from->attr.sq_psn, to->base.name,
				     to->attr.rq_psn);
	if (from->known & IBV_QP_MAX_QP_RD_ATOMIC && to->known & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    changed & reads && from->attr.max_rd_atomic > to->attr.max_dest_rd_atomic)
		adv_check_fault_with(call, ADV_RULE_RD_ATOMIC_MISMATCH, &called->base, PEER, other,
				     "max_rd_atomic %u of %s is above max_dest_rd_atomic %u of its "
				     "peer %s",
				     from->attr.max_rd_atomic, from->base.name,
				     to->attr.max_dest_rd_atomic, to->base.name);
}

void adv_check_peer(struct adv_check_call *call, const struct adv_check_qp *qp, int mask)
{
	const struct adv_check_qp *peer = find_peer(qp);

	if (!peer || !is_connected(peer))
		return;
	if (peer->attr.dest_qp_num != qp->qp->qp_num) {
		if (mask & IBV_QP_DEST_QPN)
			adv_check_fault_with(call, ADV_RULE_PEER_MISMATCH, &qp->base, PEER,
					     &peer->base.created,
					     "dest_qp_num is %s, which is connected to qp 0x%06x",
					     peer->base.name, peer->attr.dest_qp_num);
		return;
	}
	if (mask & IBV_QP_PATH_MTU && qp->attr.path_mtu != peer->attr.path_mtu)
		adv_check_fault_with(
			call, ADV_RULE_MTU_MISMATCH, &qp->base, PEER, &peer->base.created,
			"path_mtu is %d bytes, and that of its peer %s is %d bytes",
			128 << qp->attr.path_mtu, peer->base.name, 128 << peer->attr.path_mtu);
	compare_direction(call, qp, qp, peer, mask);
	compare_direction(call, qp, peer, qp, mask);
}
