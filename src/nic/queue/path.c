/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/engine/state.h"
#include "nic/engine/names.h"
#include "nic/wire/frame.h"

#define DEFAULT_HOP_LIMIT 64

int adv_qp_path_from_attr(struct adv_engine *e, const struct ibv_ah_attr *attr, uint32_t lqpn,
			  uint32_t rqpn, struct adv_path *path)
{
	const struct ibv_global_route *grh = &attr->grh;
	static const struct adv_gid none;
	char from[ADV_GID_TEXT_LENGTH], to[ADV_GID_TEXT_LENGTH];

	/* RoCE has no LIDs: the GRH is required, because only it has an address (annex A16.4.1). */
	if (!attr->is_global)
		return adv_reason(
			EINVAL,
			"ah_attr.is_global is 0: RoCE needs the GRH, with sgid_index and dgid");
	if (attr->port_num != 1)
		return adv_reason(EINVAL, "ah_attr.port_num %u: the device has only port 1",
				  attr->port_num);
	if (grh->sgid_index >= e->gid_count)
		return adv_reason(
			EINVAL,
			"sgid_index %u: the GID table has %u entries (adverb devinfo lists them)",
			grh->sgid_index, e->gid_count);
	memset(path, 0, sizeof(*path));
	memcpy(path->dgid.raw, grh->dgid.raw, 16);
	path->sgid = e->gids[grh->sgid_index].gid;
	if (adv_gid_equal(&path->dgid, &none))
		return adv_reason(EINVAL, "ah_attr.grh.dgid is 0: it must be the peer's GID");
	if (adv_gid_is_ipv4(&path->dgid) != adv_gid_is_ipv4(&path->sgid))
		return adv_reason(EINVAL,
				  "sgid_index %u is %s, dgid is %s: both must be IPv4 or both "
				  "IPv6; use another sgid_index",
				  grh->sgid_index, adv_gid_text(&path->sgid, from),
				  adv_gid_text(&path->dgid, to));
	path->sgid_index = grh->sgid_index;
	path->flow_label = grh->flow_label & 0xfffff;
	path->tclass = grh->traffic_class & 0xfc;
	path->hop_limit = grh->hop_limit ? grh->hop_limit : DEFAULT_HOP_LIMIT;
	path->sl = attr->sl;
	path->sport = adv_frame_sport(path->flow_label, lqpn, rqpn);
	path->v1 = e->gids[grh->sgid_index].v1;
	return 0;
}
