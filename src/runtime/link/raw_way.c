/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which packets leave as frames of RoCE v1, and to which MAC addresses. */
#include <string.h>

#include "runtime/link/raw_internal.h"

void adv_raw_group_mac(const struct adv_gid *group, uint8_t mac[6])
{
	const uint8_t *g = group->raw;
	const uint8_t ipv4[6] = {0x01, 0x00, 0x5e, g[13] & 0x7f, g[14], g[15]};
	const uint8_t other[6] = {0x33, 0x33, g[12], g[13], g[14], g[15]};

	memcpy(mac, adv_gid_is_ipv4(group) ? ipv4 : other, 6);
}

bool adv_raw_is_own(const struct raw_link *l, const struct adv_gid *gid)
{
	if (adv_gid_is_ipv4(gid) && gid->raw[12] == 127)
		return true;
	for (unsigned i = 0; i < l->address_count; i++)
		if (adv_gid_equal(&l->address[i].gid, gid))
			return true;
	return false;
}

bool adv_raw_leaves(const struct raw_link *l, const struct adv_path *path)
{
	return path->v1 && !adv_raw_is_own(l, &path->dgid);
}
