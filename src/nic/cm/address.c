/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/address.h"

#include <string.h>

bool adv_cm_addr_any(const struct adv_cm_addr *addr)
{
	static const uint8_t zero[16];

	if (addr->family == AF_INET)
		return memcmp(addr->ip.raw + 12, zero, 4) == 0;
	return memcmp(addr->ip.raw, zero, 16) == 0;
}

void adv_cm_make_ip_header(const struct adv_cm_id *id, uint8_t out[ADV_CM_IP_HEADER_LEN])
{
	const struct adv_cm_ip_header header = {
		.ip_version = id->remote.family == AF_INET ? 4 : 6,
		.source_port = id->local.port,
		.source = id->local.ip,
		.destination = id->remote.ip,
	};

	adv_cm_ip_header_encode(&header, out);
}
