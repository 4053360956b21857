/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/reject.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/sidr.h"
#include "base/bytes.h"

#define GUID_LEN 8
#define MTU_LEN	 1

/* ---- sending ---- */

static enum adv_cm_about about_of(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_RCVD:
	case ADV_CM_TIMEWAIT: /* a duplicate REQ */
		return ADV_CM_ABOUT_REQ;
	case ADV_CM_REP_RCVD:
		return ADV_CM_ABOUT_REP;
	default:
		return ADV_CM_ABOUT_OTHER;
	}
}

static struct adv_cm_packet rej_of(const struct adv_cm_id *id, uint16_t reason)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_REJ, .tid = id->tid};

	packet.rej.local_comm_id = id->local_comm_id;
	packet.rej.remote_comm_id = id->remote_comm_id;
	packet.rej.about = about_of(id);
	packet.rej.reason = reason;
	return packet;
}

void adv_cm_send_rej(struct adv_cm_id *id, uint16_t reason, const void *private_data,
		     uint8_t private_data_len)
{
	struct adv_cm_packet packet = rej_of(id, reason);
	struct adv_cm_rej *rej = &packet.rej;

	if (reason == ADV_CM_REJ_TIMEOUT) {
		/* This end may not know the peer's communication id yet. */
		rej->info_len = GUID_LEN;
		adv_put_be64(rej->info, be64toh(id->cm->config.node_guid));
	}
	if (private_data_len)
		memcpy(rej->private_data, private_data, private_data_len);
	adv_cm_send(id, &packet);
}

void adv_cm_reject_stateless(struct adv_cm *cm, const struct adv_rx_meta *meta,
			     const struct adv_cm_packet *packet, uint16_t reason)
{
	struct adv_cm_packet answer = {.attribute = ADV_CM_REJ, .tid = packet->tid};

	answer.rej.reason = reason;
	if (packet->attribute == ADV_CM_REQ) {
		answer.rej.about = ADV_CM_ABOUT_REQ;
		answer.rej.remote_comm_id = packet->req.local_comm_id;
	} else {
		answer.rej.about = ADV_CM_ABOUT_REP;
		answer.rej.local_comm_id = packet->rep.remote_comm_id;
		answer.rej.remote_comm_id = packet->rep.local_comm_id;
	}
	adv_cm_send_stateless(cm, meta, &answer);
}

void adv_cm_send_mra(struct adv_cm_id *id, enum adv_cm_about about)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_MRA, .tid = id->tid};

	packet.mra.local_comm_id = id->local_comm_id;
	packet.mra.remote_comm_id = id->remote_comm_id;
	packet.mra.about = about;
	packet.mra.service_timeout = ADV_CM_SERVICE_TIMEOUT;
	adv_cm_send(id, &packet);
}

int adv_cm_reject(struct adv_cm_id *id, uint64_t now, uint8_t reason, const void *private_data,
		  uint8_t private_data_len)
{
	struct adv_cm_conn_param param = {.private_data_len = private_data_len};

	switch (id->state) {
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_RCVD:
		if (private_data_len > ADV_CM_REJ_PRIVATE)
			return EINVAL;
		adv_cm_send_rej(id, reason, private_data, private_data_len);
		adv_cm_id_close(id);
		return 0;
	case ADV_CM_SIDR_REQ_RCVD:
		if (private_data_len > ADV_CM_SIDR_REP_PRIVATE)
			return EINVAL;
		if (private_data_len)
			memcpy(param.private_data, private_data, private_data_len);
		if (reason == ADV_CM_SIDR_SUCCESS || reason > ADV_CM_SIDR_UNSUPPORTED_VERSION)
			reason = ADV_CM_SIDR_REJECT;
		adv_cm_send_sidr_rep(id, reason, &param);
		return 0;
	default:
		return EINVAL;
	}
}

int adv_cm_reject_mtu(struct adv_cm_id *id, uint64_t now, enum ibv_mtu mtu)
{
	struct adv_cm_packet packet = rej_of(id, ADV_CM_REJ_INVALID_MTU);

	if (id->state != ADV_CM_REQ_RCVD || adv_mtu_bytes(mtu) == 0)
		return EINVAL;
	packet.rej.info_len = MTU_LEN;
	packet.rej.info[0] = (uint8_t)mtu;
	adv_cm_send(id, &packet);
	adv_cm_id_close(id);
	return 0;
}

/* ---- REJ received ---- */

static struct adv_cm_id *find_rejected(struct adv_cm *cm, const struct adv_rx_meta *meta,
				       const struct adv_cm_rej *rej)
{
	struct adv_cm_id *id;

	if (rej->reason == ADV_CM_REJ_TIMEOUT && rej->info_len >= GUID_LEN) {
		id = adv_cm_id_find_remote(cm, meta, adv_get_be64(rej->info), rej->local_comm_id,
					   false);
		return id && (!rej->remote_comm_id || rej->remote_comm_id == id->local_comm_id)
			       ? id
			       : NULL;
	}
	if (rej->about != ADV_CM_ABOUT_REQ)
		return adv_cm_id_find_both(cm, meta, rej->remote_comm_id, rej->local_comm_id);
	id = adv_cm_id_find(cm, meta, rej->remote_comm_id);
	return id && id->state == ADV_CM_REQ_SENT ? id : NULL;
}

/*
 * Returns the path MTU that a REJ names instead of the requested one, as a code; 0: none. A REQ has
 * the code in the upper half of its byte. Some peers use that position in a REJ too, so both are
 * accepted.
 */
static uint8_t mtu_named(const struct adv_cm_rej *rej)
{
	uint8_t byte = rej->info_len >= MTU_LEN ? rej->info[0] : 0;
	uint8_t code = byte > 0xf && !(byte & 0xf) ? byte >> 4 : byte;

	return adv_mtu_bytes(code) ? code : 0;
}

/*
 * If a REJ names a smaller MTU, repeats the request with that MTU, as a new request with new
 * numbers. The MTU gets smaller each time, so the number of repetitions is limited. False: it is an
 * ordinary reject.
 */
static bool request_smaller_mtu(struct adv_cm_id *id, uint64_t now, const struct adv_cm_rej *rej)
{
	uint8_t mtu = rej->reason == ADV_CM_REJ_INVALID_MTU ? mtu_named(rej) : 0;
	struct adv_cm_packet packet;

	if (id->state != ADV_CM_REQ_SENT || !mtu || mtu >= id->route.mtu ||
	    !adv_cm_packet_decode(id->mad, sizeof(id->mad), &packet))
		return false;
	id->route.mtu = (enum ibv_mtu)mtu;
	adv_table_remove(&id->cm->by_comm_id, &id->by_comm_id);
	adv_cm_id_begin(id);
	packet.tid = id->tid;
	packet.req.local_comm_id = id->local_comm_id;
	packet.req.starting_psn = id->local_psn;
	packet.req.path_mtu = mtu;
	adv_cm_send_repeated(id, now, &packet);
	return true;
}

static void handle_rejection(struct adv_cm_id *id, uint64_t now, const struct adv_cm_rej *rej)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_REJECTED, &event))
		return;
	if (event)
		event->event.status = rej->reason;
	adv_cm_event_private(event, rej->private_data, ADV_CM_REJ_PRIVATE);
	adv_cm_event_post(event);
	id->aborted = !id->active;
	if (id->state == ADV_CM_REP_RCVD || rej->reason == ADV_CM_REJ_STALE_CONN)
		adv_cm_id_timewait(id, now);
	else
		adv_cm_id_close(id);
}

/* Ends a connection that the peer no longer knows. */
static void handle_lost_connection(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_DISCONNECTED, &event))
		return;
	id->disconnected = true;
	adv_cm_event_post(event);
	adv_cm_id_timewait(id, now);
}

void adv_cm_rx_rej(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	struct adv_cm_id *id = find_rejected(cm, meta, &packet->rej);

	if (!id || id->tid != packet->tid) {
		cm->counters.rx_unmatched++;
		return;
	}
	if (request_smaller_mtu(id, now, &packet->rej))
		return;
	switch (id->state) {
	case ADV_CM_REQ_SENT:
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_SENT:
	case ADV_CM_REP_RCVD:
		handle_rejection(id, now, &packet->rej);
		break;
	case ADV_CM_ESTABLISHED:
	case ADV_CM_DREQ_SENT:
		handle_lost_connection(id, now);
		break;
	default:
		cm->counters.rx_duplicates++;
		break;
	}
}

/* ---- MRA received ---- */

void adv_cm_rx_mra(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	const struct adv_cm_mra *mra = &packet->mra;
	uint8_t n = mra->service_timeout < ADV_CM_SERVICE_TIMEOUT_LONGEST
			    ? mra->service_timeout
			    : ADV_CM_SERVICE_TIMEOUT_LONGEST;
	enum adv_cm_state awaited = ADV_CM_REQ_SENT;
	struct adv_cm_id *id;

	if (mra->about == ADV_CM_ABOUT_REQ) {
		id = adv_cm_id_find(cm, meta, mra->remote_comm_id);
	} else {
		id = adv_cm_id_find_both(cm, meta, mra->remote_comm_id, mra->local_comm_id);
		awaited = ADV_CM_REP_SENT;
	}
	if (!id || id->state != awaited || id->tid != packet->tid) {
		cm->counters.rx_unmatched++;
		return;
	}
	/* As in Linux, each later transmission waits for this time too. */
	id->service_ns = adv_cm_iba_ns(n) + adv_cm_iba_ns(id->timeout < 24 ? id->timeout : 24);
	adv_cm_retransmit_timer_set(id, now + id->service_ns);
}
