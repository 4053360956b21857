/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/modify.h"

#include <errno.h>

#include "base/clock.h"
#include "abi/check/fault.h"
#include "abi/rules/limits.h"
#include "abi/rules/peer.h"
#include "abi/rules/queries.h"
#include "nic/engine/names.h"
#include "nic/queue/qp_transition.h"

#define PSN_MASK      0xffffff
#define QKEY_HIGH_BIT 0x80000000u
#define RNR_FOREVER   7 /* rnr_retry: retries without end, IBTA 9.7.5.2.8 */

/* ---- refused calls ---- */

/* XRC QPs accept the attributes of both directions: the kernel drops the unused ones. */
static bool has_both_directions(const struct adv_check_qp *qp)
{
	return qp->qp->qp_type == IBV_QPT_XRC_SEND || qp->qp->qp_type == IBV_QPT_XRC_RECV;
}

/* True if the transition or its mask is wrong. */
static bool check_mask(struct adv_check_call *call, const struct adv_check_qp *qp,
		       enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	char names[ADV_ATTR_NAMES_LENGTH];
	int required, optional, missing, extra;

	if (!adv_qp_transition(qp->qp->qp_type, from, to, &required, &optional)) {
		adv_check_fault(call, ADV_RULE_TRANSITION_INVALID, &qp->base,
				"there is no transition from %s to %s", adv_qp_state_name(from),
				adv_qp_state_name(to));
		return true;
	}
	missing = required & ~mask;
	extra = mask & ~(required | optional | IBV_QP_STATE);
	if (missing)
		adv_check_fault(call, ADV_RULE_MASK_MISSING, &qp->base,
				"%s -> %s of a QP of type %s: attr_mask lacks %s",
				adv_qp_state_name(from), adv_qp_state_name(to),
				adv_qp_type_name(qp->qp->qp_type),
				adv_qp_attr_names(missing, names, sizeof(names)));
	else if (extra && !has_both_directions(qp))
		adv_check_fault(call, ADV_RULE_MASK_SUPERFLUOUS, &qp->base,
				"%s -> %s of a QP of type %s: attr_mask has %s",
				adv_qp_state_name(from), adv_qp_state_name(to),
				adv_qp_type_name(qp->qp->qp_type),
				adv_qp_attr_names(extra, names, sizeof(names)));
	return missing || extra;
}

static void check_indices(struct adv_check_call *call, const struct adv_check_qp *qp,
			  const struct adv_check_change *c)
{
	const struct ibv_global_route *grh = &c->attr->ah_attr.grh;
	const unsigned port = c->attr->port_num, pkey = c->attr->pkey_index;
	const unsigned path_port = c->attr->ah_attr.port_num;

	if (c->mask & IBV_QP_PORT && (port < 1 || port > c->port.ports))
		adv_check_fault(call, ADV_RULE_PORT_NUMBER, &qp->base,
				"port_num %u: the device has %u, and ports count from 1", port,
				c->port.ports);
	if (c->mask & IBV_QP_AV && (path_port < 1 || path_port > c->port.ports))
		adv_check_fault(call, ADV_RULE_PORT_NUMBER, &qp->base,
				"ah_attr.port_num %u: the device has %u, and ports count from 1",
				path_port, c->port.ports);
	if (c->mask & IBV_QP_PKEY_INDEX && pkey >= c->port.pkeys)
		adv_check_fault(call, ADV_RULE_PKEY_INDEX, &qp->base,
				"pkey_index %u: the P_Key table has %u entries (pkey_tbl_len)",
				pkey, c->port.pkeys);
	if (!(c->mask & IBV_QP_AV))
		return;
	if (!c->attr->ah_attr.is_global)
		adv_check_fault(call, ADV_RULE_GRH_MISSING, &qp->base,
				"ah_attr.is_global is 0: RoCE routes by GIDs only");
	else if (grh->sgid_index >= c->port.gids)
		adv_check_fault(call, ADV_RULE_GID_INDEX_INVALID, &qp->base,
				"ah_attr.grh.sgid_index %u: the port has %u GIDs (gid_tbl_len)",
				grh->sgid_index, c->port.gids);
}

static void check_refused(struct adv_check_call *call, const struct adv_check_qp *qp,
			  const struct adv_check_change *c)
{
	enum ibv_qp_state to = c->mask & IBV_QP_STATE ? c->attr->qp_state : c->from;

	if (!check_mask(call, qp, c->from, to, c->mask))
		check_indices(call, qp, c);
}

/* ---- accepted values ---- */

static void check_timers(struct adv_check_call *call, const struct adv_check_qp *qp,
			 const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_TIMEOUT && attr->timeout == 0)
		adv_check_fault(call, ADV_RULE_TIMEOUT_ZERO, &qp->base,
				"timeout 0: the requester waits without end for a lost packet");
	if (mask & IBV_QP_RETRY_CNT && attr->retry_cnt == 0)
		adv_check_fault(call, ADV_RULE_RETRY_COUNT_ZERO, &qp->base,
				"retry_cnt 0: the first lost packet ends the connection");
	if (mask & IBV_QP_RNR_RETRY && attr->rnr_retry != RNR_FOREVER)
		adv_check_fault(call, ADV_RULE_RNR_RETRY_FINITE, &qp->base,
				"rnr_retry %u: the connection ends after so many RNR NAKs",
				attr->rnr_retry);
	if (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer == 0)
		adv_check_fault(call, ADV_RULE_RNR_TIMER_ZERO, &qp->base,
				"min_rnr_timer 0 means 655.36 ms");
}

/* The first PSNs of the process's first two QPs. Under the lock of report.h. */
static struct {
	uint32_t psn;
	const struct ibv_qp *qp;
	unsigned count;
} first_psn;

static void check_first_psn(struct adv_check_call *call, const struct adv_check_qp *qp,
			    uint32_t psn)
{
	bool is_second = first_psn.count == 1 && first_psn.qp != qp->qp;

	psn &= PSN_MASK;
	if (psn == 0)
		adv_check_fault(call, ADV_RULE_PSN_CONSTANT, &qp->base, "sq_psn 0");
	else if (is_second && first_psn.psn == psn)
		adv_check_fault(call, ADV_RULE_PSN_CONSTANT, &qp->base,
				"sq_psn 0x%06x is also that of the queue pair before", psn);
	if (first_psn.count == 0 || is_second)
		first_psn.count++;
	first_psn.psn = psn;
	first_psn.qp = qp->qp;
}

static void check_values(struct adv_check_call *call, const struct adv_check_qp *qp,
			 const struct ibv_qp_attr *attr, int mask)
{
	check_timers(call, qp, attr, mask);
	if (mask & IBV_QP_SQ_PSN &&
	    (qp->qp->qp_type == IBV_QPT_RC || qp->qp->qp_type == IBV_QPT_UC))
		check_first_psn(call, qp, attr->sq_psn);
	if (mask & IBV_QP_AV && attr->ah_attr.is_global &&
	    !adv_check_has_queried(ADV_CHECK_QUERY_GID))
		adv_check_fault(call, ADV_RULE_GID_INDEX_CONSTANT, &qp->base,
				"ah_attr.grh.sgid_index %u: the program has queried no GID",
				attr->ah_attr.grh.sgid_index);
	adv_check_rd_atomic_limit(call, qp, attr, mask);
}

static void check_qkey(struct adv_check_call *call, const struct adv_check_qp *qp,
		       const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_QKEY && attr->qkey & QKEY_HIGH_BIT)
		adv_check_fault(
			call, ADV_RULE_QKEY_HIGH_BIT, &qp->base,
			"qkey 0x%08x has the high bit: only a privileged program may set it",
			attr->qkey);
}

/* ---- the record ---- */

static void remember_change(struct adv_check_qp *qp, const struct adv_check_change *c)
{
	const struct ibv_qp_attr *attr = c->attr;
	struct ibv_qp_attr *known = &qp->attr;
	const int mask = c->mask;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		qp->known = 0;
		qp->reset_at = adv_clock_ns();
		adv_check_peer_ends(qp);
	}
	if (mask & IBV_QP_AV)
		qp->peer_is_here = c->peer_is_here;
	if (mask & IBV_QP_QKEY)
		known->qkey = attr->qkey;
	if (mask & IBV_QP_PATH_MTU)
		known->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		known->dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		known->rq_psn = attr->rq_psn & PSN_MASK;
	if (mask & IBV_QP_SQ_PSN)
		known->sq_psn = attr->sq_psn & PSN_MASK;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		known->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		known->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	qp->known |= mask;
}

void adv_check_modified(struct adv_check_call *call, struct adv_check_qp *qp,
			const struct adv_check_change *c)
{
	const bool by_library = adv_check_call_stack(call)->by_library;

	if (!by_library)
		check_qkey(call, qp, c->attr, c->mask);
	if (c->err) {
		if (!by_library && c->err == EINVAL)
			check_refused(call, qp, c);
		return;
	}
	remember_change(qp, c);
	if (by_library)
		return;
	check_values(call, qp, c->attr, c->mask);
	adv_check_peer(call, qp, c->mask);
}
