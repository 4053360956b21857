/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Destroys ids, and sends the messages that an id's state then requires. */
#include "nic/cm/event.h"
#include "nic/cm/id.h"
#include "nic/cm/port.h"
#include "nic/cm/reject.h"
#include "nic/cm/release.h"
#include "nic/cm/sidr.h"

/* Ends the ownership of the id; the CM then finishes the protocol. */
static void disown_id(struct adv_cm_id *id)
{
	adv_cm_id_drop_events(id);
	adv_cm_port_release(id);
	adv_cm_request_taken(id);
	id->user = NULL;
	adv_cm_id_set_ending(id);
}

/* True if the consumer has not received the event of this request. */
static bool is_undelivered(const struct adv_cm_id *id)
{
	const struct adv_cm_event_node *first;

	if (adv_list_empty(&id->events))
		return false;
	first = adv_container_of(id->events.next, struct adv_cm_event_node, of_id);
	return first->event.type == RDMA_CM_EVENT_CONNECT_REQUEST;
}

static void destroy_requests(struct adv_cm_id *listener, uint64_t now)
{
	adv_list_for_each_safe(struct adv_cm_id, id, &listener->requests, request_link) {
		if (is_undelivered(id))
			adv_cm_id_destroy(id, now);
	}
}

void adv_cm_id_destroy(struct adv_cm_id *id, uint64_t now)
{
	switch (id->state) {
	case ADV_CM_LISTENING:
		destroy_requests(id, now);
		break;
	case ADV_CM_REQ_SENT:
		adv_cm_send_rej(id, ADV_CM_REJ_TIMEOUT, NULL, 0);
		break;
	case ADV_CM_REQ_RCVD:
	case ADV_CM_REP_RCVD:
		adv_cm_send_rej(id, ADV_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		break;
	case ADV_CM_REP_SENT:
		adv_cm_send_rej(id, ADV_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		disown_id(id);
		adv_cm_id_timewait(id, now);
		return;
	case ADV_CM_ESTABLISHED:
		disown_id(id);
		adv_cm_send_dreq(id, now);
		return;
	case ADV_CM_DREQ_SENT:
	case ADV_CM_TIMEWAIT:
		disown_id(id);
		return;
	case ADV_CM_SIDR_REQ_RCVD:
		adv_cm_send_sidr_rep(id, ADV_CM_SIDR_REJECT, NULL);
		break;
	default:
		break;
	}
	adv_cm_id_free(id);
}
