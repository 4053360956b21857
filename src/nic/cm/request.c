/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/request.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/cm/backlog.h"
#include "nic/cm/connect.h"
#include "nic/cm/early.h"
#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/incoming.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/port.h"
#include "nic/cm/proof.h"
#include "nic/cm/reject.h"
#include "nic/cm/release.h"
#include "nic/cm/sidr.h"
#include "nic/wire/frame.h"

/* ---- REQ received ---- */

/* Returns the QP type that a listener needs for this request; -1: none that this CM knows. */
static int qp_type_of(const struct adv_cm_req *req)
{
	switch (req->transport) {
	case ADV_CM_TRANSPORT_RC:
		return IBV_QPT_RC;
	case ADV_CM_TRANSPORT_UC:
		return IBV_QPT_UC;
	case ADV_CM_TRANSPORT_EXTENDED:
		return req->extended_transport == ADV_CM_EXTENDED_XRC ? IBV_QPT_XRC_RECV : -1;
	default:
		return -1;
	}
}

/* Returns the reason to reject a request regardless of the listener; 0: none. */
static uint16_t reason_to_reject(const struct adv_cm *cm, const struct adv_cm_req *req,
				 const struct adv_rx_meta *meta, struct adv_cm_ip_header *header)
{
	if (qp_type_of(req) < 0)
		return ADV_CM_REJ_INVALID_TRANSPORT_TYPE;
	if (!adv_cm_ip_header_decode(req->private_data, sizeof(req->private_data), header))
		return ADV_CM_REJ_UNSUPPORTED;
	/* The addresses in the request must match the packet. Otherwise answers would go to another
	 * host, or the peer could pretend to be another host. */
	if (!adv_gid_equal(&req->primary.local_gid, &meta->sgid) ||
	    !adv_gid_equal(&req->primary.remote_gid, &meta->dgid) ||
	    !adv_gid_equal(&header->source, &meta->sgid) ||
	    !adv_gid_equal(&header->destination, &meta->dgid))
		return ADV_CM_REJ_INVALID_GID;
	if (adv_mtu_bytes(req->path_mtu) == 0)
		return ADV_CM_REJ_INVALID_MTU;
	if (!adv_cm_pkey_for(cm, req->pkey))
		return ADV_CM_REJ_UNSUPPORTED;
	return 0;
}

static void answer_repeated_req(struct adv_cm_id *id, const struct adv_cm_packet *packet)
{
	struct adv_cm_counters *c = &id->cm->counters;
	struct adv_cm_packet again;

	if (id->tid != packet->tid || id->remote_qpn != packet->req.local_qpn) {
		c->rx_unmatched++;
		return;
	}
	c->rx_duplicates++;
	adv_cm_id_add_credit(id);
	switch (id->state) {
	case ADV_CM_REQ_RCVD:
		adv_cm_send_mra(id, ADV_CM_ABOUT_REQ);
		break;
	case ADV_CM_REP_SENT:
		if (adv_cm_packet_decode(id->mad, sizeof(id->mad), &again))
			adv_cm_send(id, &again);
		break;
	case ADV_CM_TIMEWAIT:
		adv_cm_send_rej(id, ADV_CM_REJ_STALE_CONN, NULL, 0);
		break;
	default:
		break;
	}
}

static void set_route(struct adv_cm_id *id, const struct adv_cm_req *req)
{
	struct adv_cm_route *route = &id->route;
	uint8_t life = req->primary.local_ack_timeout;

	route->path.flow_label = req->primary.flow_label;
	route->path.sport = adv_frame_sport(req->primary.flow_label, 1, 1);
	route->path.tclass = req->primary.traffic_class;
	route->path.hop_limit = req->primary.hop_limit ? req->primary.hop_limit : ADV_CM_HOP_LIMIT;
	route->path.sl = req->primary.sl;
	route->mtu = (enum ibv_mtu)req->path_mtu;
	route->packet_life_time = life ? life - 1 : 0;
	route->rate = req->primary.packet_rate;
	route->pkey = adv_cm_pkey_for(id->cm, req->pkey);
}

static void take_req(struct adv_cm_id *id, const struct adv_cm_packet *packet)
{
	const struct adv_cm_req *req = &packet->req;

	adv_cm_id_begin(id);
	adv_cm_id_set_state(id, ADV_CM_REQ_RCVD);
	id->tid = packet->tid;
	id->remote_guid = req->local_ca_guid;
	id->remote_qpn = req->local_qpn;
	id->remote_psn = req->starting_psn;
	id->responder_resources = req->initiator_depth;
	id->initiator_depth = req->responder_resources;
	id->retry_count = req->retry_count;
	id->rnr_retry_count = req->rnr_retry_count;
	id->timeout = req->primary.local_ack_timeout;
	id->alternate = req->alternate.local_lid != 0;
	set_route(id, req);
	adv_cm_id_enter_remote(id, req->local_comm_id);
	adv_cm_id_enter_qpn(id);
}

static void fill_request_event(struct adv_cm_event *event, const struct adv_cm_id *id,
			       const struct adv_cm_packet *packet)
{
	const struct adv_cm_req *req = &packet->req;

	event->listen = id->listener;
	event->param.qp_num = req->local_qpn;
	event->param.qp_type = id->qp_type;
	event->param.responder_resources = req->initiator_depth;
	event->param.initiator_depth = req->responder_resources;
	event->param.flow_control = req->flow_control;
	event->param.retry_count = req->retry_count;
	event->param.rnr_retry_count = req->rnr_retry_count;
	event->param.srq = req->srq;
	event->param.ece.vendor_id = req->ece_vendor;
	event->param.ece.options = packet->modifier;
}

static void add_rc_request(struct adv_cm_id *listener, uint64_t now, const struct adv_rx_meta *meta,
			   const struct adv_cm_packet *packet,
			   const struct adv_cm_ip_header *header)
{
	struct adv_cm_event_node *event;
	struct adv_cm_id *id;

	id = adv_cm_request_new(listener, now, meta, header, (uint16_t)packet->req.service_id,
				&event);
	if (!id)
		return;
	take_req(id, packet);
	fill_request_event(&event->event, id, packet);
	adv_cm_event_private(event, packet->req.private_data + ADV_CM_IP_HEADER_LEN,
			     ADV_CM_REQ_PRIVATE);
	adv_cm_event_post(event);
}

void adv_cm_rx_req(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	const struct adv_cm_req *req = &packet->req;
	struct adv_cm_id *listener, *old;
	struct adv_cm_ip_header header;
	uint16_t reason;

	if (req->local_qpn <= ADV_GSI_QPN || req->local_qpn == ADV_QPN_MULTICAST) {
		cm->counters.rx_malformed++;
		return;
	}
	old = adv_cm_id_find_remote(cm, meta, req->local_ca_guid, req->local_comm_id, false);
	if (old) {
		answer_repeated_req(old, packet);
		return;
	}
	reason = reason_to_reject(cm, req, meta, &header);
	if (reason) {
		cm->counters.rx_malformed++;
		adv_cm_reject_stateless(cm, meta, packet, reason);
		return;
	}
	/* 12.9.8.3.1: the peer's QP was lost without notice to this end. */
	old = adv_cm_id_find_qpn(cm, &meta->sgid, req->local_ca_guid, req->local_qpn);
	if (old) {
		adv_cm_reject_stateless(cm, meta, packet, ADV_CM_REJ_STALE_CONN);
		if (old->state == ADV_CM_ESTABLISHED)
			adv_cm_send_dreq(old, now);
		return;
	}
	listener = adv_cm_listener_find(cm, req->service_id, &header);
	if (!listener && adv_cm_early_hold(cm, now, meta, packet))
		return;
	if (!listener)
		adv_cm_reject_stateless(cm, meta, packet, ADV_CM_REJ_INVALID_SERVICE_ID);
	else if (listener->qp_type != (enum ibv_qp_type)qp_type_of(req))
		adv_cm_reject_stateless(cm, meta, packet, ADV_CM_REJ_INVALID_TRANSPORT_TYPE);
	else
		add_rc_request(listener, now, meta, packet, &header);
}

/* ---- accepting ---- */

static int send_rep(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_REP, .tid = id->tid};
	struct adv_cm_rep *rep = &packet.rep;

	if (param->private_data_len > ADV_CM_REP_PRIVATE || param->qp_num > ADV_QPN_MASK)
		return EINVAL;
	packet.modifier = param->ece.options;
	rep->local_comm_id = id->local_comm_id;
	rep->remote_comm_id = id->remote_comm_id;
	rep->starting_psn = id->local_psn;
	rep->ece_vendor = param->ece.vendor_id;
	rep->responder_resources = param->responder_resources;
	rep->target_ack_delay = ADV_CM_ACK_DELAY;
	rep->failover = id->alternate;
	rep->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	rep->local_ca_guid = be64toh(id->cm->config.node_guid);
	if (id->qp_type == IBV_QPT_XRC_RECV) {
		rep->local_eecn = param->qp_num;
		rep->local_qpn = param->srq_num;
		rep->srq = true;
	} else {
		rep->local_qpn = param->qp_num;
		rep->initiator_depth = param->initiator_depth;
		rep->flow_control = param->flow_control != 0;
		rep->srq = param->srq != 0;
	}
	memcpy(rep->private_data, param->private_data, param->private_data_len);
	adv_cm_id_answered(id);
	id->local_qpn = param->qp_num;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	adv_cm_id_set_state(id, ADV_CM_REP_SENT);
	adv_cm_send_repeated(id, now, &packet);
	return 0;
}

int adv_cm_accept(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param)
{
	if (id->state == ADV_CM_CLOSED && id->aborted)
		return ECONNABORTED;
	if (id->state == ADV_CM_REQ_RCVD)
		return send_rep(id, now, param);
	if (id->state != ADV_CM_SIDR_REQ_RCVD ||
	    param->private_data_len > ADV_CM_SIDR_REP_PRIVATE || param->qp_num > ADV_QPN_MASK)
		return EINVAL;
	adv_cm_send_sidr_rep(id, ADV_CM_SIDR_SUCCESS, param);
	return 0;
}

/* ---- RTU received ---- */

/* Handles an RTU or its equivalent. False: there is no memory for the event. */
static bool handle_established(struct adv_cm_id *id)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_ESTABLISHED, &event))
		return false;
	adv_cm_timers_stop(id);
	adv_cm_id_set_state(id, ADV_CM_ESTABLISHED);
	if (event)
		event->event.param.qp_num = id->remote_qpn;
	adv_cm_event_post(event);
	return true;
}

void adv_cm_rx_rtu(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	struct adv_cm_id *id = adv_cm_id_find_both(cm, meta, packet->rtu.remote_comm_id,
						   packet->rtu.local_comm_id);

	if (!id || id->active)
		cm->counters.rx_unmatched++;
	else if (id->state == ADV_CM_REP_SENT)
		handle_established(id);
	else
		cm->counters.rx_duplicates++;
}

int adv_cm_establish(struct adv_cm_id *id, uint64_t now)
{
	if (id->state == ADV_CM_REP_SENT)
		return handle_established(id) ? 0 : ENOMEM;
	if (id->state == ADV_CM_ESTABLISHED && !id->active)
		return EISCONN;
	if (id->state != ADV_CM_REP_RCVD)
		return EINVAL;
	adv_cm_id_set_state(id, ADV_CM_ESTABLISHED);
	adv_cm_send_rtu(id, now);
	return 0;
}
