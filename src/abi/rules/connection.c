/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/connection.h"

#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "abi/check/fault.h"
#include "nic/wire/cm_message_ip.h"

#define RNR_FOREVER  7
#define MOST_REJECTS 3			/* in a row, before the program should read the reason */
#define SOON	     (100 * 1000000ull) /* ns */

static struct adv_check_id *id_of(const struct rdma_cm_id *id)
{
	return (struct adv_check_id *)adv_check_object_find(ADV_CHECK_ID, id);
}

static const char *event_name(enum rdma_cm_event_type type)
{
	static const char *const names[] = {
		"ADDR_RESOLVED",   "ADDR_ERROR",       "ROUTE_RESOLVED", "ROUTE_ERROR",
		"CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",	 "UNREACHABLE",
		"REJECTED",	   "ESTABLISHED",      "DISCONNECTED",	 "DEVICE_REMOVAL",
		"MULTICAST_JOIN",  "MULTICAST_ERROR",  "ADDR_CHANGE",	 "TIMEWAIT_EXIT",
	};

	return (unsigned)type < ADV_ARRAY_SIZE(names) ? names[type] : "another event";
}

/* ---- rejections ---- */

/* The address that has rejected last. Under the lock. */
static struct {
	struct sockaddr_storage address;
	unsigned count; /* rejections in a row */
	int status;	/* the reason of the last one */
	uint64_t at;	/* ns */
} rejected;

/* True if the peer of the id is the address that has rejected last. */
static bool is_rejected(const struct rdma_cm_id *id)
{
	return memcmp(&rejected.address, &id->route.addr.dst_storage, sizeof(rejected.address)) ==
	       0;
}

static void count_rejection(const struct rdma_cm_event *event)
{
	rejected.count = is_rejected(event->id) ? rejected.count + 1 : 1;
	rejected.address = event->id->route.addr.dst_storage;
	rejected.status = event->status;
	rejected.at = adv_clock_ns();
}

static void check_rejections(struct adv_check_call *call, const struct adv_check_id *id)
{
	if (rejected.count >= MOST_REJECTS && is_rejected(id->base.object) &&
	    adv_clock_ns() - rejected.at < SOON)
		adv_check_fault(call, ADV_RULE_REJECT_IGNORED, &id->base,
				"the address has rejected %u requests, the last one just now with "
				"status %d",
				rejected.count, rejected.status);
}

/* ---- events ---- */

void adv_check_cm_event(const struct rdma_cm_event *event)
{
	const bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct adv_check_id *counted = id_of(is_request ? event->listen_id : event->id);
	struct adv_check_id *id = id_of(event->id);

	if (counted) {
		counted->unacknowledged++;
		counted->receiver = gettid();
	}
	if (id) {
		adv_check_object_note(&id->base, "%s", event_name(event->event));
		id->private_data = event->param.conn.private_data;
		id->private_data_len = event->param.conn.private_data_len;
	}
	if (event->event == RDMA_CM_EVENT_REJECTED)
		count_rejection(event);
	else if (event->event == RDMA_CM_EVENT_ESTABLISHED && is_rejected(event->id))
		rejected.count = 0;
}

void adv_check_cm_acked(const struct rdma_cm_event *event)
{
	const bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct adv_check_id *counted = id_of(is_request ? event->listen_id : event->id);

	if (counted && counted->unacknowledged > 0)
		counted->unacknowledged--;
}

void adv_check_cm_destroying(struct adv_check_call *call, const struct adv_check_id *id)
{
	if (id->unacknowledged > 0 && id->receiver == gettid())
		adv_check_fault(call, ADV_RULE_CM_EVENT_NOT_ACKNOWLEDGED, &id->base,
				"%u events, the last of which this thread received, are not "
				"acknowledged: the call blocks",
				id->unacknowledged);
}

/* ---- connecting ---- */

/* Returns the room for private data in a message, or 0 if it is not known. */
static unsigned private_room(const struct rdma_cm_id *id, bool accepts)
{
	switch (id->ps) {
	case RDMA_PS_TCP:
		return accepts ? ADV_CM_REP_PRIVATE : ADV_CM_REQ_PRIVATE;
	case RDMA_PS_UDP:
		return accepts ? ADV_CM_SIDR_REP_PRIVATE : ADV_CM_SIDR_REQ_PRIVATE;
	default:
		return 0;
	}
}

static void check_private_data(struct adv_check_call *call, const struct adv_check_id *id,
			       const struct rdma_conn_param *param, bool accepts)
{
	unsigned room = private_room(id->base.object, accepts);

	if (!param->private_data)
		return;
	if (room && param->private_data_len > room)
		adv_check_fault(call, ADV_RULE_PRIVATE_DATA_TOO_LONG, &id->base,
				"private_data_len %u is above %u", param->private_data_len, room);
	else if (param->private_data == id->private_data &&
		 param->private_data_len == id->private_data_len)
		adv_check_fault(call, ADV_RULE_PRIVATE_DATA_LENGTH, &id->base,
				"private_data_len %u is that of the received event: the length of "
				"the field",
				param->private_data_len);
}

/* Remembers that no receive is posted. Only a message that finds none makes that a finding
 * (queue.c): a program that is only read and written needs no receives. */
static void note_receives(struct adv_check_call *call, const struct rdma_cm_id *id)
{
	struct adv_check_qp *qp = id->qp ? adv_check_qp_of(id->qp) : NULL;

	if (!qp || id->qp->srq || id->qp->qp_type != IBV_QPT_RC || qp->recvs.count > 0)
		return;
	qp->accepted_empty = true;
	qp->accepted = *adv_check_call_stack(call);
}

void adv_check_cm_connecting(struct adv_check_call *call, const struct rdma_cm_id *cm_id,
			     const struct rdma_conn_param *param, bool accepts)
{
	struct adv_check_id *id = id_of(cm_id);

	if (!id || id->base.created.by_library)
		return;
	if (accepts)
		note_receives(call, cm_id);
	else
		check_rejections(call, id);
	if (!param)
		return;
	check_private_data(call, id, param, accepts);
	if (cm_id->ps == RDMA_PS_TCP && param->rnr_retry_count < RNR_FOREVER)
		adv_check_fault(call, ADV_RULE_RNR_RETRY_FINITE, &id->base,
				"rnr_retry_count %u: the connection ends after so many RNR NAKs",
				param->rnr_retry_count);
	if (cm_id->ps == RDMA_PS_TCP && !accepts && param->retry_count == 0)
		adv_check_fault(call, ADV_RULE_RETRY_COUNT_ZERO, &id->base,
				"retry_count 0: the first lost packet ends the connection");
}
