/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The attributes that a queue pair of a connection needs in each state, as Linux's rdma_cm sets
 * them. */
#include <errno.h>
#include <string.h>

#include "nic/cm/state.h"

/* True if the peer's numbers are known. */
static bool has_peer(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_RCVD:
	case ADV_CM_REP_SENT:
	case ADV_CM_ESTABLISHED:
		return true;
	default:
		return false;
	}
}

/* Returns the index of the route's P_Key; before there is a route, 0. */
static uint16_t pkey_index(const struct adv_cm_id *id)
{
	int index = adv_pkey_index(&id->cm->config.pkeys, id->route.pkey);

	return index > 0 ? (uint16_t)index : 0;
}

static void to_init(const struct adv_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->port_num = 1;
	attr->pkey_index = pkey_index(id);
	if (id->qp_type == IBV_QPT_UD) {
		attr->qkey = id->qkey ? id->qkey : ADV_CM_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return;
	}
	*mask |= IBV_QP_ACCESS_FLAGS;
	if (id->state != ADV_CM_REQ_SENT && !has_peer(id))
		return;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void to_rtr(const struct adv_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	const struct adv_path *path = &id->route.path;

	*mask = IBV_QP_STATE;
	if (id->qp_type == IBV_QPT_UD)
		return;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	attr->ah_attr.is_global = 1;
	memcpy(attr->ah_attr.grh.dgid.raw, path->dgid.raw, 16);
	attr->ah_attr.grh.flow_label = path->flow_label;
	attr->ah_attr.grh.sgid_index = path->sgid_index;
	attr->ah_attr.grh.hop_limit = path->hop_limit;
	attr->ah_attr.grh.traffic_class = path->tclass;
	attr->ah_attr.sl = path->sl;
	attr->ah_attr.static_rate = id->route.rate;
	attr->ah_attr.port_num = 1;
	attr->path_mtu = id->route.mtu;
	attr->dest_qp_num = id->remote_qpn;
	attr->rq_psn = id->local_psn;
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = id->responder_resources;
	}
}

static void to_rts(const struct adv_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = id->remote_psn;
	if (id->qp_type == IBV_QPT_UD) {
		attr->sq_psn = id->local_psn;
		return;
	}
	if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
		*mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		attr->retry_cnt = id->retry_count;
		attr->rnr_retry = id->rnr_retry_count;
		attr->max_rd_atomic = id->initiator_depth;
	}
	if (id->qp_type != IBV_QPT_UC) {
		*mask |= IBV_QP_TIMEOUT;
		attr->timeout = id->ack_timeout_set ? id->ack_timeout : id->timeout;
	}
}

int adv_cm_qp_attr(const struct adv_cm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		   int *mask)
{
	bool known = id->qp_type == IBV_QPT_UD || has_peer(id);

	if (state != IBV_QPS_INIT && state != IBV_QPS_RTR && state != IBV_QPS_RTS)
		return EINVAL;
	if (state != IBV_QPS_INIT && !known)
		return id->aborted ? ECONNABORTED : EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	if (state == IBV_QPS_INIT)
		to_init(id, attr, mask);
	else if (state == IBV_QPS_RTR)
		to_rtr(id, attr, mask);
	else
		to_rts(id, attr, mask);
	return 0;
}
