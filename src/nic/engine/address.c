/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "nic/engine/address.h"
#include "nic/queue/qp_state.h"

int adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids, unsigned count)
{
	struct adv_engine_gid *copy;

	if (count > ADV_MAX_GIDS)
		return EINVAL;
	copy = calloc(count ? count : 1, sizeof(*copy));
	if (!copy)
		return ENOMEM;
	memcpy(copy, gids, count * sizeof(*copy));
	free(e->gids);
	e->gids = copy;
	e->gid_count = count;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node) {
		qp->peer_is_here = adv_address_is_here(e, &qp->path.dgid);
	}
	return 0;
}

int adv_engine_set_pkeys(struct adv_engine *e, const struct adv_pkey_table *pkeys)
{
	if (!pkeys->count || pkeys->count > ADV_PKEYS_MAX)
		return EINVAL;
	e->pkeys = *pkeys;
	return 0;
}

void adv_engine_set_senders(struct adv_engine *e, const _Atomic uint16_t *port,
			    const _Atomic uint16_t *home)
{
	e->sender_port = port;
	e->sender_home = home;
}

bool adv_address_in_table(const struct adv_engine *e, const struct adv_gid *gid)
{
	for (unsigned i = 0; i < e->gid_count; i++)
		if (adv_gid_equal(&e->gids[i].gid, gid))
			return true;
	return false;
}

bool adv_address_is_dest(const struct adv_engine *e, const struct adv_rx_meta *meta)
{
	const bool v1 = adv_rx_is_v1(meta);
	bool found = false;

	for (unsigned i = 0; i < e->gid_count; i++) {
		if (!adv_gid_equal(&e->gids[i].gid, &meta->dgid))
			continue;
		if (e->gids[i].v1 == v1)
			return true;
		found = true;
	}
	return found && !v1 && adv_address_is_here(e, &meta->sgid);
}

bool adv_address_is_here(const struct adv_engine *e, const struct adv_gid *gid)
{
	return (adv_gid_is_ipv4(gid) && gid->raw[12] == 127) || adv_address_in_table(e, gid);
}

bool adv_address_sender_good(const struct adv_engine *e, uint32_t src_qpn,
			     const struct adv_rx_meta *meta)
{
	return !e->sender_port || !adv_address_is_here(e, &meta->sgid) ||
	       adv_address_is_of_qpn(e, src_qpn, meta);
}
