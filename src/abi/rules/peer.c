/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/check/ends.h"
#include "abi/check/fault.h"

#define CONNECTED (IBV_QP_AV | IBV_QP_DEST_QPN)
#define PEER	  "the peer was created here"

/* One end of a connection. */
struct side {
	char name[ADV_CHECK_NAME + 48];
	const struct adv_check_stack *created; /* NULL: by another process */
	int known;			       /* attributes that `attr` has */
	struct ibv_qp_attr attr;
};

static bool is_connected(const struct adv_check_qp *qp)
{
	return (qp->known & CONNECTED) == CONNECTED &&
	       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

/* ---- rules ---- */

/* Compares what `from` sends with what `to` expects; one of them is `qp`, the other one `peer`.
 * changed: the attributes that the call has set. */
static void compare_direction(struct adv_check_call *call, const struct adv_check_qp *qp,
			      const struct side *from, const struct side *to,
			      const struct side *peer, int changed)
{
	const int psn = from == peer ? IBV_QP_RQ_PSN : IBV_QP_SQ_PSN;
	const int reads = from == peer ? IBV_QP_MAX_DEST_RD_ATOMIC : IBV_QP_MAX_QP_RD_ATOMIC;

	if (from->known & IBV_QP_SQ_PSN && to->known & IBV_QP_RQ_PSN && changed & psn &&
	    from->attr.sq_psn != to->attr.rq_psn)
		adv_check_fault_with(
			call, ADV_RULE_PSN_MISMATCH, &qp->base, PEER, peer->created,
			"%s sends from sq_psn 0x%06x, its peer %s expects rq_psn 0x%06x",
			from->name, from->attr.sq_psn, to->name, to->attr.rq_psn);
	if (from->known & IBV_QP_MAX_QP_RD_ATOMIC && to->known & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    changed & reads && from->attr.max_rd_atomic > to->attr.max_dest_rd_atomic)
		adv_check_fault_with(
			call, ADV_RULE_RD_ATOMIC_MISMATCH, &qp->base, PEER, peer->created,
			"max_rd_atomic %u of %s is above max_dest_rd_atomic %u of its peer %s",
			from->attr.max_rd_atomic, from->name, to->attr.max_dest_rd_atomic,
			to->name);
}

static void compare_sides(struct adv_check_call *call, const struct adv_check_qp *qp,
			  const struct side *peer, int changed)
{
	struct side own = {.known = qp->known, .attr = qp->attr};

	memcpy(own.name, qp->base.name, sizeof(qp->base.name));
	if (changed & IBV_QP_PATH_MTU && peer->known & IBV_QP_PATH_MTU &&
	    own.attr.path_mtu != peer->attr.path_mtu)
		adv_check_fault_with(call, ADV_RULE_MTU_MISMATCH, &qp->base, PEER, peer->created,
				     "path_mtu is %u bytes, and that of its peer %s is %u bytes",
				     128u << own.attr.path_mtu, peer->name,
				     128u << peer->attr.path_mtu);
	compare_direction(call, qp, &own, peer, peer, changed);
	compare_direction(call, qp, peer, &own, peer, changed);
}

/* ---- a peer of this process ---- */

static void compare_here(struct adv_check_call *call, const struct adv_check_qp *qp,
			 const struct adv_check_qp *peer, int mask)
{
	struct side side = {
		.created = &peer->base.created, .known = peer->known, .attr = peer->attr};

	memcpy(side.name, peer->base.name, sizeof(peer->base.name));
	if (peer->attr.dest_qp_num == qp->qp->qp_num)
		compare_sides(call, qp, &side, mask);
	else if (mask & IBV_QP_DEST_QPN)
		adv_check_fault_with(call, ADV_RULE_PEER_MISMATCH, &qp->base, PEER,
				     &peer->base.created,
				     "dest_qp_num is %s, which is connected to qp 0x%06x",
				     peer->base.name, peer->attr.dest_qp_num);
}

/* ---- a peer of another process ---- */

static struct adv_check_end end_of(const struct adv_check_qp *qp)
{
	struct adv_check_end end = {
		.number = qp->qp->qp_num,
		.peer = qp->attr.dest_qp_num,
		.type = (uint32_t)qp->qp->qp_type,
		.known = (uint32_t)qp->known,
		.sq_psn = qp->attr.sq_psn,
		.rq_psn = qp->attr.rq_psn,
		.path_mtu = (uint8_t)qp->attr.path_mtu,
		.max_rd_atomic = qp->attr.max_rd_atomic,
		.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
	};

	memcpy(end.program, program_invocation_short_name,
	       strnlen(program_invocation_short_name, sizeof(end.program)));
	return end;
}

static struct side side_of(const struct adv_check_end *end)
{
	struct side side = {
		.known = (int)end->known,
		.attr = {.sq_psn = end->sq_psn,
			 .rq_psn = end->rq_psn,
			 .path_mtu = end->path_mtu & 7,
			 .max_rd_atomic = end->max_rd_atomic,
			 .max_dest_rd_atomic = end->max_dest_rd_atomic},
	};

	snprintf(side.name, sizeof(side.name), "qp 0x%06x of process %d (%.*s)", end->number,
		 (int)end->pid, (int)sizeof(end->program), end->program);
	return side;
}

/* The attributes that the peer had before this queue pair was created or reset are those of an
 * earlier connection. */
static void compare_far(struct adv_check_call *call, struct adv_check_qp *qp, int mask)
{
	char path[ADV_CHECK_ENDS_PATH];
	struct adv_check_end own = end_of(qp), other;
	struct side side;

	adv_check_ends_path(path);
	qp->is_entered = true;
	if (!adv_check_ends_meet(path, &own, &other) || other.at < qp->reset_at)
		return;
	side = side_of(&other);
	compare_sides(call, qp, &side, mask);
}

void adv_check_peer(struct adv_check_call *call, struct adv_check_qp *qp, int mask)
{
	const struct adv_check_qp *peer;

	if (!is_connected(qp) || !qp->peer_is_here)
		return;
	peer = adv_check_qp_numbered(qp->attr.dest_qp_num);
	if (!peer)
		compare_far(call, qp, mask);
	else if (peer->qp->qp_type == qp->qp->qp_type && is_connected(peer))
		compare_here(call, qp, peer, mask);
}

void adv_check_peer_ends(struct adv_check_qp *qp)
{
	char path[ADV_CHECK_ENDS_PATH];

	if (!qp->is_entered)
		return;
	qp->is_entered = false;
	adv_check_ends_path(path);
	adv_check_ends_leave(path, qp->qp->qp_num);
}
