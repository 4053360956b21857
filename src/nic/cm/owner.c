/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the id to which a MAD belongs: the sending or the receiving id. */
#include "nic/cm/find.h"
#include "nic/cm/port.h"

/* Finds the id of a request: the id made by an earlier copy of the request, or the listener. */
static struct adv_cm_id *find_requested(struct adv_cm *cm, const struct adv_rx_meta *meta,
					const struct adv_cm_packet *p)
{
	bool sidr = p->attribute == ADV_CM_SIDR_REQ;
	const uint8_t *data = sidr ? p->sidr_req.private_data : p->req.private_data;
	uint64_t service = sidr ? p->sidr_req.service_id : p->req.service_id;
	uint64_t guid = sidr ? 0 : p->req.local_ca_guid;
	struct adv_cm_ip_header header;
	struct adv_cm_id *id;

	id = adv_cm_id_find_remote(cm, meta, guid, adv_cm_numbers_of(p).sender, sidr);
	if (!id && adv_cm_ip_header_decode(data, ADV_CM_IP_HEADER_LEN, &header))
		id = adv_cm_listener_find(cm, service, &header);
	return id;
}

static struct adv_cm_id *find_owner(struct adv_cm *cm, const struct adv_rx_meta *meta,
				    const struct adv_cm_packet *p, bool sent)
{
	struct adv_cm_numbers n = adv_cm_numbers_of(p);

	if (sent && p->attribute == ADV_CM_SIDR_REP)
		return adv_cm_id_find_remote(cm, meta, 0, p->sidr_rep.request_id, true);
	if (!sent && (p->attribute == ADV_CM_REQ || p->attribute == ADV_CM_SIDR_REQ))
		return find_requested(cm, meta, p);
	return adv_cm_id_find(cm, meta, sent ? n.sender : n.receiver);
}

void *adv_cm_mad_user(struct adv_cm *cm, const struct adv_rx_meta *meta, const void *mad,
		      size_t len, bool sent)
{
	struct adv_cm_packet packet;
	const struct adv_cm_id *id;

	if (!adv_cm_packet_decode(mad, len, &packet))
		return NULL;
	id = find_owner(cm, meta, &packet, sent);
	/* A request that its consumer has not received yet belongs to its listener. */
	if (id && !id->user && id->listener)
		id = id->listener;
	return id && id->owned ? id->user : NULL;
}
