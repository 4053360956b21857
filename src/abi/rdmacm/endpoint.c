/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Endpoints: ids made from a result of rdma_getaddrinfo(), for synchronous calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "base/reason.h"
#include "abi/rdmacm/ack.h"
#include "base/export.h"
#include "abi/rdmacm/id.h"

#define RESOLVE_MS 2000

static int set_up_passive(struct adv_rdma_id *id, const struct rdma_addrinfo *res,
			  struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->id, res->ai_src_addr))
		return errno;
	if (pd)
		id->id.pd = pd;
	if (!attr)
		return 0;
	id->passive_qp = malloc(sizeof(*attr));
	if (!id->passive_qp)
		return ENOMEM;
	*id->passive_qp = *attr;
	id->passive_qp->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return 0;
}

static int set_up_active(struct adv_rdma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			 struct ibv_qp_init_attr *attr)
{
	/* Private data from the address. Longer data fits into no message. */
	if (res->ai_connect_len > UINT8_MAX)
		return EINVAL;
	if (rdma_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS))
		return errno;
	if (res->ai_route_len) {
		if (rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
				    res->ai_route_len))
			return errno;
	} else if (rdma_resolve_route(&id->id, RESOLVE_MS)) {
		return errno;
	}
	if (attr) {
		attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (rdma_create_qp(&id->id, pd, attr))
			return errno;
	}
	if (res->ai_connect_len == 0)
		return 0;
	id->connect_data = malloc(res->ai_connect_len);
	if (!id->connect_data)
		return ENOMEM;
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_len = (uint8_t)res->ai_connect_len;
	return 0;
}

ADV_EXPORT int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *made;
	int err;

	if (!id || !res)
		return adv_rdma_result(adv_reason(EINVAL, "id or res is NULL"), __func__, NULL);
	err = adv_rdma_id_create(NULL, &made, NULL, (enum rdma_port_space)res->ai_port_space,
				 (enum ibv_qp_type)res->ai_qp_type);
	if (err)
		return adv_rdma_result(err, __func__, NULL);
	if (res->ai_flags & RAI_PASSIVE)
		err = set_up_passive(adv_rdma_id_of(made), res, pd, attr);
	else
		err = set_up_active(adv_rdma_id_of(made), res, pd, attr);
	if (err) {
		rdma_destroy_ep(made);
		return adv_rdma_result(err, __func__, NULL);
	}
	*id = made;
	return 0;
}

ADV_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (!id)
		return;
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* Checks the event that ended the wait for a request. The event is moved to the new id, or stays
 * with the listener. */
static int take_request(struct adv_rdma_id *listen, struct rdma_cm_event *event)
{
	struct ibv_qp_init_attr attr;

	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return ENODEV;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->status)
		return event->status < 0 ? -event->status : event->status;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return EINVAL;
	if (!listen->passive_qp)
		return 0;
	attr = *listen->passive_qp;
	return rdma_create_qp(event->id, listen->id.pd, &attr) ? errno : 0;
}

ADV_EXPORT int rdma_get_request(struct rdma_cm_id *cm_id, struct rdma_cm_id **id)
{
	struct adv_rdma_id *listen = adv_rdma_id_of(cm_id);
	struct rdma_cm_event *event;
	int err;

	if (!cm_id || !id || !listen->sync)
		return adv_rdma_result(
			adv_reason(
				EINVAL,
				"the listening id has an event channel: call rdma_get_cm_event()"),
			__func__, cm_id);
	adv_rdma_drop_event(listen);
	if (rdma_get_cm_event(cm_id->channel, &event))
		return -1;
	err = take_request(listen, event);
	adv_rdma_lock(listen->connection);
	if (err)
		cm_id->event = event;
	else
		event->id->event = event;
	adv_rdma_unlock(listen->connection);
	if (!err)
		*id = event->id;
	return adv_rdma_result(err, __func__, cm_id);
}
