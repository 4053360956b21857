/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/sidr.h"

#include <errno.h>
#include <string.h>

#include "nic/cm/address.h"
#include "nic/cm/backlog.h"
#include "nic/cm/early.h"
#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/incoming.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/port.h"
#include "nic/cm/proof.h"
#include "nic/wire/frame.h"

/* ---- requesting ---- */

int adv_cm_connect_sidr(struct adv_cm_id *id, uint64_t now, const struct adv_cm_conn_param *param)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_SIDR_REQ};
	struct adv_cm_sidr_req *req = &packet.sidr_req;

	if (param->private_data_len > ADV_CM_SIDR_REQ_PRIVATE)
		return EINVAL;
	adv_cm_id_begin(id);
	id->active = true;
	id->local_qpn = param->qp_num;
	id->qkey = param->qkey;
	adv_cm_id_set_state(id, ADV_CM_SIDR_REQ_SENT);
	packet.tid = id->tid;
	req->request_id = id->local_comm_id;
	req->pkey = id->route.pkey;
	req->service_id = adv_cm_service_id((uint16_t)id->ps, id->remote.port);
	adv_cm_make_ip_header(id, req->private_data);
	memcpy(req->private_data + ADV_CM_IP_HEADER_LEN, param->private_data,
	       param->private_data_len);
	adv_cm_send_repeated(id, now, &packet);
	return 0;
}

void adv_cm_rx_sidr_rep(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet)
{
	const struct adv_cm_sidr_rep *rep = &packet->sidr_rep;
	struct adv_cm_id *id = adv_cm_id_find(cm, meta, rep->request_id);
	struct adv_cm_event_node *event;
	bool success = rep->status == ADV_CM_SIDR_SUCCESS;

	if (!id || id->state != ADV_CM_SIDR_REQ_SENT || id->tid != packet->tid) {
		cm->counters.rx_unmatched++;
		return;
	}
	if (!adv_cm_event_prepare(
		    id, success ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, &event))
		return;
	if (success) {
		id->remote_qpn = rep->qpn;
		id->qkey = rep->qkey;
		event->event.param.qp_num = rep->qpn;
		event->event.param.qkey = rep->qkey;
		event->event.param.qp_type = IBV_QPT_UD;
		event->event.param.ece.vendor_id = rep->ece_vendor;
		event->event.param.ece.options = packet->modifier;
	} else {
		event->event.status = rep->status;
	}
	adv_cm_event_private(event, rep->private_data, ADV_CM_SIDR_REP_PRIVATE);
	adv_cm_event_post(event);
	adv_cm_id_close(id);
	if (success)
		adv_cm_id_set_state(id, ADV_CM_SIDR_DONE);
}

/* ---- responding ---- */

void adv_cm_refuse_sidr(struct adv_cm *cm, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet)
{
	struct adv_cm_packet answer = {.attribute = ADV_CM_SIDR_REP, .tid = packet->tid};

	answer.sidr_rep.request_id = packet->sidr_req.request_id;
	answer.sidr_rep.service_id = packet->sidr_req.service_id;
	answer.sidr_rep.status = ADV_CM_SIDR_UNSUPPORTED;
	adv_cm_send_stateless(cm, meta, &answer);
}

static void answer_repeated_req(struct adv_cm_id *id)
{
	struct adv_cm_packet answer;

	id->cm->counters.rx_duplicates++;
	adv_cm_id_add_credit(id);
	if (id->state == ADV_CM_SIDR_DONE &&
	    adv_cm_packet_decode(id->mad, sizeof(id->mad), &answer))
		adv_cm_send(id, &answer);
}

static void add_sidr_request(struct adv_cm_id *listener, uint64_t now,
			     const struct adv_rx_meta *meta, const struct adv_cm_packet *packet,
			     const struct adv_cm_ip_header *header)
{
	const struct adv_cm_sidr_req *req = &packet->sidr_req;
	struct adv_cm_event_node *event;
	struct adv_cm_id *id;

	id = adv_cm_request_new(listener, now, meta, header, (uint16_t)req->service_id, &event);
	if (!id)
		return;
	adv_cm_id_begin(id);
	adv_cm_id_set_state(id, ADV_CM_SIDR_REQ_RCVD);
	id->tid = packet->tid;
	id->route.pkey = adv_cm_pkey_for(id->cm, req->pkey);
	id->route.path.tclass = meta->tclass & 0xfc;
	id->route.path.hop_limit = ADV_CM_HOP_LIMIT;
	id->route.path.sport = adv_frame_sport(0, ADV_GSI_QPN, ADV_GSI_QPN);
	adv_cm_id_enter_remote(id, req->request_id);
	event->event.listen = listener;
	event->event.param.qp_type = IBV_QPT_UD;
	adv_cm_event_private(event, req->private_data + ADV_CM_IP_HEADER_LEN,
			     ADV_CM_SIDR_REQ_PRIVATE);
	adv_cm_event_post(event);
}

void adv_cm_rx_sidr_req(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
			const struct adv_cm_packet *packet)
{
	const struct adv_cm_sidr_req *req = &packet->sidr_req;
	struct adv_cm_id *id = adv_cm_id_find_remote(cm, meta, 0, req->request_id, true);
	struct adv_cm_ip_header header;

	if (id && id->tid == packet->tid) {
		answer_repeated_req(id);
		return;
	}
	if (id || !adv_cm_ip_header_decode(req->private_data, sizeof(req->private_data), &header) ||
	    !adv_gid_equal(&header.source, &meta->sgid) ||
	    !adv_gid_equal(&header.destination, &meta->dgid) || !adv_cm_pkey_for(cm, req->pkey)) {
		cm->counters.rx_malformed++;
		return;
	}
	id = adv_cm_listener_find(cm, req->service_id, &header);
	if (id && id->qp_type == IBV_QPT_UD)
		add_sidr_request(id, now, meta, packet, &header);
	else if (id || !adv_cm_early_hold(cm, now, meta, packet))
		adv_cm_refuse_sidr(cm, meta, packet);
}

void adv_cm_send_sidr_rep(struct adv_cm_id *id, uint8_t status,
			  const struct adv_cm_conn_param *param)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_SIDR_REP, .tid = id->tid};
	struct adv_cm_sidr_rep *rep = &packet.sidr_rep;

	rep->request_id = id->remote_comm_id;
	rep->service_id = adv_cm_service_id((uint16_t)id->ps, id->local.port);
	rep->status = status;
	if (status == ADV_CM_SIDR_SUCCESS) {
		id->local_qpn = param->qp_num;
		id->qkey = param->qkey ? param->qkey : ADV_CM_UDP_QKEY;
		rep->qpn = id->local_qpn;
		rep->qkey = id->qkey;
		rep->ece_vendor = param->ece.vendor_id;
		packet.modifier = param->ece.options;
	}
	if (param)
		memcpy(rep->private_data, param->private_data, param->private_data_len);
	adv_cm_id_answered(id);
	adv_cm_id_set_state(id, ADV_CM_SIDR_DONE);
	/* The id keeps the answer for duplicates of the request. */
	if (adv_cm_packet_encode(&packet, id->mad))
		adv_cm_send(id, &packet);
}
