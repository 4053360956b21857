/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/find.h"

#include "nic/cm/hash.h"

#define SIDR_BIT (UINT64_C(1) << 32)

struct adv_cm_numbers adv_cm_numbers_of(const struct adv_cm_packet *p)
{
	switch (p->attribute) {
	case ADV_CM_REQ:
		return (struct adv_cm_numbers){p->req.local_comm_id, 0};
	case ADV_CM_MRA:
		return (struct adv_cm_numbers){p->mra.local_comm_id, p->mra.remote_comm_id};
	case ADV_CM_REJ:
		return (struct adv_cm_numbers){p->rej.local_comm_id, p->rej.remote_comm_id};
	case ADV_CM_REP:
		return (struct adv_cm_numbers){p->rep.local_comm_id, p->rep.remote_comm_id};
	case ADV_CM_RTU:
		return (struct adv_cm_numbers){p->rtu.local_comm_id, p->rtu.remote_comm_id};
	case ADV_CM_DREQ:
		return (struct adv_cm_numbers){p->dreq.local_comm_id, p->dreq.remote_comm_id};
	case ADV_CM_DREP:
		return (struct adv_cm_numbers){p->drep.local_comm_id, p->drep.remote_comm_id};
	case ADV_CM_SIDR_REQ:
		return (struct adv_cm_numbers){p->sidr_req.request_id, 0};
	case ADV_CM_SIDR_REP:
		return (struct adv_cm_numbers){0, p->sidr_rep.request_id};
	default:
		return (struct adv_cm_numbers){0, 0};
	}
}

void adv_cm_id_begin(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;
	uint64_t hash;

	do {
		id->local_comm_id = (uint32_t)adv_rng_secret(&cm->rng, cm->secret_key);
		hash = adv_cm_hash(cm->hash_key, id->local_comm_id, 0);
	} while (!id->local_comm_id || adv_table_next(&cm->by_comm_id, hash, NULL));
	adv_table_add(&cm->by_comm_id, &id->by_comm_id, hash);
	id->local_psn = (uint32_t)adv_rng_secret(&cm->rng, cm->secret_key) & 0xffffff;
	id->tid = adv_rng_secret(&cm->rng, cm->secret_key);
}

static uint64_t remote_hash(const struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
			    uint32_t remote_comm_id, bool sidr)
{
	return adv_cm_hash_gid(cm->hash_key, gid, guid, remote_comm_id | (sidr ? SIDR_BIT : 0));
}

void adv_cm_id_enter_remote(struct adv_cm_id *id, uint32_t remote_comm_id)
{
	struct adv_cm *cm = id->cm;

	id->remote_comm_id = remote_comm_id;
	adv_table_add(&cm->by_remote, &id->by_remote,
		      remote_hash(cm, &id->route.path.dgid, id->remote_guid, remote_comm_id,
				  id->qp_type == IBV_QPT_UD));
}

void adv_cm_id_enter_qpn(struct adv_cm_id *id)
{
	struct adv_cm *cm = id->cm;

	adv_table_add(&cm->by_qpn, &id->by_qpn,
		      adv_cm_hash_gid(cm->hash_key, &id->route.path.dgid, id->remote_guid,
				      id->remote_qpn));
}

void adv_cm_id_leave_qpn(struct adv_cm_id *id)
{
	adv_table_remove(&id->cm->by_qpn, &id->by_qpn);
}

void adv_cm_id_leave_tables(struct adv_cm_id *id)
{
	adv_table_remove(&id->cm->by_comm_id, &id->by_comm_id);
	adv_table_remove(&id->cm->by_remote, &id->by_remote);
	adv_cm_id_leave_qpn(id);
}

static bool addresses_fit(const struct adv_cm_id *id, const struct adv_rx_meta *meta)
{
	return adv_gid_equal(&id->route.path.dgid, &meta->sgid) &&
	       adv_gid_equal(&id->route.path.sgid, &meta->dgid) &&
	       id->route.path.v1 == adv_rx_is_v1(meta);
}

struct adv_cm_id *adv_cm_id_find(struct adv_cm *cm, const struct adv_rx_meta *meta,
				 uint32_t local_comm_id)
{
	uint64_t hash = adv_cm_hash(cm->hash_key, local_comm_id, 0);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_comm_id, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_comm_id);

		if (id->local_comm_id == local_comm_id)
			return addresses_fit(id, meta) ? id : NULL;
	}
	return NULL;
}

struct adv_cm_id *adv_cm_id_find_both(struct adv_cm *cm, const struct adv_rx_meta *meta,
				      uint32_t local_comm_id, uint32_t remote_comm_id)
{
	struct adv_cm_id *id = adv_cm_id_find(cm, meta, local_comm_id);

	return id && adv_table_node_is_in(&id->by_remote) && id->remote_comm_id == remote_comm_id
		       ? id
		       : NULL;
}

struct adv_cm_id *adv_cm_id_find_remote(struct adv_cm *cm, const struct adv_rx_meta *meta,
					uint64_t guid, uint32_t remote_comm_id, bool sidr)
{
	uint64_t hash = remote_hash(cm, &meta->sgid, guid, remote_comm_id, sidr);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_remote, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_remote);

		if (id->remote_comm_id == remote_comm_id && id->remote_guid == guid &&
		    (id->qp_type == IBV_QPT_UD) == sidr && addresses_fit(id, meta))
			return id;
	}
	return NULL;
}

struct adv_cm_id *adv_cm_id_find_qpn(struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
				     uint32_t qpn)
{
	uint64_t hash = adv_cm_hash_gid(cm->hash_key, gid, guid, qpn);
	struct adv_table_node *n = NULL;

	while ((n = adv_table_next(&cm->by_qpn, hash, n))) {
		struct adv_cm_id *id = adv_container_of(n, struct adv_cm_id, by_qpn);

		if (id->remote_qpn == qpn && id->remote_guid == guid &&
		    adv_gid_equal(&id->route.path.dgid, gid))
			return id;
	}
	return NULL;
}
