/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/incoming.h"

#include "nic/cm/backlog.h"
#include "nic/cm/event.h"
#include "nic/cm/id.h"
#include "nic/cm/proof.h"

static void set_addresses(struct adv_cm_id *id, const struct adv_cm_ip_header *header,
			  uint16_t port)
{
	sa_family_t family = header->ip_version == 4 ? AF_INET : AF_INET6;

	id->local = (struct adv_cm_addr){.family = family, .port = port, .ip = header->destination};
	id->remote = (struct adv_cm_addr){
		.family = family, .port = header->source_port, .ip = header->source};
}

static struct adv_cm_id *new_id(struct adv_cm_id *listener, uint64_t now,
				const struct adv_rx_meta *meta,
				const struct adv_cm_ip_header *header, uint16_t port)
{
	struct adv_cm *cm = listener->cm;
	struct adv_cm_host *host;
	struct adv_cm_id *id;

	if (!adv_cm_backlog_reserve(listener, &meta->sgid, &host))
		return NULL;
	id = adv_cm_id_new(cm);
	if (!id) {
		adv_cm_backlog_cancel(cm, host);
		return NULL;
	}
	adv_cm_backlog_enter(id, listener, host);
	id->ps = listener->ps;
	id->qp_type = listener->qp_type;
	set_addresses(id, header, port);
	id->route.path.sgid = meta->dgid;
	id->route.path.dgid = meta->sgid;
	id->route.path.v1 = adv_rx_is_v1(meta);
	id->has_route = true;
	id->proven = adv_cm_proven(cm, now, &meta->sgid);
	adv_cm_id_add_credit(id);
	return id;
}

struct adv_cm_id *adv_cm_request_new(struct adv_cm_id *listener, uint64_t now,
				     const struct adv_rx_meta *meta,
				     const struct adv_cm_ip_header *header, uint16_t port,
				     struct adv_cm_event_node **event)
{
	struct adv_cm_id *id = new_id(listener, now, meta, header, port);

	if (!id) {
		listener->cm->counters.backlog_drops++;
		return NULL;
	}
	if (!adv_cm_event_prepare(id, RDMA_CM_EVENT_CONNECT_REQUEST, event)) {
		adv_cm_id_free(id);
		return NULL;
	}
	return id;
}
