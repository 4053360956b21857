/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/connect.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "nic/cm/address.h"
#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/reject.h"
#include "nic/cm/release.h"
#include "nic/cm/sidr.h"

#define MRA_AFTER_NS 100000000u /* a consumer that has not answered within this time is slow */

uint8_t adv_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time)
{
	/* delay + 2 * life time as an exponent: the longer term, doubled if the other term is at
	 * least half of it. */
	unsigned round_trip = packet_life_time + 1u;
	unsigned timeout = round_trip > ack_delay ? round_trip : ack_delay;
	unsigned other = round_trip > ack_delay ? ack_delay : round_trip;

	timeout += other + 1 >= timeout;
	return timeout < 31 ? (uint8_t)timeout : 31;
}

static void fill_path(const struct adv_cm_id *id, struct adv_cm_path *path)
{
	const struct adv_path *p = &id->route.path;

	/* RoCE has no LIDs. As in Linux, the LIDs are permissive, and the path is not local to the
	 * subnet. */
	path->local_lid = 0xffff;
	path->remote_lid = 0xffff;
	path->local_gid = p->sgid;
	path->remote_gid = p->dgid;
	path->flow_label = p->flow_label;
	path->packet_rate = id->route.rate;
	path->traffic_class = p->tclass;
	path->hop_limit = p->hop_limit;
	path->sl = p->sl;
	path->local_ack_timeout = adv_cm_ack_timeout(ADV_CM_ACK_DELAY, id->route.packet_life_time);
}

static void fill_req(const struct adv_cm_id *id, const struct adv_cm_conn_param *param,
		     struct adv_cm_req *req)
{
	req->local_comm_id = id->local_comm_id;
	req->ece_vendor = param->ece.vendor_id;
	req->service_id = adv_cm_service_id((uint16_t)id->ps, id->remote.port);
	req->local_ca_guid = be64toh(id->cm->config.node_guid);
	req->local_qpn = param->qp_num;
	req->initiator_depth = param->initiator_depth;
	req->remote_response_timeout = ADV_CM_RESPONSE_TIMEOUT;
	req->local_response_timeout = ADV_CM_RESPONSE_TIMEOUT;
	req->flow_control = param->flow_control != 0;
	req->starting_psn = id->local_psn;
	req->pkey = id->route.pkey;
	req->path_mtu = (uint8_t)id->route.mtu;
	req->max_cm_retries = ADV_CM_SAID_RETRIES;
	if (id->qp_type == IBV_QPT_XRC_SEND) {
		req->transport = ADV_CM_TRANSPORT_EXTENDED;
		req->extended_transport = ADV_CM_EXTENDED_XRC;
	} else {
		req->transport =
			id->qp_type == IBV_QPT_UC ? ADV_CM_TRANSPORT_UC : ADV_CM_TRANSPORT_RC;
		req->responder_resources = param->responder_resources;
		req->retry_count = id->retry_count;
		req->rnr_retry_count = id->rnr_retry_count;
		req->srq = param->srq != 0;
	}
	fill_path(id, &req->primary);
	adv_cm_make_ip_header(id, req->private_data);
	memcpy(req->private_data + ADV_CM_IP_HEADER_LEN, param->private_data,
	       param->private_data_len);
}

static int send_req(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_REQ, .modifier = param->ece.options};

	if (param->private_data_len > ADV_CM_REQ_PRIVATE || param->qp_num > ADV_QPN_MASK)
		return EINVAL;
	adv_cm_id_begin(id);
	id->active = true;
	id->local_qpn = param->qp_num;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->retry_count = param->retry_count < 7 ? param->retry_count : 7;
	id->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	id->timeout = id->route.packet_life_time < 30 ? id->route.packet_life_time + 1 : 31;
	adv_cm_id_set_state(id, ADV_CM_REQ_SENT);
	packet.tid = id->tid;
	fill_req(id, param, &packet.req);
	adv_cm_send_repeated(id, now, &packet);
	return 0;
}

int adv_cm_connect(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param)
{
	if (id->state != ADV_CM_ROUTED)
		return EINVAL;
	if (id->tos_set)
		id->route.path.tclass = id->tos & 0xfc;
	if (id->ack_timeout_set && id->ack_timeout)
		id->route.packet_life_time = id->ack_timeout - 1;
	return id->qp_type == IBV_QPT_UD ? adv_cm_connect_sidr(id, now, param)
					 : send_req(id, now, param);
}

/* ---- REP received ---- */

static struct adv_cm_packet rtu_of(const struct adv_cm_id *id)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_RTU, .tid = id->tid};

	packet.rtu.local_comm_id = id->local_comm_id;
	packet.rtu.remote_comm_id = id->remote_comm_id;
	return packet;
}

void adv_cm_send_rtu(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_packet packet = rtu_of(id);

	if (id->was_unproven)
		adv_cm_send_repeated(id, now, &packet);
	else
		adv_cm_send(id, &packet);
}

/* Answers a repeated REP: with an RTU if the id is established, otherwise with an MRA. After an MRA
 * the peer waits a minute before it repeats the REP, even if the RTU is lost. So no MRA is sent if
 * the second REP follows the first immediately: one may be retransmitted by the peer's timer, the
 * other the answer to a retransmitted REQ. */
static void answer_repeated_rep(struct adv_cm_id *id, uint64_t now,
				const struct adv_cm_packet *packet)
{
	if (id->remote_comm_id != packet->rep.local_comm_id || !id->active) {
		id->cm->counters.rx_unmatched++;
		return;
	}
	id->cm->counters.rx_duplicates++;
	if (id->state == ADV_CM_ESTABLISHED)
		adv_cm_send_rtu(id, now);
	else if (id->state == ADV_CM_REP_RCVD && now - id->rep_came >= MRA_AFTER_NS)
		adv_cm_send_mra(id, ADV_CM_ABOUT_REP);
}

static void take_rep(struct adv_cm_id *id, uint64_t now, const struct adv_cm_rep *rep, uint32_t qpn)
{
	adv_cm_timers_stop(id);
	adv_cm_id_set_state(id, ADV_CM_REP_RCVD);
	id->rep_came = now;
	id->remote_guid = rep->local_ca_guid;
	id->remote_qpn = qpn;
	id->remote_psn = rep->starting_psn;
	id->responder_resources = rep->initiator_depth;
	id->initiator_depth = rep->responder_resources;
	id->rnr_retry_count = rep->rnr_retry_count;
	id->timeout = adv_cm_ack_timeout(rep->target_ack_delay, id->route.packet_life_time);
	adv_cm_id_enter_remote(id, rep->local_comm_id);
	adv_cm_id_enter_qpn(id);
}

static void fill_response_event(struct adv_cm_event *event, const struct adv_cm_id *id,
				const struct adv_cm_packet *packet)
{
	const struct adv_cm_rep *rep = &packet->rep;

	event->param.qp_num = id->remote_qpn;
	event->param.srq_num = id->qp_type == IBV_QPT_XRC_SEND ? rep->local_qpn : 0;
	event->param.qp_type = id->qp_type;
	event->param.responder_resources = rep->initiator_depth;
	event->param.initiator_depth = rep->responder_resources;
	event->param.flow_control = rep->flow_control;
	event->param.rnr_retry_count = rep->rnr_retry_count;
	event->param.srq = rep->srq;
	event->param.ece.vendor_id = rep->ece_vendor;
	event->param.ece.options = packet->modifier;
}

void adv_cm_rx_rep(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	const struct adv_cm_rep *rep = &packet->rep;
	struct adv_cm_id *id = adv_cm_id_find(cm, meta, rep->remote_comm_id), *old;
	struct adv_cm_event_node *event;
	uint32_t qpn;

	if (!id) {
		/* This end no longer knows the request. After a REJ the peer does not wait for an
		 * RTU. */
		cm->counters.rx_unmatched++;
		adv_cm_reject_stateless(cm, meta, packet, ADV_CM_REJ_INVALID_COMM_ID);
		return;
	}
	if (id->state != ADV_CM_REQ_SENT) {
		answer_repeated_rep(id, now, packet);
		return;
	}
	qpn = id->qp_type == IBV_QPT_XRC_SEND ? rep->local_eecn : rep->local_qpn;
	if (id->tid != packet->tid || qpn <= ADV_GSI_QPN || qpn == ADV_QPN_MULTICAST) {
		cm->counters.rx_unmatched++;
		return;
	}
	old = adv_cm_id_find_qpn(cm, &meta->sgid, rep->local_ca_guid, qpn);
	if (old || adv_cm_id_find_remote(cm, meta, rep->local_ca_guid, rep->local_comm_id, false)) {
		adv_cm_reject_stateless(cm, meta, packet, ADV_CM_REJ_STALE_CONN);
		if (old && old->state == ADV_CM_ESTABLISHED)
			adv_cm_send_dreq(old, now);
		return;
	}
	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_CONNECT_RESPONSE, &event))
		return;
	take_rep(id, now, rep, qpn);
	fill_response_event(&event->event, id, packet);
	adv_cm_event_private(event, rep->private_data, ADV_CM_REP_PRIVATE);
	adv_cm_event_post(event);
}
