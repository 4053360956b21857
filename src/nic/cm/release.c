/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/release.h"

#include <errno.h>

#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/outgoing.h"

void adv_cm_send_dreq(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_packet packet = {
		.attribute = ADV_CM_DREQ,
		.tid = adv_rng_secret(&id->cm->rng, id->cm->secret_key),
	};

	packet.dreq.local_comm_id = id->local_comm_id;
	packet.dreq.remote_comm_id = id->remote_comm_id;
	packet.dreq.remote_qpn = id->remote_qpn;
	id->disconnected = true;
	adv_cm_id_set_state(id, ADV_CM_DREQ_SENT);
	adv_cm_send_repeated(id, now, &packet);
}

int adv_cm_disconnect(struct adv_cm_id *id, uint64_t now)
{
	if (id->disconnected || id->state == ADV_CM_SIDR_DONE)
		return 0;
	if (id->state != ADV_CM_ESTABLISHED && id->state != ADV_CM_REP_SENT)
		return EINVAL;
	adv_cm_send_dreq(id, now);
	return 0;
}

static void send_drep(struct adv_cm *cm, const struct adv_rx_meta *meta,
		      const struct adv_cm_packet *dreq, struct adv_cm_id *id)
{
	struct adv_cm_packet packet = {.attribute = ADV_CM_DREP, .tid = dreq->tid};

	packet.drep.local_comm_id = dreq->dreq.remote_comm_id;
	packet.drep.remote_comm_id = dreq->dreq.local_comm_id;
	if (id)
		adv_cm_send(id, &packet);
	else
		adv_cm_send_stateless(cm, meta, &packet);
}

/* Ends the connection after a DREQ or a DREP. False: there is no memory for the event, and the
 * state does not change. */
static bool end_connection(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_DISCONNECTED, &event))
		return false;
	id->disconnected = true;
	adv_cm_event_post(event);
	adv_cm_id_timewait(id, now);
	return true;
}

void adv_cm_rx_dreq(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		    const struct adv_cm_packet *packet)
{
	struct adv_cm_id *id = adv_cm_id_find_both(cm, meta, packet->dreq.remote_comm_id,
						   packet->dreq.local_comm_id);

	if (!id) {
		/* This end does not know the connection, so the connection is already released. */
		cm->counters.rx_unmatched++;
		send_drep(cm, meta, packet, NULL);
		return;
	}
	if (id->local_qpn != packet->dreq.remote_qpn) {
		cm->counters.rx_unmatched++;
		return;
	}
	switch (id->state) {
	case ADV_CM_REP_SENT:
	case ADV_CM_REP_RCVD:
	case ADV_CM_ESTABLISHED:
	case ADV_CM_DREQ_SENT:
		if (end_connection(id, now))
			send_drep(cm, meta, packet, id);
		break;
	case ADV_CM_TIMEWAIT:
		cm->counters.rx_duplicates++;
		send_drep(cm, meta, packet, id);
		break;
	default:
		cm->counters.rx_unmatched++;
		break;
	}
}

void adv_cm_rx_drep(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		    const struct adv_cm_packet *packet)
{
	struct adv_cm_id *id = adv_cm_id_find_both(cm, meta, packet->drep.remote_comm_id,
						   packet->drep.local_comm_id);

	if (id && id->state == ADV_CM_DREQ_SENT)
		end_connection(id, now);
	else if (id && id->state == ADV_CM_TIMEWAIT)
		cm->counters.rx_duplicates++;
	else
		cm->counters.rx_unmatched++;
}

void adv_cm_rx_lap(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		   const struct adv_cm_packet *packet)
{
	struct adv_cm_id *id = adv_cm_id_find_both(cm, meta, packet->lap.remote_comm_id,
						   packet->lap.local_comm_id);
	struct adv_cm_packet answer = {.attribute = ADV_CM_APR, .tid = packet->tid};

	if (!id || id->state != ADV_CM_ESTABLISHED || id->local_qpn != packet->lap.remote_qpn) {
		cm->counters.rx_unmatched++;
		return;
	}
	answer.apr.local_comm_id = id->local_comm_id;
	answer.apr.remote_comm_id = id->remote_comm_id;
	answer.apr.status = ADV_CM_APR_UNSUPPORTED;
	adv_cm_send(id, &answer);
}
