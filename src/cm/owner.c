/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose a MAD is: of the id that sends it, or that it is for. */
#include "cm/internal.h"

/* The numbers of a message: that of the sender's id, and of the receiver's; 0: none. */
struct numbers {
	uint32_t sender;
	uint32_t receiver;
};

static struct numbers numbers_of(const struct adv_cm_packet *p)
{
	switch (p->attribute) {
	case ADV_CM_REQ:
		return (struct numbers){p->req.local_comm_id, 0};
	case ADV_CM_MRA:
		return (struct numbers){p->mra.local_comm_id, p->mra.remote_comm_id};
	case ADV_CM_REJ:
		return (struct numbers){p->rej.local_comm_id, p->rej.remote_comm_id};
	case ADV_CM_REP:
		return (struct numbers){p->rep.local_comm_id, p->rep.remote_comm_id};
	case ADV_CM_RTU:
		return (struct numbers){p->rtu.local_comm_id, p->rtu.remote_comm_id};
	case ADV_CM_DREQ:
		return (struct numbers){p->dreq.local_comm_id, p->dreq.remote_comm_id};
	case ADV_CM_DREP:
		return (struct numbers){p->drep.local_comm_id, p->drep.remote_comm_id};
	case ADV_CM_SIDR_REQ:
		return (struct numbers){p->sidr_req.request_id, 0};
	case ADV_CM_SIDR_REP:
		return (struct numbers){0, p->sidr_rep.request_id};
	default:
		return (struct numbers){0, 0};
	}
}

uint32_t adv_cm_receiver_of(const struct adv_cm_packet *packet)
{
	return numbers_of(packet).receiver;
}

/* A request: of the id that an earlier one like it has made, or of who listens. */
static struct adv_cm_id *find_asked(struct adv_cm *cm, const struct adv_rx_meta *meta,
				    const struct adv_cm_packet *p)
{
	bool sidr = p->attribute == ADV_CM_SIDR_REQ;
	const uint8_t *data = sidr ? p->sidr_req.private_data : p->req.private_data;
	uint64_t service = sidr ? p->sidr_req.service_id : p->req.service_id;
	uint64_t guid = sidr ? 0 : p->req.local_ca_guid;
	struct adv_cm_ip_header header;
	struct adv_cm_id *id;

	id = adv_cm_find_remote(cm, meta, guid, numbers_of(p).sender, sidr);
	if (!id && adv_cm_ip_header_decode(data, ADV_CM_IP_HEADER_LEN, &header))
		id = adv_cm_find_listener(cm, service, &header);
	return id;
}

static struct adv_cm_id *find(struct adv_cm *cm, const struct adv_rx_meta *meta,
			      const struct adv_cm_packet *p, bool sent)
{
	struct numbers n = numbers_of(p);

	if (sent && p->attribute == ADV_CM_SIDR_REP)
		return adv_cm_find_remote(cm, meta, 0, p->sidr_rep.request_id, true);
	if (!sent && (p->attribute == ADV_CM_REQ || p->attribute == ADV_CM_SIDR_REQ))
		return find_asked(cm, meta, p);
	return adv_cm_find(cm, meta, sent ? n.sender : n.receiver);
}

void *adv_cm_mad_user(struct adv_cm *cm, const struct adv_rx_meta *meta, const void *mad,
		      size_t len, bool sent)
{
	struct adv_cm_packet packet;
	const struct adv_cm_id *id;

	if (!adv_cm_packet_decode(mad, len, &packet))
		return NULL;
	id = find(cm, meta, &packet, sent);
	/* A request that its consumer does not have yet is its listener's. */
	if (id && !id->user && id->listener)
		id = id->listener;
	return id && id->owned ? id->user : NULL;
}
