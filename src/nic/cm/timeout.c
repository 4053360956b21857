/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/timeout.h"

#include <errno.h>
#include <string.h>

#include "nic/cm/event.h"
#include "nic/cm/find.h"
#include "nic/cm/id.h"
#include "nic/cm/outgoing.h"
#include "nic/cm/reject.h"
#include "base/bytes.h"

/* If there is no memory for an event, the timer expires again after this time, in ns. */
#define AGAIN_NS UINT64_C(100000000)
/* Transmissions before the CM gives up at a closed port: the peer may open the port in the
 * meantime. */
#define REFUSED_TRIES 3u
/* Offset of the local communication id in all messages that are retransmitted. */
#define COMM_ID_AT ADV_MAD_HEADER_LEN

static void give_up(struct adv_cm_id *id, uint64_t now)
{
	bool release = id->state == ADV_CM_DREQ_SENT;
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(
		    id, release ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_UNREACHABLE, &event)) {
		adv_cm_retransmit_timer_set(id, now + AGAIN_NS);
		return;
	}
	if (event)
		event->event.status = id->refused && !release ? -ECONNREFUSED : -ETIMEDOUT;
	adv_cm_event_post(event);
	if (release) {
		adv_cm_id_timewait(id, now);
		return;
	}
	if (id->state != ADV_CM_SIDR_REQ_SENT)
		adv_cm_send_rej(id, ADV_CM_REJ_TIMEOUT, NULL, 0);
	adv_cm_id_close(id);
}

static void timewait_over(struct adv_cm_id *id, uint64_t now)
{
	struct adv_cm_event_node *event;

	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, &event)) {
		adv_cm_timewait_timer_set(id, now + AGAIN_NS);
		return;
	}
	adv_cm_event_post(event);
	adv_cm_id_close(id);
}

/* True if further retransmission is useless. */
static bool is_tried_enough(const struct adv_cm_id *id)
{
	return id->tries >= id->cm->config.max_tries || (id->refused && id->tries >= REFUSED_TRIES);
}

void adv_cm_id_timeout(struct adv_cm_id *id, uint64_t now)
{
	if (id->state == ADV_CM_TIMEWAIT)
		timewait_over(id, now);
	else if (id->state == ADV_CM_ESTABLISHED && id->tries >= ADV_CM_RTU_TRIES)
		adv_cm_timers_stop(id);
	else if (is_tried_enough(id))
		give_up(id, now);
	else
		adv_cm_retransmit(id, now);
}

static bool waits_for_answer(const struct adv_cm_id *id)
{
	switch (id->state) {
	case ADV_CM_REQ_SENT:
	case ADV_CM_REP_SENT:
	case ADV_CM_DREQ_SENT:
	case ADV_CM_SIDR_REQ_SENT:
		return true;
	default:
		return false;
	}
}

void adv_cm_port_unreachable(struct adv_cm *cm, uint64_t now, const struct adv_gid *sgid,
			     const struct adv_gid *dgid, const void *mad, size_t len)
{
	const struct adv_rx_meta meta = {.sgid = *dgid, .dgid = *sgid};
	struct adv_cm_id *id;

	/* The quote must reach to the communication id, so that it includes the 64 secret bits of
	 * the transaction id before it. */
	if (len < COMM_ID_AT + 4)
		return;
	id = adv_cm_id_find(cm, &meta, adv_get_be32((const uint8_t *)mad + COMM_ID_AT));
	if (!id || !waits_for_answer(id) ||
	    memcmp(mad, id->mad, len < ADV_MAD_LEN ? len : ADV_MAD_LEN) != 0)
		return;
	id->refused = true;
	if (is_tried_enough(id))
		give_up(id, now);
}
